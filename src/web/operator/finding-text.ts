import type { Language } from "../format.ts";

/** The names of problems that the audit reports, and the words beside figures. "*" stands for a name or a figure. */
const polish: Readonly<Record<string, string>> = {
  "words of the names": "słowa, po których wyszukuje się rachunek",
  "gap in the sequence": "luka w numeracji operacji",
  "unreadable entry": "nieczytelna operacja",
  "broken hash chain": "przerwany łańcuch skrótów",
  "rate table": "tabela kursów",
  "rate table in force": "obowiązująca tabela kursów",
  "time of the entry": "czas operacji",
  "account of the entry": "rachunek operacji",
  "text of the entry": "zapis operacji",
  "entry that fx refuses": "operacja, której fx odmawia",
  "debited in the entry": "obciążenie w operacji",
  "credited in the entry": "uznanie w operacji",
  "balances in the entry": "salda w operacji",
  "bid in the entry": "kurs kupna w operacji",
  "ask in the entry": "kurs sprzedaży w operacji",
  "table in the entry": "tabela kursów w operacji",
  "name in the entry": "imię w operacji",
  "surname in the entry": "nazwisko w operacji",
  "blocked in the entry": "blokada w operacji",
  "* in the entry": "pole * w operacji",
  "account without entries": "rachunek bez operacji",
  "number of entries": "liczba operacji",
  name: "imię",
  surname: "nazwisko",
  "entry without an account": "operacja bez rachunku",
  "entry after the account's last": "operacja po ostatniej na rachunku",
  "positions in the journal": "miejsca w dzienniku",
  "number of a table in force": "kolejny numer obowiązującej tabeli",
  "hash of the key of the customers' ids": "skrót klucza identyfikatorów klientów",
  "hash of refusal *": "skrót odmowy *",
  "time of refusal *": "czas odmowy *",
  "hash of table in force *": "skrót obowiązującej tabeli *",
  "time of table in force *": "czas obowiązującej tabeli *",
  "table in force *": "obowiązująca tabela *",
  "content of table *": "treść tabeli *",
  "text of table *": "zapis tabeli *",
  "all accounts": "wszystkie rachunki",
  some: "występują",
  none: "brak",
  "some that fx does not give": "takie, jakich fx nie nadaje",
  "none of those": "żadnych takich",
  "no account": "brak rachunku",
  "an account": "rachunek",
  "no entries": "brak operacji",
  "a whole entry": "cała operacja",
  "a whole table": "cała tabela",
  "a table that is kept": "zachowana tabela",
  "no such table in the store": "nie ma takiej tabeli",
  "not in force then": "wtedy nie obowiązywała",
  "sequence *": "numer *",
  "last sequence *": "ostatni numer *",
  "not later than now": "nie później niż teraz",
  "not before *": "nie przed *",
};

const forms = Object.entries(polish).map(([english, translated]) => {
  const source = english.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace("\\*", "(.+)");
  return { form: new RegExp(`^${source}$`), translated };
});

/** The words of a finding in the reader's language. Figures and hashes stay as they are. */
export function findingText(words: string, language: Language): string {
  if (language === "en") return words;
  for (const { form, translated } of forms) {
    const match = form.exec(words);
    if (match !== null) return translated.replace("*", match[1] ?? "");
  }
  return words;
}
