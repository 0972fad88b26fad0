import type { Language } from "../format.ts";

const en = {
  refresh: "Refresh",
  held: "Customers hold, in PLN at bid",
  openPosition: "Open position, in PLN at bid",
  openHint: "All that the house is long or short in other currencies.",
  long: "long",
  short: "short",
  noBids: "Without rates, there is no value in PLN.",
  auditIntro:
    "Reads every entry again, and recomputes the hash chain and the balances of every account. Orders go on meanwhile.",
  stop: "Stop",
  stopped: "The audit was stopped.",
  cutOff: "The audit broke off. Run it again.",
  of: "of about",
  findings: "Disagreements",
  took: "Took",
  digestHint: "Two ledgers with the same digest have the same entries. It changes with every entry.",
  account: "Account",
  entry: "Entry",
  problem: "Problem",
  recorded: "Recorded",
  recomputed: "Recomputed",
  shown: "The first of them are shown. fx audit has them all.",
};

export type OperatorTexts = typeof en;

const pl: OperatorTexts = {
  refresh: "Odśwież",
  held: "Klienci mają, w PLN po kursie kupna",
  openPosition: "Otwarta pozycja, w PLN po kursie kupna",
  openHint: "Wszystko, co kantor ma lub jest winien w innych walutach.",
  long: "długa",
  short: "krótka",
  noBids: "Bez kursów nie ma wartości w PLN.",
  auditIntro:
    "Każda operacja każdego rachunku jest czytana od nowa, a jej łańcuch skrótów i salda liczone jeszcze raz. Zlecenia idą w tym czasie dalej.",
  stop: "Zatrzymaj",
  stopped: "Audyt zatrzymano.",
  cutOff: "Audyt się urwał. Uruchom go ponownie.",
  of: "z około",
  findings: "Niezgodności",
  took: "Czas",
  digestHint: "Dwie księgi o tym samym skrócie mają te same operacje. Zmienia go każda operacja.",
  account: "Rachunek",
  entry: "Operacja",
  problem: "Niezgodność",
  recorded: "Zapisano",
  recomputed: "Przeliczono",
  shown: "Widać pierwsze z nich. Wszystkie pokazuje fx audit.",
};

export const operatorTexts: Readonly<Record<Language, OperatorTexts>> = { en, pl };
