import type { ErrorCode } from "../core/errors.ts";
import type { Language } from "./format.ts";
import { textsOf } from "./texts.ts";

const { pl } = textsOf;

/** Refusals in Polish; the server's own words are English. */
const refusalsPl: Readonly<Record<ErrorCode, string>> = {
  "invalid-request": "Serwer nie przyjął wpisanych danych.",
  "invalid-pesel": "Ten numer PESEL jest nieprawidłowy. Sprawdź, czy nie ma pomyłki.",
  "pesel-mismatch": "Numery PESEL w żądaniu się różnią. Wyszukaj klienta jeszcze raz.",
  underage: pl.peselFault.underage,
  "unsupported-currency": "Obowiązująca tabela nie zawiera tej waluty. Wybierz inną.",
  "same-currency": pl.sameCurrency,
  "invalid-amount": "Ta kwota jest nieprawidłowa. Popraw ją.",
  "amount-too-small": "Kwota jest za mała: druga strona wymiany wyniosłaby zero. Wpisz większą.",
  "insufficient-funds": pl.notEnough,
  "balance-limit": "Saldo byłoby większe, niż fx może prowadzić. Wpisz mniejszą kwotę.",
  "rate-changed": pl.rateMoved,
  "trading-suspended": "Wymianę wstrzymano. Wyślij zlecenie ponownie, gdy zostanie wznowiona.",
  "already-reversed": "Tę operację już cofnięto.",
  "not-reversible": "Tej operacji nie można cofnąć.",
  "account-closed": pl.closedAccount,
  "account-blocked": pl.blockedAccount,
  "account-not-blocked": "Ten rachunek nie jest zablokowany.",
  "account-not-empty": pl.notEmpty,
  "account-not-found": "Nie ma rachunku o tym numerze PESEL.",
  "not-found": "Serwer nie zna tego adresu. Odśwież stronę.",
  "method-not-allowed": "Serwer nie przyjmuje takiego żądania. Odśwież stronę.",
  "account-exists": "Ten PESEL ma już rachunek. Wyszukaj go.",
  "idempotency-key-reused": "Z tym kluczem wysłano już inne żądanie. Tego żądania nie wykonano.",
  "rates-unavailable": "Nie ma teraz kursów, po których można wymieniać. Spróbuj później.",
  "storage-unavailable": "Baza danych nie odpowiada. Spróbuj za chwilę.",
  internal: "W fx wystąpił błąd. Zgłoś to administratorowi serwera.",
  unauthorized: pl.tokenWrong,
  forbidden: pl.notAllowed,
  "rate-limited": "Wysłano za dużo żądań naraz. Spróbuj za chwilę.",
  unreachable: pl.offline,
  "outcome-unknown": pl.outcomeUnknown,
  overloaded: "Serwer jest zajęty. Spróbuj za chwilę.",
};

/** The labels of the fields in the page's forms, by their names on the wire. */
const labelsPl: Readonly<Record<string, string>> = {
  pesel: pl.pesel,
  name: pl.firstName,
  surname: pl.surname,
  pln: pl.initialBalance,
  toBuy: pl.amount,
  toSell: pl.amount,
  amount: pl.cashSum,
  currency: pl.cashCurrency,
  note: pl.note,
  reason: pl.reason,
  // The ticket's two currencies are chosen from those that there are; these are the dates of a statement.
  from: pl.since,
  to: pl.until,
  at: pl.positionAt,
};

interface Refusal {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly errors?: readonly { readonly pointer: string }[] | undefined;
}

/**
 * A refusal in the reader's language.
 * @param isOfFile whether it is of a line of a file, whose columns have the names of the wire
 */
export function refusalText(
  { code, detail, errors = [] }: Refusal,
  language: Language,
  isOfFile = false,
): string {
  if (language === "en") return detail;
  const names = errors.map(({ pointer }) => pointer.slice(1));
  const labels = names.flatMap((name) => (isOfFile ? name || [] : (labelsPl[name] ?? [])));
  const refusal =
    isOfFile && code === "invalid-request"
      ? "Wiersz jest nieprawidłowy: sprawdź, które kolumny wypełniono i czym."
      : refusalsPl[code];
  return labels.length === 0 ? refusal : `${refusal} Popraw: ${labels.join(", ")}.`;
}
