import { text } from "./text.ts";

/** The texts of the sheet of the till. */
export const tillTexts = {
  till: text("Till", "Kasa"),
  day: text("Day", "Dzień"),
  tillOf: text("Token", "Token"),
  nobody: text("without a token", "bez tokenu"),
  float: text("Float", "Stan rano"),
  expected: text("Expected", "Powinno być"),
  counted: text("Counted", "Policzono"),
  difference: text("Difference", "Różnica"),
  tillEntries: text("Entries with cash", "Operacje gotówkowe"),
  firstEntry: text("First", "Pierwsza"),
  lastEntry: text("Last", "Ostatnia"),
  tillHint: text(
    "Openings, deposits, withdrawals and their reversals; exchanges move no cash. What is typed stays in this browser tab.",
    "Otwarcia, wpłaty, wypłaty i ich cofnięcia; wymiana nie zmienia stanu gotówki. To, co wpisano, zostaje w tej karcie przeglądarki.",
  ),
  signedByTeller: text("Teller's signature", "Podpis kasjera"),
};
