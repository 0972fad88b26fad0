import type { ProblemJson } from "../wire/schemas.ts";
import type { Language } from "./format.ts";
import { textsOf } from "./texts.ts";

const { pl } = textsOf;

/** Refusals in Polish; the server's own words are English. */
const refusalsPl: Partial<Record<ProblemJson["code"], string>> = {
  "invalid-request": "Żądanie jest nieprawidłowe. Sprawdź wpisane dane.",
  "invalid-pesel": "Ten numer PESEL jest nieprawidłowy.",
  underage: pl.peselFault.underage,
  "unsupported-currency": "Tabela nie zawiera tej waluty.",
  "same-currency": pl.sameCurrency,
  "invalid-amount": "Ta kwota jest nieprawidłowa.",
  "amount-too-small": "Kwota jest za mała: po drugiej stronie zostałoby zero.",
  "insufficient-funds": pl.notEnough,
  "balance-limit": "Saldo byłoby za duże.",
  "rate-changed": pl.rateMoved,
  "already-reversed": "Tę operację już cofnięto.",
  "not-reversible": "Tej operacji nie można cofnąć.",
  "account-closed": pl.closedAccount,
  "account-not-empty": "Na rachunku są jeszcze środki.",
  "account-not-found": "Nie ma rachunku o tym numerze PESEL.",
  "account-exists": "Ten PESEL ma już rachunek.",
  "idempotency-key-reused": "Ten klucz ma już inne żądanie.",
  "rates-unavailable": "Nie ma teraz kursów, po których można wymieniać.",
  "storage-unavailable": "Baza danych nie odpowiada.",
  internal: "Błąd w samym fx.",
  forbidden: pl.notAllowed,
  "rate-limited": "Za dużo żądań naraz. Spróbuj za chwilę.",
  overloaded: "Serwer jest zajęty. Spróbuj za chwilę.",
};

/** A refusal for the reader. */
export function refusalText({ code, detail }: ProblemJson, language: Language): string {
  return language === "pl" ? (refusalsPl[code] ?? detail) : detail;
}
