import type { UnfitFile } from "../batch/unfit-file.ts";
import type { ErrorCode, FxError } from "../core/errors.ts";
import type { NotTradedCode } from "../core/rates.ts";
import polish from "./texts/server-pl.json" with { type: "json" };
import { fill, type Language, textsOf } from "./texts.ts";

const { pl } = textsOf;

/** Refusals in Polish; the server's own words are English. Some have the words with which the page warns of them. */
const refusals: Readonly<Record<ErrorCode, string>> = {
  ...polish.refusals,
  "same-currency": pl.sameCurrency,
  "insufficient-funds": pl.notEnough,
  "account-closed": pl.closedAccount,
  "account-blocked": pl.blockedAccount,
  "account-not-empty": pl.notEmpty,
  unauthorized: pl.tokenWrong,
  unreachable: pl.offline,
  "outcome-unknown": pl.outcomeUnknown,
};

/** The labels of the fields in the page's forms, by their names on the wire. */
const labels: Readonly<Record<string, string>> = {
  pesel: pl.pesel,
  name: pl.firstName,
  surname: pl.surname,
  pln: pl.cashPaidIn,
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

/**
 * A refusal in the reader's language.
 * @param isOfFile whether it is of a line of a file, whose columns have the names of the wire
 */
export function refusalText(
  { code, message, fields = [] }: FxError,
  language: Language,
  isOfFile = false,
): string {
  if (language === "en") return message;
  const names = fields.map(({ pointer }) => pointer.slice(1));
  const wrong = names.flatMap((name) => (isOfFile ? name || [] : (labels[name] ?? [])));
  const refusal = isOfFile && code === "invalid-request" ? polish.lineRefused : refusals[code];
  return wrong.length === 0 ? refusal : `${refusal} ${fill(polish.correct, wrong.join(", "))}`;
}

/** The fault of a file of orders, in the reader's language. */
export function fileFaultText({ fault, message, names }: UnfitFile, language: Language): string {
  return language === "en" ? message : fill(polish.fileFaults[fault], ...names);
}

/** Why no orders are settled, in the reader's language. */
export function notTradedText(code: NotTradedCode, detail: string, language: Language): string {
  return language === "en" ? detail : polish.notTraded[code];
}

/** Why there is no newer rate table, in the reader's language. */
export function noNewerTableText(detail: string, heldBack: string | null, language: Language): string {
  if (language === "en") return detail;
  return heldBack === null ? polish.noNewerTable.none : fill(polish.noNewerTable.heldBack, heldBack);
}

/** The words of an audit's findings as patterns; "*" stands for a name or a figure. */
const findings = Object.entries(polish.findings).map(([english, translated]) => {
  const source = english.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace("\\*", "(.+)");
  return { form: new RegExp(`^${source}$`), translated };
});

/** The words of a finding in the reader's language. Figures and hashes stay as they are. */
export function findingText(words: string, language: Language): string {
  if (language === "en") return words;
  for (const { form, translated } of findings) {
    const match = form.exec(words);
    if (match !== null) return translated.replace("*", match[1] ?? "");
  }
  return words;
}
