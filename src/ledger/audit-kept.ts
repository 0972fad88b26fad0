import { clockToleranceMs, timeText } from "./clock.ts";
import type { Disagreement } from "./disagreements.ts";
import { acceptanceHash, encodeTable, readTable, refusalHash } from "./rows.ts";
import { sha256 } from "./seal.ts";
import { type AcceptedTableRow, type KeptRows, pagedBy, type RateTableRow, type Store } from "./store.ts";

const rowsAtOnce = 500;

/** What is wrong with the tables beside accounts and journal. Names and keys of people are not repeated. */
export async function* keptFindings(store: Store, now: () => number): AsyncGenerator<Disagreement> {
  yield* acceptanceFindings(store, now);
  for await (const row of rowsOf(store, "rate_table")) yield* rateTableFindings(row);
  for await (const row of rowsOf(store, "refusal")) {
    const place = `refusal ${row.position}`;
    yield* differing(`hash of ${place}`, row.hash, refusalHash(row));
    if (row.refused_at > now() + clockToleranceMs)
      yield [`time of ${place}`, timeText(row.refused_at), "not later than now"];
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
async function* acceptanceFindings(store: Store, now: () => number): AsyncGenerator<Disagreement> {
  const accepted: AcceptedTableRow[] = [];
  for await (const row of rowsOf(store, "accepted_table")) accepted.push(row);
  // Afterwards, so that one that comes into force meanwhile is among them.
  const tables = new Set((await store.acceptedTables()).map(({ id }) => id));
  let before: AcceptedTableRow | undefined;
  for (const row of accepted) {
    const place = `table in force ${row.epoch}`;
    yield* differing("number of a table in force", String(row.epoch), String((before?.epoch ?? 0) + 1));
    yield* differing(`hash of ${place}`, row.hash, acceptanceHash(row));
    const [at, latest] = [row.accepted_at, now() + clockToleranceMs];
    if (at > latest) yield [`time of ${place}`, timeText(at), "not later than now"];
    if (before !== undefined && at < before.accepted_at - clockToleranceMs) {
      yield [`time of ${place}`, timeText(at), `not before ${timeText(before.accepted_at)}`];
    }
    if (!tables.has(row.table_id)) yield [place, row.table_id, "a table that is kept"];
    before = row;
  }
}

/** A table's id stands for what the table says, and its rates are written as fx writes them. */
function* rateTableFindings(row: RateTableRow): Generator<Disagreement> {
  const place = `table ${row.number}`;
  try {
    const table = readTable(row);
    yield* differing(`content of ${place}`, row.id, table.id);
    yield* differing(`text of ${place}`, row.rates, encodeTable(table).rates);
  } catch (error) {
    yield [`content of ${place}`, (error as Error).message, "a whole table"];
  }
}

function* differing(problem: string, recorded: string, right: string): Generator<Disagreement> {
  if (recorded !== right) yield [problem, recorded, right];
}
