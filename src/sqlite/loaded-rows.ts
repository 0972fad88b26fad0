import { entryId } from "../ledger/entry-id.ts";
import { decodeRefusal } from "../ledger/rows.ts";
import type { Loaded, RefusalRow } from "../ledger/store.ts";
import { answeredEntry, decodeAccount, decodeInForce, foundEntry } from "../sql/found.ts";
import type { SqlRow } from "../sql/reader.ts";
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

/** What a transaction reads. `rowOf` gives a failure of SQLite its reason. */
export function loadedRows(
  cache: ReadCache,
  rowOf: (sql: string, ...parameters: (string | number)[]) => SqlRow | undefined,
): Loaded {
  return {
    account: (pesel) => {
      const known = cache.account(pesel);
      if (known !== undefined) return known;
      const row = rowOf(oneAccount, Number(pesel));
      const found = row && decodeAccount(row);
      if (found !== undefined) cache.keep(found);
      return found;
    },
    entry: (id) => {
      const row = rowOf(entriesBetween, id, id, 1);
      return row && foundEntry(row);
    },
    answered: (pesel, key) => {
      const done = rowOf(selectAnswered, Number(pesel), key);
      if (done !== undefined) return answeredEntry(done);
      const refused = rowOf(selectRefusal, Number(pesel), key);
      return refused && decodeRefusal(refused as unknown as RefusalRow);
    },
    inForce: () => {
      if (cache.inForce !== undefined) return cache.inForce;
      const row = rowOf(selectInForce);
      cache.inForce = row && decodeInForce(row);
      return cache.inForce;
    },
    nextId: entryId,
  };
}
