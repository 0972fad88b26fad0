import { join } from "node:path";
import type { TestContext } from "node:test";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adult, opening, terms } from "./fixture.ts";
import { newFolder } from "./folder.ts";
import { openInstance } from "./server.ts";

/** A new file with a ledger of accounts that have bought 10 USD each, which nobody has open. */
export async function ledgerFile(t: TestContext, accounts = 3): Promise<string> {
  const path = join(newFolder(t), "ledger.db");
  const { service } = await openInstance(openSqlite(path));
  for (let index = 0; index < accounts; index += 1) {
    await service.createAccount(opening({ index }));
    await service.exchange({ ...terms("buy 10 USD for PLN"), pesel: adult(index) });
  }
  await service.close();
  return path;
}
