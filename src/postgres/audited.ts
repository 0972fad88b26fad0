import { type KeptRows, pagedBy } from "../ledger/store.ts";

/** What an audit reads beside accounts and journal. */

export const pageRows = (name: keyof KeptRows, hasPlace: boolean): string =>
  `select * from ${name} ${hasPlace ? `where ${pagedBy[name]} > $2` : ""} order by ${pagedBy[name]} limit $1`;
export const selectStrayWords =
  "select distinct pesel from name_word where pesel > $1 and pesel <= $2 " +
  "and not exists (select 1 from account where account.pesel = name_word.pesel)";
