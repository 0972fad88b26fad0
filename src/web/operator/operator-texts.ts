import type { FileFault } from "../../batch/unfit-file.ts";
import type { ExportFormat } from "../../core/service.ts";
import { text } from "../text.ts";

/** The texts of the views that only operators have. */
export const operatorTexts = {
  accounting: text("Files for accounting", "Pliki dla księgowości"),
  accountingIntro: text(
    "The register of purchases and sales, and the journal as double entry, from the first to the last day of the period.",
    "Ewidencja kupna i sprzedaży oraz dziennik w podwójnym zapisie, od pierwszego do ostatniego dnia okresu.",
  ),
  fileFormat: text("Format", "Format"),
  exportFormat: text<Readonly<Record<ExportFormat, string>>>(
    {
      register: "Register of purchases and sales (CSV for Excel in Poland)",
      csv: "Journal: CSV",
      hledger: "Journal: hledger",
      beancount: "Journal: beancount",
      ndjson: "Journal: one JSON object per line",
    },
    {
      register: "Ewidencja kupna i sprzedaży (CSV dla Excela)",
      csv: "Dziennik: CSV",
      hledger: "Dziennik: hledger",
      beancount: "Dziennik: beancount",
      ndjson: "Dziennik: obiekt JSON w każdym wierszu",
    },
  ),
  withPersonalData: text("With personal data", "Z danymi osobowymi"),
  saveExport: text("Save the file", "Zapisz plik"),
  savePersonalData: text("Save all data of this person", "Zapisz wszystkie dane tej osoby"),
  personalDataFile: text("all data of {}.json", "wszystkie dane {}.json"),
  refresh: text("Refresh", "Odśwież"),
  saveProof: text("Save proof", "Zapisz poświadczenie"),
  proofHint: text(
    "With a checkpoint, it shows that the ledger had this entry. It contains the holder's name and PESEL.",
    "Wraz z punktem kontrolnym wykazuje, że operacja była w księdze. Zawiera nazwisko i PESEL posiadacza.",
  ),
  held: text("Customers hold, in PLN at bid", "Klienci mają, w PLN po kursie kupna"),
  openPosition: text("Open position, in PLN at bid", "Otwarta pozycja, w PLN po kursie kupna"),
  openHint: text(
    "All that the house is long or short in other currencies.",
    "Wszystko, co kantor ma lub jest winien w innych walutach.",
  ),
  longUpTo: text("long {}", "długa {}"),
  shortUpTo: text("{} short", "{} krótka"),
  positionAt: text("At the time", "W chwili"),
  readAt: text("As of {}.", "Stan na {}."),
  now: text("Now", "Teraz"),
  notYet: text(
    "This time has not come yet. Choose an earlier one.",
    "Ta chwila jeszcze nie nadeszła. Wybierz wcześniejszą.",
  ),
  inDrawer: text("In the drawer", "W kasie"),
  atBank: text("At the bank", "W banku"),
  houseMoney: text("The house's own money", "Własne środki kantoru"),
  houseIntro: text(
    "Book the morning float, currency bought for the house, and money taken to the bank: take it out of the drawer, then put it into the bank.",
    "Tu zapisuje się pogotowie kasowe, zakup waluty i odprowadzenie gotówki do banku: najpierw wypłata z kasy, potem wpłata do banku.",
  ),
  place: text("Where", "Gdzie"),
  putIn: text("Put in", "Wpłać"),
  takeOut: text("Take out", "Wypłać"),
  housePlaces: text({ cash: "The drawer", bank: "The bank" }, { cash: "Kasa", bank: "Bank" }),
  houseDone: text("Done. Receipt {}", "Wykonano. Pokwitowanie {}"),
  trading: text("Trading", "Wymiana"),
  tradingIntro: text(
    "While trading is suspended, every order is refused, at every counter. Deposits, withdrawals and reversals go on. Everybody can read the reason.",
    "Gdy wymiana jest wstrzymana, każde zlecenie jest odrzucane, w każdym okienku. Wpłaty, wypłaty i cofnięcia działają dalej. Powód może przeczytać każdy.",
  ),
  suspendTrading: text("Suspend trading", "Wstrzymaj wymianę"),
  resumeTrading: text("Resume trading", "Wznów wymianę"),
  pastUnpriced: text(
    "Values in PLN use the current rates, so none are shown for the past.",
    "Wartość w PLN liczy się po bieżących kursach, więc dla przeszłości jej się nie pokazuje.",
  ),
  noBids: text("Without rates, there is no value in PLN.", "Bez kursów nie ma wartości w PLN."),
  auditIntro: text(
    "Reads every entry again, and recomputes the hash chain and the balances of every account. Orders go on meanwhile.",
    "Odczytuje od nowa każdą operację oraz przelicza łańcuch skrótów i salda każdego rachunku. Zlecenia są w tym czasie wykonywane.",
  ),
  stop: text("Stop", "Zatrzymaj"),
  auditStopped: text("The audit was stopped.", "Audyt zatrzymano."),
  cutOff: text("The audit broke off. Run it again.", "Audyt został przerwany. Uruchom go ponownie."),
  auditProgress: text(
    (entries: string, total: string | undefined, accounts: string) =>
      `Entries: ${entries}${total === undefined ? "" : ` of about ${total}`} · Accounts: ${accounts}`,
    (entries, total, accounts) =>
      `Operacje: ${entries}${total === undefined ? "" : ` z około ${total}`} · Rachunki: ${accounts}`,
  ),
  findings: text("Discrepancies", "Niezgodności"),
  took: text("Duration", "Czas trwania"),
  digestHint: text(
    "Two ledgers with the same digest have the same entries. It changes with every entry.",
    "Dwie księgi o tym samym skrócie mają te same operacje. Skrót zmienia się z każdą operacją.",
  ),
  account: text("Account", "Rachunek"),
  problem: text("Problem", "Niezgodność"),
  recorded: text("Recorded", "Zapisano"),
  recomputed: text("Recomputed", "Przeliczono"),
  shown: text(
    "Only the first ones are shown. fx audit lists them all.",
    "Widać pierwsze z nich. Wszystkie pokazuje fx audit.",
  ),

  intro: text(
    "Orders, new accounts, deposits and withdrawals: CSV as Excel saves it, or one JSON object per line. First you see what each line would do. Nothing is done before you confirm it.",
    "Zlecenia, nowe rachunki, wpłaty i wypłaty: CSV zapisany w Excelu albo obiekt JSON w każdym wierszu. Najpierw widać, co zrobiłby każdy wiersz. Nic się nie zmieni, dopóki tego nie potwierdzisz.",
  ),
  choose: text("Batch file", "Plik wsadu"),
  drop: text("Drop it here, or choose it.", "Upuść go tutaj albo wybierz."),
  columns: text("The columns for each kind of line", "Kolumny dla każdego rodzaju wiersza"),
  reading: text("Reading the file…", "Wczytywanie pliku…"),
  checking: text("Looking at what each line would do…", "Sprawdzanie, co zrobiłby każdy wiersz…"),
  working: text("Carrying out the lines…", "Wykonywanie wierszy…"),
  file: text("File", "Plik"),
  lines: text("Lines", "Wiersze"),
  holds: text("Holds", "Zawiera"),
  id: text("Batch", "Wsad"),
  wouldBeDone: text("Would be done", "Do wykonania"),
  wouldBeRefused: text("Would be refused", "Do odrzucenia"),
  linesDone: text("Done", "Wykonane"),
  doneBefore: text("Done before", "Wykonane wcześniej"),
  refused: text("Refused", "Odrzucone"),
  left: text("Not begun", "Nierozpoczęte"),
  moves: text("What it moves", "Co się zmienia"),
  why: text("Why", "Dlaczego"),
  line: text("Line", "Wiersz"),
  refusals: text("Refused lines", "Odrzucone wiersze"),
  more: text("The others are in the file that you can save.", "Pozostałe są w pliku, który można zapisać."),
  nothingMoved: text("This was a dry run: nothing was moved.", "To była próba: nic się nie zmieniło."),
  empty: text("The file has no lines.", "W pliku nie ma wierszy."),
  carryOutLines: text("Carry out the lines: {}", "Wykonaj wiersze: {}"),
  goOn: text("Go on with the rest", "Wykonaj resztę"),
  another: text("Another file", "Inny plik"),
  saveResults: text("Save the results", "Zapisz wyniki"),
  saveRefused: text("Save the refused lines", "Zapisz odrzucone wiersze"),
  refusedHint: text(
    "Correct the saved file and drop it here. Each line in it has a new key.",
    "Popraw zapisany plik i upuść go tutaj. Każdy jego wiersz ma nowy klucz.",
  ),
  finished: text("The batch is done.", "Wsad wykonano."),
  batchStopped: text(
    "Stopped. What was done stays done; the same file does the rest, and no line twice.",
    "Zatrzymano. Co wykonano, zostaje; ten sam plik dokończy resztę i żadnego wiersza nie wykona dwa razy.",
  ),
  batchRateMoved: text(
    "The rates have moved, and the batch stopped. What was done stays done. Check what the rest would do at the new rates.",
    "Kursy się zmieniły i wsad zatrzymano. Co wykonano, zostaje. Sprawdź, co zrobi reszta po nowych kursach.",
  ),
  names: text(
    (names: string, total: string) =>
      `Check the names with letters other than A to Z, ${total} in all: ${names}`,
    (names, total) => `Sprawdź nazwiska z literami spoza A–Z, razem ${total}: ${names}`,
  ),
  unread: text("These columns are not read: {}", "Te kolumny nie są czytane: {}"),
  inFile: text(
    (name: string, line: string | undefined, fault: string) =>
      line === undefined ? `${name}: ${fault}` : `${name}, line ${line}: ${fault}`,
    (name, line, fault) => (line === undefined ? `${name}: ${fault}` : `${name}, wiersz ${line}: ${fault}`),
  ),
  batchProgress: text("{} of {} lines", "{} z {} wierszy"),
  tooLarge: text(
    "The file is larger than 32 MiB. Run it with fx batch.",
    "Plik ma ponad 32 MiB. Użyj polecenia fx batch.",
  ),
  unreadable: text(
    "The file cannot be read. Choose it again.",
    "Pliku nie można odczytać. Wybierz go jeszcze raz.",
  ),
  tryOther: text("Read it as {}", "Wczytaj jako {}"),
  kinds: text(
    {
      orders: "orders",
      "new accounts": "new accounts",
      "deposits and withdrawals": "deposits and withdrawals",
      "orders, new accounts, deposits and withdrawals": "lines of any kind",
    } as Readonly<Record<string, string>>,
    {
      orders: "zlecenia",
      "new accounts": "nowe rachunki",
      "deposits and withdrawals": "wpłaty i wypłaty",
      "orders, new accounts, deposits and withdrawals": "wiersze każdego rodzaju",
    },
  ),
  fileFault: text<Readonly<Record<FileFault, string>> | undefined>(undefined, {
    workbook: "To jest skoroszyt Excela. Zapisz go w Excelu jako CSV UTF-8 i wybierz tamten plik.",
    encoding: "Tekst pliku nie jest w tym kodowaniu. Zapisz go w Excelu jako CSV UTF-8.",
    ends: "Wiersze pliku kończą się jak na starym Macu (CR). Zapisz go jako CSV UTF-8.",
    header:
      "Pierwszy wiersz nie jest ani obiektem JSON, ani nagłówkiem CSV, który fx zna. Sprawdź nazwy kolumn.",
  }),
};
