import type { StatementSyncInstance } from "@photostructure/sqlite";
import type { Account } from "../core/account.ts";
import { holderWords } from "../core/names.ts";
import type { AccountsPage } from "../ledger/store.ts";
import { pageAccounts, pageOfAccounts } from "./statements.ts";

const insertWord = "insert into name_word (pesel, word) values (?, ?)";
const deleteWords = "delete from name_word where pesel = ?";
/** Whether a word begins as the parameter does: no letter sorts after the one at the end of the range. */
const begins = (nth: number): string => `word >= ?${nth} and word < ?${nth} || char(0x10ffff)`;

/**
 * Takes a first word, the PESEL to go on after, the limit, and the other words. Those are looked for in the order of
 * PESELs, and no further than the page goes.
 */
function pageNamed(words: number): string {
  const others = Array.from(
    { length: words - 1 },
    (_, index) =>
      "and exists (select 1 from name_word as other " +
      `where other.pesel = name_word.pesel and ${begins(index + 4)}) `,
  );
  return (
    `${pageOfAccounts} where wanted.pesel in (select pesel from name_word where ${begins(1)} and pesel > ?2 ` +
    `group by pesel having true ${others.join("")}order by pesel limit ?3) order by wanted.pesel`
  );
}

/** The statement that reads a page of accounts, and its parameters. */
export function selectPage({ after, limit, name = [] }: AccountsPage): [string, ...(string | number)[]] {
  const place = [Number(after ?? -1), limit];
  // The longest word is most likely the one that the fewest accounts have.
  const [longest, ...others] = name.toSorted((a, b) => b.length - a.length);
  if (longest === undefined) return [pageAccounts, ...place];
  return [pageNamed(name.length), longest, ...place, ...others];
}

/** Writes what the account is found by from now on. */
export function writeWords(statement: (sql: string) => StatementSyncInstance, account: Account): void {
  const pesel = Number(account.pesel);
  statement(deleteWords).get(pesel);
  for (const word of holderWords(account)) statement(insertWord).get(pesel, word);
}
