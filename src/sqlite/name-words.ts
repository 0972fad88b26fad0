import type { StatementSyncInstance } from "@photostructure/sqlite";
import type { Account } from "../core/account.ts";
import { holderWords } from "../core/names.ts";

const insertWord = "insert into name_word (pesel, word) values (?, ?)";
const deleteWords = "delete from name_word where pesel = ?";
/** Writes what the account is found by from now on. */
export function writeWords(statement: (sql: string) => StatementSyncInstance, account: Account): void {
  const pesel = Number(account.pesel);
  statement(deleteWords).get(pesel);
  for (const word of holderWords(account)) statement(insertWord).get(pesel, word);
}
