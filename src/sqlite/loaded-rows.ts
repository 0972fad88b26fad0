import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
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
import type { ReadCache } from "./read-cache.ts";

const selectAnswered =
  `select ${foundColumns}, ${holderColumns} ${foundFrom} ${joinHolder} ` +
  "where journal.pesel = ? and journal.idempotency_key = ?";
const selectRefusal = "select * from refusal where pesel = ? and idempotency_key = ?";

/** What a transaction reads. Each statement is prepared once. `guard` gives a failure of SQLite its reason. */
export function loadedRows(
  database: DatabaseSyncInstance,
  cache: ReadCache,
  guard: <T>(work: () => T) => T,
): Loaded {
  const account = database.prepare(oneAccount);
  const entry = database.prepare(entriesBetween);
  const entryWithKey = database.prepare(selectAnswered);
  const refusal = database.prepare(selectRefusal);
  const inForce = database.prepare(selectInForce);
  const rowOf = <Row extends object>(statement: StatementSyncInstance, ...parameters: (string | number)[]) =>
    guard(() => statement.get(...parameters) as Row | undefined);
  return {
    account: (pesel) => {
      const known = cache.account(pesel);
      if (known !== undefined) return known;
      const row = rowOf(account, Number(pesel));
      const found = row && decodeAccount(row);
      if (found !== undefined) cache.keep(found);
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
      if (cache.inForce !== undefined) return cache.inForce;
      const row = rowOf<AcceptedTableRow>(inForce);
      cache.inForce = row && decodeInForce(row);
      return cache.inForce;
    },
    nextId: entryId,
  };
}
