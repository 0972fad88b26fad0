import type { Language } from "../format.ts";

/** The names of problems that the audit reports, and the words beside figures. "*" stands for a name or a figure. */
const polish: Readonly<Record<string, string>> = {
  "words of the names": "słowa, po których rachunek jest znajdowany",
  "gap in the sequence": "luka w numeracji operacji",
  "unreadable entry": "nieczytelna operacja",
  "broken hash chain": "przerwany łańcuch skrótów",
  "opening currency": "waluta otwarcia",
  "rate table": "tabela kursów",
  "rate table in force": "obowiązująca tabela kursów",
  "account of the entry": "rachunek operacji",
  "first entry": "pierwsza operacja",
  "entry of the house": "operacja kantoru",
  "opening after the first entry": "otwarcie po pierwszej operacji",
  "entry of a closed account": "operacja na zamkniętym rachunku",
  closing: "zamknięcie",
  "entry of a blocked account": "operacja na zablokowanym rachunku",
  "block in the entry": "blokada w operacji",
  block: "blokada",
  unblock: "zdjęcie blokady",
  blocked: "zablokowany",
  "not blocked": "niezablokowany",
  "no block": "brak blokady",
  "a blocked account": "zablokowany rachunek",
  "negative balance": "ujemne saldo",
  "time of the entry": "czas operacji",
  "account without entries": "rachunek bez operacji",
  "number of entries": "liczba operacji",
  name: "imię",
  "name in the entry": "imię w operacji",
  surname: "nazwisko",
  "surname in the entry": "nazwisko w operacji",
  "entry without an account": "operacja bez rachunku",
  "entry after the account's last": "operacja po ostatniej na rachunku",
  exchange: "wymiana",
  "table number": "numer tabeli",
  sold: "sprzedano",
  bought: "kupiono",
  bid: "kurs kupna",
  ask: "kurs sprzedaży",
  "effective date": "data obowiązywania",
  "entry that is undone": "cofnięta operacja",
  "link to the reversal": "odsyłacz do cofnięcia",
  "taken by the reversal": "zabrane przez cofnięcie",
  "given by the reversal": "oddane przez cofnięcie",
  "exchange that is undone": "cofnięta wymiana",
  "balances after the entry": "salda po operacji",
  "number of a table in force": "numer obowiązywania tabeli",
  "hash of the key of the customers' ids": "skrót klucza identyfikatorów klientów",
  "hash of refusal *": "skrót odmowy *",
  "time of refusal *": "czas odmowy *",
  "hash of table in force *": "skrót obowiązującej tabeli *",
  "time of table in force *": "czas obowiązującej tabeli *",
  "table in force *": "obowiązująca tabela *",
  "content of table *": "treść tabeli *",
  "text of table *": "zapis tabeli *",
  "all accounts": "wszystkie rachunki",
  some: "są",
  none: "brak",
  nothing: "nic",
  "no account": "brak rachunku",
  "an account": "rachunek",
  "no entries": "brak operacji",
  "a whole entry": "cała operacja",
  "a whole table": "cała tabela",
  "a table that is kept": "zachowana tabela",
  "no such table in the store": "nie ma takiej tabeli",
  "exchange while trading was suspended": "wymiana, gdy była wstrzymana",
  "no exchange": "bez wymiany",
  "not in force then": "wtedy nie obowiązywała",
  "a deposit, a withdrawal or a reversal": "wpłata, wypłata lub cofnięcie",
  "an account that holds money": "rachunek ze środkami",
  "an empty account": "pusty rachunek",
  "one that the rate table allows": "taka, na jaką pozwala tabela kursów",
  "an earlier exchange, deposit or withdrawal of the account":
    "wcześniejsza wymiana, wpłata lub wypłata z tego rachunku",
  "* minor units": "* jednostek podrzędnych",
  "at least 0 *": "co najmniej 0 *",
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
