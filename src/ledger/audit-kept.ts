import { type Discrepancy, differing, notLater, timeText } from "./discrepancies.ts";
import { limits } from "./limits.ts";
import { acceptanceHash, encodeTable, readTable, refusalHash } from "./rows.ts";
import { sha256 } from "./seal.ts";
import { type AcceptedTableRow, type KeptRows, pagedBy, type RateTableRow, type Store } from "./store.ts";

const rowsAtOnce = 500;

/** What is wrong with the tables beside accounts and journal. Names and keys of people are not repeated. */
export async function* keptDiscrepancies(store: Store, now: () => number): AsyncGenerator<Discrepancy> {
  yield* acceptanceDiscrepancies(store, now);
  for await (const row of rowsOf(store, "rate_table")) yield* tableDiscrepancies(row);
  for await (const row of rowsOf(store, "refusal")) {
    const place = `refusal ${row.position}`;
    yield* differing(`hash of ${place}`, row.hash, refusalHash(row));
    yield* notLater(`time of ${place}`, row.refused_at, now());
  }
  for await (const { value, hash } of rowsOf(store, "identity_key")) {
    yield* differing("hash of the key of the customers' ids", hash, sha256(value));
  }
}

async function* rowsOf<Name extends keyof KeptRows>(
  store: Store,
  name: Name,
): AsyncGenerator<KeptRows[Name]> {
  const key: string = pagedBy[name];
  for (let after: string | number | undefined; ; ) {
    const rows = await store.rows(name, { after, limit: rowsAtOnce });
    yield* rows;
    if (rows.length < rowsAtOnce) return;
    after = (rows.at(-1) as Readonly<Record<string, unknown>> | undefined)?.[key] as string | number;
  }
}

/** The tables that have been in force came into force one after the other, and are all kept. */
async function* acceptanceDiscrepancies(store: Store, now: () => number): AsyncGenerator<Discrepancy> {
  const accepted: AcceptedTableRow[] = [];
  for await (const row of rowsOf(store, "accepted_table")) accepted.push(row);
  // Afterwards, so that one that comes into force meanwhile is among them.
  const tables = new Set((await store.acceptedTables()).map(({ id }) => id));
  let before: AcceptedTableRow | undefined;
  for (const row of accepted) {
    const place = `table in force ${row.epoch}`;
    yield* differing("number of a table in force", String(row.epoch), String((before?.epoch ?? 0) + 1));
    yield* differing(`hash of ${place}`, row.hash, acceptanceHash(row));
    yield* notLater(`time of ${place}`, row.accepted_at, now());
    if (before !== undefined && row.accepted_at < before.accepted_at - limits.clockToleranceMs) {
      yield [`time of ${place}`, timeText(row.accepted_at), `not before ${timeText(before.accepted_at)}`];
    }
    if (!tables.has(row.table_id)) yield [place, row.table_id, "a table that is kept"];
    before = row;
  }
}

/** A table's id stands for what the table says, and its rates are written as fx writes them. */
function* tableDiscrepancies(row: RateTableRow): Generator<Discrepancy> {
  const place = `table ${row.number}`;
  try {
    const table = readTable(row);
    yield* differing(`content of ${place}`, row.id, table.id);
    yield* differing(`text of ${place}`, row.rates, encodeTable(table).rates);
  } catch (error) {
    yield [`content of ${place}`, (error as Error).message, "a whole table"];
  }
}
