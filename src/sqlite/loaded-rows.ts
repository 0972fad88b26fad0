import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import type { TableInForce } from "../core/rates.ts";
import { entryId } from "../ledger/entry-id.ts";
import { decodeRefusal } from "../ledger/rows.ts";
import type { AcceptedTableRow, Loaded, RefusalRow } from "../ledger/store.ts";
import { answeredEntry, decodeAccount, decodeInForce, foundEntry } from "../sql/found.ts";
import {
  entriesBetween,
  foundColumns,
  foundFrom,
  holderColumns,
  joinHolder,
  oneAccount,
  selectInForce,
} from "../sql/statements.ts";
import type { KnownAccounts } from "./known-accounts.ts";

const selectAnswered =
  `select ${foundColumns}, ${holderColumns} ${foundFrom} ${joinHolder} ` +
  "where journal.pesel = ? and journal.idempotency_key = ?";
const selectRefusal = "select * from refusal where pesel = ? and idempotency_key = ?";

/** What a transaction reads. Each statement is prepared once. `guard` gives a failure of SQLite its reason. */
export function loadedRows(
  database: DatabaseSyncInstance,
  known: KnownAccounts,
  guard: <T>(work: () => T) => T,
): Loaded {
  const account = database.prepare(oneAccount);
  const entry = database.prepare(entriesBetween);
  const entryWithKey = database.prepare(selectAnswered);
  const refusal = database.prepare(selectRefusal);
  const inForce = database.prepare(selectInForce);
  const rowOf = <Row extends object>(statement: StatementSyncInstance, ...parameters: (string | number)[]) =>
    guard(() => statement.get(...parameters) as Row | undefined);
  let newest: { readonly hash: string; readonly inForce: TableInForce } | undefined;
  return {
    account: (pesel) => {
      const cached = known.get(pesel);
      if (cached !== undefined) return cached;
      const row = rowOf(account, Number(pesel));
      const found = row && decodeAccount(row);
      if (found !== undefined) known.set(found);
      return found;
    },
    entry: (id) => {
      const row = rowOf(entry, id, id, 1);
      return row && foundEntry(row);
    },
    answered: (pesel, key) => {
      const done = rowOf(entryWithKey, Number(pesel), key);
      if (done !== undefined) return answeredEntry(done);
      const refused = rowOf<RefusalRow>(refusal, Number(pesel), key);
      return refused && decodeRefusal(refused);
    },
    inForce: () => {
      const row = rowOf<AcceptedTableRow>(inForce);
      if (row === undefined) return undefined;
      // The hash stands for the row, and the id in it for the content of the table.
      if (newest?.hash !== row.hash) newest = { hash: row.hash, inForce: decodeInForce(row) };
      return newest.inForce;
    },
    nextId: entryId,
  };
}
