import { keptRow, peselText, rangeOf } from "../ledger/rows.ts";
import { type KeptRows, pagedBy, type ReversalLink, type Store } from "../ledger/store.ts";
import { idOf } from "./statements.ts";

/** What an audit reads beside accounts and journal. */

export type SelectRows = <Row>(sql: string, ...parameters: (string | number)[]) => Row[];

const pageReversals =
  `select reversed as at, coalesce(${idOf("undone")}, 'position ' || reversed) as reversed, ` +
  `coalesce(${idOf("later")}, 'position ' || reversed_by) as by from reversal ` +
  "left join journal as undone on undone.position = reversed " +
  "left join journal as later on later.position = reversed_by where reversed > ? order by reversed limit ?";
const selectStrayWords =
  "select distinct pesel from name_word where pesel > ? and pesel <= ? " +
  "and not exists (select 1 from account where account.pesel = name_word.pesel)";

export function reversalsPage(
  select: SelectRows,
  { after, limit }: Parameters<Store["reversals"]>[0],
): ReversalLink[] {
  const place = (after as (ReversalLink & { at: number }) | undefined)?.at ?? Number.MIN_SAFE_INTEGER;
  return select<ReversalLink>(pageReversals, place, limit);
}

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
