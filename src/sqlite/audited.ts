import { keptRow, peselText, rangeOf } from "../ledger/rows.ts";
import { type KeptRows, pagedBy, type Store } from "../ledger/store.ts";

/** What an audit reads beside accounts and journal. */

export type SelectRows = <Row>(sql: string, ...parameters: (string | number)[]) => Row[];

const selectStrayWords =
  "select distinct pesel from name_word where pesel > ? and pesel <= ? " +
  "and not exists (select 1 from account where account.pesel = name_word.pesel)";

export function keptRows<Name extends keyof KeptRows>(
  select: SelectRows,
  name: Name,
  { after, limit }: { after?: string | number | undefined; limit: number },
): KeptRows[Name][] {
  const key = pagedBy[name];
  const [where, place] = after === undefined ? ["", []] : [`where ${key} > ?`, [after]];
  const page = `select * from ${name} ${where} order by ${key} limit ?`;
  return select<KeptRows[Name]>(page, ...place, limit).map(keptRow);
}

export function strayWords(select: SelectRows, range: Parameters<Store["strayWords"]>[0]): string[] {
  return select<{ pesel: number }>(selectStrayWords, ...rangeOf(range)).map(({ pesel }) => peselText(pesel));
}
