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
    "This part cannot be shown; the others can be used. Nothing was changed by that.",
    "Tej części nie można pokazać; pozostałe działają. Niczego to nie zmieniło.",
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
  noneFound: text("No account has this name.", "Nikt taki nie ma rachunku."),
  moreFound: text(
    "More accounts have this name. Type more of it, or the PESEL.",
    "To nazwisko ma więcej rachunków. Wpisz więcej liter albo PESEL.",
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
    "Nothing leaves it, and nothing is exchanged, until an operator unblocks it. Deposits go on.",
    "Do zdjęcia blokady przez operatora nic z niego nie wychodzi i niczego się nie wymienia. Wpłaty są możliwe.",
  ),
  blockedSince: text("Blocked since", "Zablokowany od"),
  blockAccount: text("Block this account", "Zablokuj ten rachunek"),
  unblockAccount: text("Unblock this account", "Zdejmij blokadę z tego rachunku"),

  balances: text("Balances", "Salda"),
  balance: text("Balance", "Saldo"),
  balanceIn: text("Balance {}", "Saldo {}"),
  inPln: text("In PLN at bid", "W PLN po kursie kupna"),
  total: text("Together", "Razem"),

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
    "Kurs się zmienił. Sprawdź nową cenę i ją potwierdź albo anuluj.",
  ),
  outcomeUnknown: text(
    "No answer came, so it is not known whether it was done. The button sends the same request again; it is never done twice.",
    "Nie ma odpowiedzi, więc nie wiadomo, czy zlecenie wykonano. Przycisk wysyła to samo zlecenie jeszcze raz; nigdy nie wykona się ono dwa razy.",
  ),
  notSent: text(
    "Your token was asked for again, so nothing was sent. Confirm it now.",
    "Serwer poprosił o token, więc niczego nie wysłano. Teraz potwierdź.",
  ),
  notSentSignIn: text(
    "Nothing was done: your token was asked for again before the order was sent. Sign in, and the order waits for you.",
    "Niczego nie wykonano: serwer poprosił o token, zanim zlecenie wysłano. Zaloguj się, zlecenie czeka.",
  ),
  unsettled: text(
    "It is not known yet whether an order was done. It is kept here, and shown as soon as the page goes on.",
    "Nie wiadomo jeszcze, czy jedno ze zleceń wykonano. Strona je pamięta i pokaże, gdy tylko ruszy dalej.",
  ),
  notSettled: text(
    "It is not known yet whether this was done: {}",
    "Nie wiadomo jeszcze, czy to wykonano: {}",
  ),
  goesOn: text("Goes on meanwhile: {}", "Trwa: {}"),
  show: text("Show", "Pokaż"),
  asOf: text("This is as of {}.", "Stan na {}."),
  lookUp: text("See whether it was done", "Sprawdź, czy wykonano"),
  notSoFar: text(
    "It has not been done so far. It may still be on its way: wait and look again.",
    "Jak dotąd go nie wykonano. Może być jeszcze w drodze: poczekaj i sprawdź ponownie.",
  ),
  leave: text("Give it up", "Porzuć"),
  mayStillBeDone: text(
    "It may still be done, whatever you do next: give it up, and a new order would come on top of it. Sending the same request again settles it.",
    "Zlecenie może się jeszcze wykonać, cokolwiek zrobisz: jeśli je porzucisz, nowe zlecenie będzie dodatkowe. Ponowne wysłanie tego samego rozstrzyga sprawę.",
  ),
  stay: text("Keep it", "Nie porzucaj"),
  giveUp: text("Give it up, although it may still be done", "Porzuć, choć może się jeszcze wykonać"),
  givenUp: text(
    "It was given up, and may still be done. Look at the statement before the next order.",
    "Zlecenie porzucono i może się jeszcze wykonać. Przed następnym obejrzyj wyciąg.",
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
  newFirstName: text("Given name now", "Imię po zmianie"),
  newSurname: text("Family name now", "Nazwisko po zmianie"),
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
  auditFindings: text("Disagreements were found.", "Znaleziono niezgodności."),
  accountsRead: text("Accounts", "Rachunki"),
  entriesRead: text("Entries", "Operacje"),
  digest: text("Digest", "Skrót"),

  tokenAsked: text("This server asks for a token", "Ten serwer wymaga tokenu"),
  tokenHint: text(
    "Whoever runs the server gives you one. It is kept for this tab only.",
    "Daje go ten, kto prowadzi serwer. Token zostaje tylko w tej karcie.",
  ),
  token: text("Access token", "Token dostępu"),
  enter: text("Enter", "Wejdź"),
  tokenWrong: text("The server does not take this token.", "Serwer nie przyjmuje tego tokenu."),
  tokenExpires: text(
    "Your token expires on {}. Ask whoever runs the server for another one before that.",
    "Twój token wygasa {}. Poproś wcześniej o nowy tego, kto prowadzi serwer.",
  ),
  pin: text("PIN", "PIN"),
  newPin: text("PIN to unlock with, if you want one", "PIN do odblokowania, jeśli chcesz go mieć"),
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
    (left) => (left === 1 ? "Zły PIN. Została jedna próba." : `Zły PIN. Zostały ${left} próby.`),
  ),
  pinsWrong: text(
    "The PIN was wrong three times, so the token is needed.",
    "PIN był zły trzy razy, więc potrzebny jest token.",
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
      notANumber: "This is no amount. Write it like 1000.50 or 1 000,50.",
      ambiguous: "This may mean thousands or decimals. Write 1234 or 1.23.",
      notPositive: "The amount must be more than 0.",
      tooFine: "The amount has more decimals than the currency.",
      tooLarge: "The amount is too large.",
    } satisfies Record<AmountFault, string>,
    {
      missing: "Wpisz kwotę.",
      notANumber: "To nie jest kwota. Pisz tak: 1000,50 albo 1 000,50.",
      ambiguous: "To mogą być tysiące albo ułamek. Napisz 1234 albo 1,23.",
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
      check: "Cyfra kontrolna się nie zgadza: poszukaj pomyłki.",
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
  reversedBy: text("Reversed by", "Cofnięta przez"),
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
    "Money moves again once it is reopened: choose New account, with the same PESEL.",
    "Rachunek można otworzyć ponownie: wybierz Nowy rachunek i podaj ten sam PESEL.",
  ),
  welcome: text(
    "Look for a customer by PESEL or by name, or open a new account. The rates open with a click on a code.",
    "Znajdź klienta po numerze PESEL lub nazwisku albo otwórz nowy rachunek. Kliknij kod waluty, aby zobaczyć historię kursu.",
  ),
  welcomeViewer: text(
    "Look for a customer by PESEL. The rates open with a click on a code.",
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
