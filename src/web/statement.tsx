import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { EntryJson, StatementJson } from "../wire/entry-schemas.ts";
import type { AccountJson, MoneyJson } from "../wire/schemas.ts";
import { movedBy } from "../wire/statement-csv.ts";
import { useApp, useCustomer, useGet, useMay, useRead } from "./app.ts";
import { orderOut } from "./customer.ts";
import { accountUrl } from "./desk.ts";
import { type Format, groupedPesel } from "./format.ts";
import { printOnly } from "./print.ts";
import { Reversal } from "./reversal.tsx";
import { type StatementPeriod, saveCsv, wholeStatement } from "./statement-csv.ts";
import { Sum } from "./sum.tsx";
import type { Texts } from "./texts.ts";
import { Unread } from "./unread.tsx";

type StatementPage = readonly EntryJson[];

interface Wanted {
  readonly use: "print" | "csv" | "printed";
  readonly nth: number;
}

const pageSize = 100;
/** Whoever goes past the first page goes far. */
const nextSize = 500;

/**
 * An account's entries, newest first, more of them as one scrolls. Everything in it is read by the period that is
 * typed: what stands above the entries, on the screen and on paper, is theirs.
 */
export function Statement({ account }: { readonly account: AccountJson }) {
  const { api, desk, reads, texts } = useApp();
  const { pesel } = account;
  const path = `${accountUrl(pesel)}/history`;
  const mayReverse = useMay("operator");
  const isOut = orderOut(useCustomer(pesel)) !== undefined;
  const [period, setPeriod] = useState<StatementPeriod>({ from: "", to: "" });
  /** What all entries of the period are wanted for, counted: they are read anew for each click. */
  const [wanted, setWanted] = useState<Wanted>();
  const first = useGet<StatementJson>(path, { limit: pageSize, ...period });
  const whole = useRead(
    reads,
    wanted && `all of ${pesel} from ${period.from} to ${period.to} ${wanted.nth}`,
    (signal) => wholeStatement(api, path, period, signal),
  );
  useEffect(() => setWanted(undefined), [account]);
  const want = (use: Wanted["use"]) => setWanted((before) => ({ use, nth: (before?.nth ?? 0) + 1 }));
  const entries = whole.value?.entries;
  useEffect(() => {
    if (entries === undefined || wanted === undefined || wanted.use === "printed") return undefined;
    if (wanted.use === "print") {
      return printOnly("statement", () => setWanted({ ...wanted, use: "printed" }));
    }
    saveCsv(entries);
    setWanted(undefined);
    return undefined;
  }, [entries, wanted]);
  const choose = (next: StatementPeriod) => {
    setPeriod(next);
    setWanted(undefined);
  };

  const onReverse = useMemo(
    () =>
      mayReverse && !isOut
        ? (entry: EntryJson) => void desk.ask(pesel, { kind: "reversal", entry })
        : undefined,
    [pesel, mayReverse, isOut],
  );
  const onReceipt = useMemo(
    () => (entry: EntryJson) => void desk.tell(pesel, { is: "shows receipt", receiptId: entry.id }),
    [pesel],
  );
  const shown = whole.value ?? first.value;
  const isPeriod = period.from !== "" || period.to !== "";
  const isGathering = wanted !== undefined && whole.isLoading;
  const rows = { path, period, onReceipt, onReverse };
  return (
    <section class="card statement" data-key="statement" tabIndex={-1}>
      <p class="on-paper">
        <strong>{texts.statement}</strong> · {account.name} {account.surname} · {groupedPesel(pesel)}
      </p>
      <div class="period">
        <h3>{texts.statement}</h3>
        <label class="field">
          {texts.since}
          <input
            type="date"
            value={period.from}
            max={period.to}
            onInput={({ currentTarget }) => choose({ ...period, from: currentTarget.value })}
          />
        </label>
        <label class="field">
          {texts.until}
          <input
            type="date"
            value={period.to}
            min={period.from}
            onInput={({ currentTarget }) => choose({ ...period, to: currentTarget.value })}
          />
        </label>
        <button type="button" aria-busy={isGathering} onClick={() => want("csv")}>
          {texts.csv}
        </button>
        <button type="button" aria-busy={isGathering} onClick={() => want("print")}>
          {texts.print}
        </button>
      </div>
      <Unread read={wanted !== undefined && whole.failure !== undefined ? whole : first} />
      <Reversal key={pesel} pesel={pesel} />
      {isPeriod && shown !== undefined && <PeriodEnds period={period} ends={shown} />}

      <table aria-label={texts.statement} class="entries">
        <thead>
          <tr>
            <th scope="col">{texts.time}</th>
            <th scope="col">{texts.entry}</th>
            <th scope="col" class="number">
              {texts.out}
            </th>
            <th scope="col" class="number">
              {texts.in}
            </th>
            <th scope="col">
              <span class="hidden">{texts.receipt}</span>
            </th>
          </tr>
        </thead>
        {shown !== undefined && <Entries entries={shown.entries} {...rows} />}
        {shown?.next != null && <NextPage key={shown.next} cursor={shown.next} {...rows} />}
      </table>
      <p class="muted end" role="status">
        {shown?.entries.length === 0 ? texts.noEntries : ""}
      </p>
    </section>
  );
}

interface RowsProps {
  readonly path: string;
  readonly period: StatementPeriod;
  readonly onReceipt: (entry: EntryJson) => void;
  readonly onReverse: ((entry: EntryJson) => void) | undefined;
}

/** The page at a cursor, read when one comes near it, and those after it. */
function NextPage({ cursor, ...rows }: RowsProps & { readonly cursor: string }) {
  const { texts } = useApp();
  const [isNear, setNear] = useState(false);
  const place = useRef<HTMLTableSectionElement>(null);
  const query = { limit: nextSize, ...rows.period, cursor };
  const page = useGet<StatementJson>(isNear ? rows.path : undefined, query);
  useEffect(() => {
    if (place.current === null || isNear) return undefined;
    const watcher = new IntersectionObserver(([seen]) => seen?.isIntersecting && setNear(true), {
      rootMargin: "900px",
    });
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, [isNear]);
  if (page.value === undefined) {
    return (
      <tfoot ref={place}>
        <tr>
          <td>{page.failure === undefined ? texts.loading : <Unread read={page} />}</td>
        </tr>
      </tfoot>
    );
  }
  const { entries, next } = page.value;
  return (
    <>
      <Entries entries={entries} {...rows} />
      {next !== null && <NextPage key={next} cursor={next} {...rows} />}
    </>
  );
}

/** The days that were asked for, and what was on the account before and after them. */
function PeriodEnds({ period, ends }: { readonly period: StatementPeriod; readonly ends: StatementJson }) {
  const { texts, format } = useApp();
  const listed = (balances: readonly MoneyJson[] | null) =>
    balances === null || balances.length === 0
      ? "–"
      : balances.map((money) => format.money(money)).join(" · ");
  const days = [
    period.from && `${texts.since} ${format.date(period.from)}`,
    period.to && `${texts.until} ${format.date(period.to)}`,
  ];
  return (
    <dl class="ends figures">
      <div>
        <dt>{texts.period}</dt>
        <dd>{days.filter(Boolean).join(" ")}</dd>
      </div>
      <div>
        <dt>{texts.before}</dt>
        <dd>{listed(ends.opening)}</dd>
      </div>
      <div>
        <dt>{texts.afterwards}</dt>
        <dd>{listed(ends.closing)}</dd>
      </div>
    </dl>
  );
}

interface EntriesProps extends Pick<RowsProps, "onReceipt" | "onReverse"> {
  readonly entries: StatementPage;
}

/** Rows that the browser lays out only when they come into sight, so many at once. */
const rowsTogether = 25;

/** One page of the statement. It is made once, however many come after it. */
function Entries({ entries, onReceipt, onReverse }: EntriesProps) {
  const { texts, format } = useApp();
  return useMemo(() => {
    const starts = Array.from(
      { length: Math.ceil(entries.length / rowsTogether) },
      (_, n) => n * rowsTogether,
    );
    return (
      <>
        {starts.map((start) => (
          <tbody key={start}>
            {entries.slice(start, start + rowsTogether).map((entry) => (
              <Row key={entry.id} {...{ entry, texts, format, onReceipt, onReverse }} />
            ))}
          </tbody>
        ))}
      </>
    );
  }, [entries, texts, format, onReverse]);
}

interface RowProps extends Omit<EntriesProps, "entries"> {
  readonly entry: EntryJson;
  readonly texts: Texts;
  readonly format: Format;
}

function Row({ entry, texts, format, onReceipt, onReverse }: RowProps) {
  const moved = movedBy(entry);
  const canReverse = "reversedBy" in entry && entry.reversedBy === null;
  const wasReversed = "reversedBy" in entry && entry.reversedBy !== null;
  const note = "note" in entry ? entry.note : "reason" in entry ? entry.reason : null;
  const kind = texts.kind[entry.kind];
  const time = format.time(entry.time);
  return (
    <tr class={wasReversed ? "reversed" : undefined}>
      <td>{time}</td>
      <td>
        {kind}
        {wasReversed && <span class="tag">{texts.reversed}</span>}
        {note !== null && <span class="note">{note}</span>}
      </td>
      <td class="number">{moved.out !== undefined && <Sum sign="−" money={moved.out} format={format} />}</td>
      <td class="number">{moved.in !== undefined && <Sum money={moved.in} format={format} />}</td>
      <td class="number">
        <button
          type="button"
          class="plain"
          aria-label={`${texts.showReceipt} ${time}`}
          onClick={() => onReceipt(entry)}
        >
          {texts.receipt}
        </button>
        {canReverse && onReverse !== undefined && (
          <button
            type="button"
            class="plain"
            aria-label={`${texts.reverse} ${time}`}
            onClick={() => onReverse(entry)}
          >
            {texts.reverse}
          </button>
        )}
      </td>
    </tr>
  );
}
