import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { EntryJson, StatementJson } from "../wire/entry-schemas.ts";
import type { AccountJson, MoneyJson } from "../wire/schemas.ts";
import { movedBy } from "../wire/statement-csv.ts";
import { useApp, useFailureText, useMay } from "./app.ts";
import { type Format, groupedPesel } from "./format.ts";
import { printOnly } from "./print.ts";
import { Reversal } from "./reversal.tsx";
import { allEntries, type Period, saveCsv } from "./statement-csv.ts";
import { Sum } from "./sum.tsx";
import type { Texts } from "./texts.ts";

interface StatementProps {
  readonly account: AccountJson;
  /** Changes when the account did. */
  readonly changes: number;
  readonly onReceipt: (entry: EntryJson) => void;
  readonly onDone: (account: AccountJson, receiptId: string) => Promise<void>;
}

type Page = readonly EntryJson[];
type Ends = Pick<StatementJson, "opening" | "closing">;

const pageSize = 100;
/** Whoever goes past the first page goes far. */
const nextSize = 500;

/** An account's entries, newest first, more of them as one scrolls. */
export function Statement({ account, changes, onReceipt, onDone }: StatementProps) {
  const { api, texts } = useApp();
  const { pesel } = account;
  const failureText = useFailureText();
  const mayReverse = useMay("operator");
  const [period, setPeriod] = useState<Period>({ from: "", to: "" });
  const [pages, setPages] = useState<readonly Page[]>([]);
  const [ends, setEnds] = useState<Ends>();
  const [next, setNext] = useState<string | null>();
  const [fault, setFault] = useState<string>();
  const [isGathering, setGathering] = useState(false);
  const [reversing, setReversing] = useState<EntryJson>();
  const end = useRef<HTMLDivElement>(null);
  const isLoading = useRef(false);

  const load = useCallback(
    async (cursor: string | undefined, signal?: AbortSignal) => {
      if (isLoading.current && cursor !== undefined) return;
      isLoading.current = true;
      try {
        const query = { limit: cursor === undefined ? pageSize : nextSize, ...period, cursor };
        const page = await api.get<StatementJson>(`api/user/${pesel}/history`, query, signal);
        setFault(undefined);
        if (cursor === undefined) setEnds(page);
        setPages((before) => (cursor === undefined ? [page.entries] : [...before, page.entries]));
        setNext(page.next);
      } catch (failure) {
        if (!signal?.aborted) setFault(failureText(failure));
      } finally {
        isLoading.current = false;
      }
    },
    [pesel, period],
  );
  useEffect(() => {
    const control = new AbortController();
    void load(undefined, control.signal);
    return () => control.abort();
  }, [load, changes]);
  useEffect(() => {
    if (end.current === null || typeof next !== "string") return undefined;
    const watcher = new IntersectionObserver(
      ([seen]) => {
        if (seen?.isIntersecting) void load(next);
      },
      { rootMargin: "900px" },
    );
    watcher.observe(end.current);
    return () => watcher.disconnect();
  }, [next, load]);

  /** Does what needs all entries of the period. */
  const gather = async (work: () => Promise<void>) => {
    if (isGathering) return;
    setGathering(true);
    setFault(undefined);
    try {
      await work();
    } catch (failure) {
      setFault(failureText(failure));
    } finally {
      setGathering(false);
    }
  };
  const printAll = async () => {
    if (typeof next === "string") {
      const entries = await allEntries(api, pesel, period);
      const starts = Array.from(
        { length: Math.ceil(entries.length / pageSize) },
        (_, page) => page * pageSize,
      );
      setPages(starts.map((start) => entries.slice(start, start + pageSize)));
      setNext(null);
    }
    await printOnly("statement");
  };

  const reverse = mayReverse ? setReversing : undefined;
  const isPeriod = period.from !== "" || period.to !== "";
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
            onInput={({ currentTarget }) => setPeriod({ ...period, from: currentTarget.value })}
          />
        </label>
        <label class="field">
          {texts.until}
          <input
            type="date"
            value={period.to}
            min={period.from}
            onInput={({ currentTarget }) => setPeriod({ ...period, to: currentTarget.value })}
          />
        </label>
        <button
          type="button"
          aria-busy={isGathering}
          onClick={() => void gather(() => saveCsv(api, pesel, period))}
        >
          {texts.csv}
        </button>
        <button type="button" aria-busy={isGathering} onClick={() => void gather(printAll)}>
          {texts.print}
        </button>
      </div>
      {fault !== undefined && <p role="alert">{fault}</p>}
      {reversing !== undefined && (
        <Reversal
          key={reversing.id}
          entry={reversing}
          onDone={onDone}
          onClose={() => setReversing(undefined)}
        />
      )}
      {isPeriod && ends !== undefined && <PeriodEnds period={period} ends={ends} />}

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
        {pages.map((entries, index) => (
          <Entries key={index} entries={entries} onReceipt={onReceipt} onReverse={reverse} />
        ))}
      </table>
      <div ref={end} class="muted end" role="status">
        {pages.every((page) => page.length === 0) && next === null ? texts.noEntries : ""}
        {typeof next === "string" ? texts.loading : ""}
      </div>
    </section>
  );
}

/** The days that were asked for, and what was on the account before and after them. */
function PeriodEnds({ period, ends }: { readonly period: Period; readonly ends: Ends }) {
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

interface EntriesProps {
  readonly entries: Page;
  readonly onReceipt: (entry: EntryJson) => void;
  readonly onReverse: ((entry: EntryJson) => void) | undefined;
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
