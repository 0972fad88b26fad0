import type { NotTradedCode } from "../core/rates.ts";
import { text } from "./text.ts";

const notTradedPl: Readonly<Record<NotTradedCode, string>> = {
  "no-table": "Nie ma jeszcze żadnej tabeli.",
  "not-effective": "Tabela zacznie obowiązywać dopiero później albo zegar serwera się spóźnia.",
  "too-old": "Najnowsza tabela jest za stara.",
  "other-source": "Księga korzysta z innego źródła kursów niż ten serwer.",
  suspended: "Wymianę wstrzymano.",
};

/** The texts about the rate table and whether orders are settled at it. */
export const ratesTexts = {
  recordedRates: text(
    "Recorded rates, for trying fx. They are not today's.",
    "Kursy archiwalne, do wypróbowania fx. To nie są dzisiejsze kursy.",
  ),
  notTraded: text(
    (_code: NotTradedCode, reason: string) => `No orders are settled at these rates now. ${reason}`,
    (code) => `Po tych kursach nie wykonuje się teraz zleceń. ${notTradedPl[code]}`,
  ),
  suspendedFor: text(
    (reason: string, since: string, by: string) =>
      `No orders are settled: trading has been suspended since ${since}${by && ` by ${by}`}. ${reason}`,
    (reason, since, by) =>
      `Zlecenia nie są wykonywane: wymianę wstrzymano ${since}${by && ` (${by})`}. ${reason}`,
  ),
  noNewerTable: text(
    (problem: string, _heldBack: string | null) => `There is no newer rate table: ${problem}`,
    (_problem, heldBack) =>
      heldBack === null
        ? "Nie ma nowszej tabeli kursów: źródło kursów nie odpowiada albo nie podało tabeli."
        : `Nie ma nowszej tabeli kursów: tabelę ${heldBack} wstrzymano, bo odbiega od poprzedniej. Zgłoś to administratorowi serwera.`,
  ),
  noRates: text(
    (detail: string) =>
      `There are no rates yet. Accounts can be used; exchanges wait for the first table. ${detail}`,
    () => "Nie ma jeszcze kursów. Rachunki działają; wymiana czeka na pierwszą tabelę.",
  ),
};
