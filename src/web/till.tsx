import { useEffect, useState } from "preact/hooks";
import type { TillJson } from "../wire/ledger.ts";
import { urlOf } from "./answers.ts";
import { useApp, useCashCodes, useGet, useMay, useTask } from "./app.ts";
import { Button, Facts, figures, ReadState, Table } from "./elements.tsx";
import { AmountField, Field } from "./field.tsx";
import { sum, typedAmount, warsawTime } from "./format.ts";
import { Letterhead } from "./paper.tsx";
import { printOnly } from "./print.ts";
import { fill } from "./texts.ts";

/** The amounts that are typed for one currency. */
interface Typed {
  readonly float: string;
  readonly counted: string;
}

/** The typed amounts of one sheet. They stay in the browser. */
interface Draft {
  /** The day of the sheet, and the name of the token. */
  readonly of: string;
  readonly typed: Readonly<Record<string, Typed>>;
}

const storageName = "fx-till";
const untyped: Typed = { float: "", counted: "" };

/** The sheet of the till: the cash of one token on one day, beside the float and what was counted. */
export function Till() {
  const { caller, reads, texts, format } = useApp();
  const isOperator = useMay("operator");
  const today = warsawTime(new Date()).slice(0, 10);
  const [date, setDate] = useState(today);
  const [by, setBy] = useState(caller.name ?? "");
  const [typedName, setTypedName] = useState(by);
  const url = urlOf("api/till", { date, by });
  const read = useGet<TillJson>(url);
  /** The sheet as it is when it is printed: cash may have come or gone. */
  const newest = useTask<TillJson>(url);
  useEffect(() => {
    if (newest.value !== undefined) printOnly("till");
  }, [newest.value]);
  const { value, isLoading } = read;
  const typed = useSheet(`${value?.date} ${value?.by}`);
  const isUnread = Object.entries(typed[0]).some(([symbol, { float, counted }]) =>
    [float, counted].some((text) => text.trim() !== "" && amountOf(text, symbol) === undefined),
  );
  const whose = value?.by ?? texts.nobody;
  return (
    <main id="main" tabIndex={-1}>
      <section class="card till">
        <Letterhead />
        <p class="on-paper">
          <strong>{texts.till}</strong> · {format.date(date)} · {whose}
        </p>
        <div class="actions">
          <h2>{texts.till}</h2>
          <Field
            type="date"
            label={texts.day}
            max={today}
            value={date}
            onValue={(day) => setDate(day || today)}
          />
          {isOperator && (
            <Field
              label={texts.tillOf}
              maxLength={64}
              value={typedName}
              onValue={setTypedName}
              onChange={({ currentTarget }) => setBy(currentTarget.value.trim())}
            />
          )}
          <Button label={texts.refresh} aria-busy={isLoading} onClick={() => reads.refresh("api/till")} />
          <Button
            label={texts.print}
            disabled={value === undefined || isUnread}
            aria-busy={newest.isLoading}
            onClick={() => newest.run(() => reads.fresh(url))}
          />
        </div>
        <ReadState read={read} />
        {read.time !== undefined && (
          <p role="status">{fill(texts.readAt, format.time(read.time.toISOString()))}</p>
        )}
        {value !== undefined && <Sheet key={`${value.date} ${value.by}`} till={value} typed={typed} />}
      </section>
    </main>
  );
}

interface SheetProps {
  readonly till: TillJson;
  readonly typed: ReturnType<typeof useSheet>;
}

function Sheet({ till, typed: [typed, edit] }: SheetProps) {
  const { texts, format } = useApp();
  const symbols = useCashCodes(till.currencies.map(({ symbol }) => symbol));
  const end = (entry: TillJson["first"]) => entry && `${format.time(entry.time)} · ${entry.id}`;
  const rowOf = (symbol: string, amounts: Typed) => {
    const { came, went, expected, difference, isIdle } = amountsOf(till, symbol, amounts);
    const shown = (amount: number | undefined) => (amount === undefined ? "" : format.amount(amount, symbol));
    const words = difference ? (difference > 0 ? texts.surplus : texts.shortage) : "{}";
    const box = (field: keyof Typed) => (
      <AmountField
        key={field}
        label={`${texts[field]} ${symbol}`}
        currency={symbol}
        zero
        value={amounts[field]}
        onValue={(value) => edit(symbol, { ...amounts, [field]: value })}
      />
    );
    const off = (
      <span class={difference ? "bad" : ""}>
        {difference !== undefined && fill(words, shown(difference))}
      </span>
    );
    const cells = [symbol, box("float"), shown(came), shown(went), shown(expected), box("counted"), off];
    // It is not printed where nothing moved and nothing is typed.
    return { key: symbol, class: isIdle ? "idle" : undefined, cells };
  };
  const columns = [texts.float, texts.in, texts.out, texts.expected, texts.counted, texts.difference];
  return (
    <>
      <div class="wide">
        <Table
          label={texts.till}
          columns={[texts.currency, ...columns.map((label) => figures(label))]}
          hasRowHeads
          rows={symbols.map((symbol) => rowOf(symbol, typed[symbol] ?? untyped))}
        />
      </div>
      <Facts
        class="facts figures"
        of={[
          [texts.tillEntries, format.count(till.entries)],
          [texts.firstEntry, end(till.first) ?? undefined],
          [texts.lastEntry, end(till.last) ?? undefined],
          [texts.digest, <code key="digest">{till.digest}</code>],
        ]}
      />
      <p class="muted actions">{texts.tillHint}</p>
      <p class="on-paper signatures">
        <span>{texts.signedByTeller}</span>
        <span>{texts.signedByOffice}</span>
      </p>
    </>
  );
}

/** The amounts of one currency. Undefined where what was typed is none. */
function amountsOf(till: TillJson, symbol: string, typed: Typed) {
  const flow = till.currencies.find((each) => each.symbol === symbol);
  const [came, went] = [Number(flow?.in ?? 0), Number(flow?.out ?? 0)];
  const float = typed.float.trim() === "" ? 0 : amountOf(typed.float, symbol);
  const counted = amountOf(typed.counted, symbol);
  const expected = float === undefined ? undefined : sum(float, came, -went);
  const difference = expected === undefined || counted === undefined ? undefined : sum(counted, -expected);
  const isIdle = flow === undefined && typed.float === "" && typed.counted === "";
  return { came, went, expected, difference, isIdle };
}

function amountOf(typed: string, symbol: string): number | undefined {
  const amount = typedAmount(typed, symbol, { zero: true });
  return "amount" in amount ? amount.amount : undefined;
}

/** The amounts typed on one sheet. They survive another view and a reload, until some are typed on another sheet. */
function useSheet(of: string): readonly [Draft["typed"], (symbol: string, typed: Typed) => void] {
  const [draft, setDraft] = useState<Draft | null>(() =>
    JSON.parse(sessionStorage.getItem(storageName) ?? "null"),
  );
  const typed = draft?.of === of ? draft.typed : {};
  const edit = (symbol: string, amounts: Typed) => {
    const next = { of, typed: { ...typed, [symbol]: amounts } };
    sessionStorage.setItem(storageName, JSON.stringify(next));
    setDraft(next);
  };
  return [typed, edit];
}
