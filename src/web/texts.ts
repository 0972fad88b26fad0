import type { AmountFault, Language } from "./format.ts";
import { operatorTexts } from "./operator/operator-texts.ts";
import { ratesTexts } from "./rates-texts.ts";
import { text } from "./text.ts";
import { tillTexts } from "./till-texts.ts";

/** The texts of the page. Screen readers and tests rely on the English names. */
const texts = {
  title: text("fx · currency exchange", "fx · wymiana walut"),
  counter: text("Counter", "Okienko"),
  position: text("Position", "Pozycja"),
  audit: text("Audit", "Audyt"),
  batch: text("Batch", "Wsad"),
  apiDocs: text("API", "API"),
  skip: text("Skip to the counter", "Przejdź do okienka"),
  language: text("Polski", "English"),
  lock: text("Lock", "Zablokuj"),
  loading: text("Loading…", "Wczytywanie…"),
  retry: text("Try again", "Spróbuj ponownie"),
  partFailed: text(
    "This part cannot be shown; the others still work. No data was changed.",
    "Tej części nie można pokazać; pozostałe działają. Żadne dane się nie zmieniły.",
  ),
  close: text("Close", "Zamknij"),
  print: text("Print", "Drukuj"),
  cancel: text("Cancel", "Anuluj"),

  rates: text("Rates", "Kursy"),
  currency: text("Currency", "Waluta"),
  bid: text("Bid", "Kupno"),
  ask: text("Ask", "Sprzedaż"),
  change: text("Change", "Zmiana"),
  trend: text("30 days", "30 dni"),
  bidHint: text("the bank buys at", "po tyle bank kupuje"),
  askHint: text("the bank sells at", "po tyle bank sprzedaje"),
  table: text("Table", "Tabela"),
  tableOf: text("Table {} of {}", "Tabela {} z {}"),
  ...ratesTexts,
  ratesHistory: text("History of {}", "Historia kursu {}"),
  extremes: text("Lowest bid {} · highest ask {}", "Najniższy kurs kupna {} · najwyższy kurs sprzedaży {}"),

  search: text("Search", "Szukaj"),
  searchHint: text("PESEL or name", "PESEL lub nazwisko"),
  found: text("Accounts found", "Znalezione rachunki"),
  noneFound: text("No account has this name.", "Nie ma rachunku na to nazwisko."),
  moreFound: text(
    "More accounts have this name. Type more of it, or the PESEL.",
    "Na to nazwisko jest więcej rachunków. Wpisz więcej liter albo PESEL.",
  ),
  moreLetters: text(
    "Type three letters or more of the name, or a whole PESEL.",
    "Wpisz co najmniej trzy litery nazwiska albo cały PESEL.",
  ),
  newAccount: text("New account", "Nowy rachunek"),
  openAccount: text("Open account", "Otwórz rachunek"),
  pesel: text("PESEL", "PESEL"),
  firstName: text("First name", "Imię"),
  surname: text("Surname", "Nazwisko"),
  initialBalance: text("Initial balance", "Saldo początkowe"),
  closedAccount: text("This account is closed.", "Ten rachunek jest zamknięty."),
  damagedAccount: text("This account is damaged.", "Ten rachunek jest uszkodzony."),
  blockedAccount: text("This account is blocked.", "Ten rachunek jest zablokowany."),
  blockedHint: text(
    "Until an operator unblocks it, no money leaves it and nothing is exchanged. Deposits are still possible.",
    "Dopóki operator nie zdejmie blokady, nie można z niego niczego wypłacić ani wymienić. Wpłaty są możliwe.",
  ),
  blockedSince: text("Blocked since", "Zablokowany od"),
  blockAccount: text("Block this account", "Zablokuj ten rachunek"),
  unblockAccount: text("Unblock this account", "Zdejmij blokadę z tego rachunku"),

  balances: text("Balances", "Salda"),
  balance: text("Balance", "Saldo"),
  balanceIn: text("Balance {}", "Saldo {}"),
  inPln: text("In PLN at bid", "W PLN po kursie kupna"),
  total: text("Total", "Razem"),

  ticket: text("Exchange ticket", "Zlecenie wymiany"),
  from: text("From", "Z"),
  to: text("To", "Na"),
  buy: text("Buy", "Kup"),
  sell: text("Sell", "Sprzedaj"),
  amount: text("Amount", "Kwota"),
  exchange: text("Exchange", "Wymień"),
  confirm: text("Confirm", "Potwierdź"),
  paid: text("You pay", "Płacisz"),
  received: text("You receive", "Otrzymujesz"),
  rateIs: text("Rate {}", "Kurs {}"),
  quoteHint: text("Type how much, and the price is shown here.", "Wpisz kwotę, a tutaj pojawi się cena."),
  rateMoved: text(
    "The rate has moved. Look at the new price, and confirm it or cancel.",
    "Kurs się zmienił. Sprawdź nową cenę, a potem potwierdź ją albo anuluj.",
  ),
  outcomeUnknown: text(
    "No answer came, so it is not known whether it was done. The button sends the same request again; it is never done twice.",
    "Nie nadeszła odpowiedź, więc nie wiadomo, czy zlecenie wykonano. Przycisk wysyła to samo zlecenie jeszcze raz; na pewno nie zostanie ono wykonane dwa razy.",
  ),
  notSent: text(
    "The server asked for the token again, so nothing was sent. Confirm the order now.",
    "Serwer ponownie poprosił o token, więc niczego nie wysłano. Potwierdź zlecenie teraz.",
  ),
  notSentSignIn: text(
    "Nothing was done: the server asked for the token again before the order was sent. Sign in; the order waits for you.",
    "Niczego nie wykonano: serwer ponownie poprosił o token, zanim wysłano zlecenie. Zaloguj się; zlecenie czeka.",
  ),
  unsettled: text(
    "It is not known yet whether an order was done. The page keeps it, and shows it as soon as it works again.",
    "Nie wiadomo jeszcze, czy jedno ze zleceń wykonano. Strona je pamięta i pokaże, gdy tylko znów będzie działać.",
  ),
  notSettled: text(
    "It is not known yet whether this was done: {}",
    "Nie wiadomo jeszcze, czy to wykonano: {}",
  ),
  goesOn: text("Still running: {}", "Trwa: {}"),
  show: text("Show", "Pokaż"),
  asOf: text("This is as of {}.", "Stan na {}."),
  lookUp: text("See whether it was done", "Sprawdź, czy wykonano"),
  notSoFar: text(
    "It has not been done so far. It may still be on its way: wait and look again.",
    "Jak dotąd go nie wykonano. Może być jeszcze w drodze: poczekaj i sprawdź ponownie.",
  ),
  leave: text("Give it up", "Porzuć"),
  mayStillBeDone: text(
    "It may still be done, whatever you do next. If you give it up and make a new order, both may be done. Sending the same request again settles it.",
    "Zlecenie może jeszcze zostać wykonane, cokolwiek zrobisz. Jeśli je porzucisz i złożysz nowe, mogą zostać wykonane oba. Ponowne wysłanie tego samego zlecenia rozstrzyga sprawę.",
  ),
  stay: text("Keep it", "Nie porzucaj"),
  giveUp: text("Give it up, although it may still be done", "Porzuć, choć może jeszcze zostać wykonane"),
  givenUp: text(
    "The order was given up, but may still be done. Look at the statement before the next order.",
    "Zlecenie porzucono, ale może jeszcze zostać wykonane. Przed następnym sprawdź wyciąg.",
  ),
  notEnough: text("There is not enough on the account for this.", "Na rachunku jest za mało środków."),
  onlyHeld: text("The account has only {}.", "Na rachunku jest tylko {}."),
  allOfIt: text("All of it: {}", "Wszystko: {}"),

  receipt: text("Receipt", "Pokwitowanie"),
  number: text("Number", "Numer"),
  time: text("Time", "Czas"),
  holder: text("Holder", "Posiadacz"),
  doneBy: text("By", "Wykonał"),
  spent: text("Paid", "Zapłacono"),
  gained: text("Received", "Otrzymano"),
  noted: text("Note", "Uwaga"),
  balancesAfter: text("Balances after it", "Salda po operacji"),
  receiptOf: text("Receipt of {}", "Pokwitowanie z {}"),
  reverseOf: text("Reverse {}", "Cofnij operację z {}"),
  entryOf: text(
    (sequence: string, id: string) => `${id} (entry ${sequence} of the account)`,
    (sequence, id) => `${id} (operacja ${sequence} na rachunku)`,
  ),
  taxNumber: text("Tax number {}", "NIP {}"),
  signedByHolder: text("Customer's signature", "Podpis klienta"),
  signedByOffice: text("For the office", "Za kantor"),

  cash: text("Cash and corrections", "Gotówka i korekty"),
  deposit: text("Deposit", "Wpłata"),
  withdraw: text("Withdraw", "Wypłata"),
  cashSum: text("Sum", "Suma"),
  cashCurrency: text("In", "W walucie"),
  note: text("Note", "Uwaga"),
  carryOut: text("Yes, do it", "Tak, wykonaj"),
  newFirstName: text("New given name", "Nowe imię"),
  newSurname: text("New family name", "Nowe nazwisko"),
  saveName: text("Save the name", "Zapisz nazwisko"),
  newName: text("New name", "Po zmianie"),
  reverse: text("Reverse", "Cofnij"),
  reason: text("Reason", "Powód"),
  reasonMissing: text("Type the reason first.", "Najpierw wpisz powód."),

  statement: text("Statement", "Wyciąg"),
  since: text("Since", "Od"),
  until: text("Until", "Do"),
  entry: text("Entry", "Operacja"),
  out: text("Out", "Wypływ"),
  in: text("In", "Wpływ"),
  csv: text("Save as CSV", "Zapisz jako CSV"),
  noEntries: text("No entries in this period.", "W tym okresie nie było operacji."),
  camt: text("Save as camt.053", "Zapisz jako camt.053"),
  statementFile: text("statement {}.{}", "wyciąg {}.{}"),

  customers: text("Customers hold", "Klienci mają"),
  house: text("The house", "Kantor"),
  spread: text("Spread earned", "Zysk z różnicy kursów"),
  runAudit: text("Run the audit", "Uruchom audyt"),
  auditRunning: text("Recomputing the whole ledger…", "Przeliczanie całej księgi…"),
  auditClean: text("The books agree.", "Księgi się zgadzają."),
  auditFindings: text("Discrepancies were found.", "Znaleziono niezgodności."),
  accountsRead: text("Accounts", "Rachunki"),
  entriesRead: text("Entries", "Operacje"),
  digest: text("Digest", "Skrót"),

  tokenAsked: text("This server asks for a token", "Ten serwer wymaga tokenu"),
  tokenHint: text(
    "Whoever runs the server gives you one. It is kept for this tab only.",
    "Wydaje go administrator serwera. Token zostaje tylko w tej karcie.",
  ),
  token: text("Access token", "Token dostępu"),
  enter: text("Enter", "Wejdź"),
  tokenWrong: text("The server does not take this token.", "Serwer nie przyjmuje tego tokenu."),
  tokenExpires: text(
    "Your token expires on {}. Ask whoever runs the server for another one before that.",
    "Twój token wygasa {}. Przed tym terminem poproś administratora serwera o nowy.",
  ),
  pin: text("PIN", "PIN"),
  newPin: text("PIN to unlock with (optional)", "PIN do odblokowania (opcjonalny)"),
  pinShort: text("A PIN has at least {} characters.", "PIN ma co najmniej {} znaki."),
  pinHint: text(
    "Type the PIN that you chose when you entered the token.",
    "Wpisz PIN wybrany przy podaniu tokenu.",
  ),
  pinWrong: text(
    (left: number) =>
      left === 1
        ? "This PIN is wrong. One attempt is left."
        : `This PIN is wrong. ${left} attempts are left.`,
    (left) => (left === 1 ? "Błędny PIN. Została jedna próba." : `Błędny PIN. Zostały ${left} próby.`),
  ),
  pinsWrong: text(
    "The PIN was wrong three times, so the token is needed.",
    "Trzy razy podano błędny PIN, więc potrzebny jest token.",
  ),
  locked: text("Locked", "Zablokowano"),
  lockedHint: text("Nobody used the page for a while.", "Przez jakiś czas nikt nie używał strony."),
  unlock: text("Go on", "Dalej"),
  role: text(
    { viewer: "viewer", teller: "teller", operator: "operator" },
    { viewer: "podgląd", teller: "kasjer", operator: "operator" },
  ),
  notAllowed: text("Your token does not allow this.", "Twój token na to nie pozwala."),

  shortcuts: text("Keys", "Klawisze"),
  kind: text(
    {
      opening: "Opening",
      exchange: "Exchange",
      deposit: "Deposit",
      withdrawal: "Withdrawal",
      reversal: "Reversal",
      renaming: "Change of name",
      closing: "Closing",
      block: "Block",
      unblock: "Unblock",
    },
    {
      opening: "Otwarcie",
      exchange: "Wymiana",
      deposit: "Wpłata",
      withdrawal: "Wypłata",
      reversal: "Cofnięcie",
      renaming: "Zmiana nazwiska",
      closing: "Zamknięcie",
      block: "Blokada",
      unblock: "Zdjęcie blokady",
    },
  ),
  amountFault: text(
    {
      missing: "Type an amount.",
      notANumber: "This is not an amount. Write it like 1000.50 or 1 000,50.",
      ambiguous: "This may mean thousands or decimals. Write 1234 or 1.23.",
      notPositive: "The amount must be more than 0.",
      tooFine: "The amount has more decimals than the currency.",
      tooLarge: "The amount is too large.",
    } satisfies Record<AmountFault, string>,
    {
      missing: "Wpisz kwotę.",
      notANumber: "To nie jest kwota. Pisz tak: 1000,50 albo 1 000,50.",
      ambiguous: "Nie wiadomo, czy to tysiące, czy część dziesiętna. Napisz 1234 albo 1,23.",
      notPositive: "Kwota musi być większa od 0.",
      tooFine: "Kwota ma więcej miejsc po przecinku niż waluta.",
      tooLarge: "Kwota jest za duża.",
    },
  ),
  peselFault: text(
    {
      digits: "A PESEL is 11 digits.",
      check: "The check digit does not match: look for a mistyped digit.",
      date: "The date of birth in this PESEL does not exist, or is in the future.",
      underage: "The holder is not 18 yet.",
    },
    {
      digits: "PESEL ma 11 cyfr.",
      check: "Cyfra kontrolna się nie zgadza: sprawdź, czy nie ma pomyłki.",
      date: "Data urodzenia w tym numerze PESEL nie istnieje albo jest w przyszłości.",
      underage: "Posiadacz nie ma jeszcze 18 lat.",
    },
  ),
  wouldOpen: text(
    "Opens an account for {}, PESEL {}, with {}.",
    "Otwiera rachunek: {}, PESEL {}, saldo początkowe {}.",
  ),
  nameMissing: text("Type the first name and the surname.", "Wpisz imię i nazwisko."),
  reverses: text("Reverses", "Cofa operację"),
  reversedBy: text("Reversed by", "Cofnięta operacją"),
  reversed: text("reversed", "cofnięto"),
  period: text("Period", "Okres"),
  periodOf: text(
    (from: string, to: string) => [from && `Since ${from}`, to && `until ${to}`].filter(Boolean).join(" "),
    (from, to) => [from && `Od ${from}`, to && `do ${to}`].filter(Boolean).join(" "),
  ),
  before: text("Before it", "Przedtem"),
  afterwards: text("After it", "Potem"),
  closeAccount: text("Close this account", "Zamknij ten rachunek"),
  notEmpty: text(
    "There is still money on it. Exchange it to PLN and withdraw it first.",
    "Są na nim jeszcze środki. Najpierw wymień je na PLN i wypłać.",
  ),
  reopenHint: text(
    "It can be opened again: choose New account, and enter the same PESEL.",
    "Rachunek można otworzyć ponownie: wybierz Nowy rachunek i podaj ten sam PESEL.",
  ),
  welcome: text(
    "Look for a customer by PESEL or by name, or open a new account. Click a currency code to see the history of its rate.",
    "Znajdź klienta po numerze PESEL lub nazwisku albo otwórz nowy rachunek. Kliknij kod waluty, aby zobaczyć historię kursu.",
  ),
  welcomeViewer: text(
    "Look for a customer by PESEL. Click a currency code to see the history of its rate.",
    "Znajdź klienta po numerze PESEL. Kliknij kod waluty, aby zobaczyć historię kursu.",
  ),
  swap: text("Swap the currencies", "Zamień waluty miejscami"),
  sameCurrency: text("Choose two different currencies.", "Wybierz dwie różne waluty."),
  offline: text(
    "No answer came from the server. Look at the network, and try again.",
    "Serwer nie odpowiada. Sprawdź sieć i spróbuj ponownie.",
  ),
  ...operatorTexts,
  ...tillTexts,
};

export type Texts = { readonly [Name in keyof typeof texts]: (typeof texts)[Name]["en"] };

function textsIn(language: Language): Texts {
  const named = Object.entries(texts).map(([name, text]) => [name, text[language]]);
  return Object.fromEntries(named) as Texts;
}

export const textsOf: Readonly<Record<Language, Texts>> = { en: textsIn("en"), pl: textsIn("pl") };
