import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { EntryJson, StatementJson } from "../wire/entry-schemas.ts";
import type { AccountJson } from "../wire/schemas.ts";
import { useApp, useFailureText, useMay } from "./app.ts";
import { movedBy } from "./receipt.tsx";
import { Reversal } from "./reversal.tsx";
import { saveCsv } from "./statement-csv.ts";

interface StatementProps {
  readonly pesel: string;
  /** Changes when the account did. */
  readonly changes: number;
  readonly onReceipt: (entry: EntryJson) => void;
  readonly onDone: (account: AccountJson, receiptId: string) => Promise<void>;
}

const pageSize = 100;

/** An account's entries, newest first, more of them as one scrolls. */
export function Statement({ pesel, changes, onReceipt, onDone }: StatementProps) {
  const { api, texts } = useApp();
  const failureText = useFailureText();
  const mayReverse = useMay("operator");
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const [pages, setPages] = useState<readonly (readonly EntryJson[])[]>([]);
  const [next, setNext] = useState<string | null>();
  const [fault, setFault] = useState<string>();
  const [reversing, setReversing] = useState<EntryJson>();
  const end = useRef<HTMLDivElement>(null);
  const isLoading = useRef(false);

  const load = useCallback(
    async (cursor: string | undefined, signal?: AbortSignal) => {
      if (isLoading.current && cursor !== undefined) return;
      isLoading.current = true;
      try {
        const query = { limit: pageSize, from, to, cursor };
        const page = await api.get<StatementJson>(`api/user/${pesel}/history`, query, signal);
        setFault(undefined);
        setPages((before) => (cursor === undefined ? [page.entries] : [...before, page.entries]));
        setNext(page.next);
      } catch (failure) {
        if (!signal?.aborted) setFault(failureText(failure));
      } finally {
        isLoading.current = false;
      }
    },
    [pesel, from, to],
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
      { rootMargin: "600px" },
    );
    watcher.observe(end.current);
    return () => watcher.disconnect();
  }, [next, load]);

  return (
    <section class="card statement" data-key="statement" tabIndex={-1}>
      <div class="period">
        <label class="field">
          {texts.since}
          <input type="date" value={from} max={to} onInput={(event) => setFrom(event.currentTarget.value)} />
        </label>
        <label class="field">
          {texts.until}
          <input type="date" value={to} min={from} onInput={(event) => setTo(event.currentTarget.value)} />
        </label>
        <button
          type="button"
          onClick={() =>
            void saveCsv(api, pesel, { from, to }).catch((failure: unknown) => setFault(failureText(failure)))
          }
        >
          {texts.csv}
        </button>
        <button type="button" onClick={() => print()}>
          {texts.print}
        </button>
      </div>
      {fault !== undefined && <p role="alert">{fault}</p>}
      <table aria-label={texts.statement} class="entries">
        <caption>{texts.statement}</caption>
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
          <tbody key={index}>
            {entries.map((entry) => (
              <Row
                key={entry.id}
                entry={entry}
                onReceipt={onReceipt}
                onReverse={mayReverse ? setReversing : undefined}
              />
            ))}
          </tbody>
        ))}
      </table>
      {reversing !== undefined && (
        <Reversal entry={reversing} onDone={onDone} onClose={() => setReversing(undefined)} />
      )}
      <div ref={end} class="muted end" role="status">
        {pages.every((page) => page.length === 0) && next === null ? texts.noEntries : ""}
        {typeof next === "string" ? texts.loading : ""}
      </div>
    </section>
  );
}

interface RowProps {
  readonly entry: EntryJson;
  readonly onReceipt: (entry: EntryJson) => void;
  readonly onReverse: ((entry: EntryJson) => void) | undefined;
}

function Row({ entry, onReceipt, onReverse }: RowProps) {
  const { texts, format } = useApp();
  const moved = movedBy(entry);
  const canReverse = "reversedBy" in entry && entry.reversedBy === null;
  const wasReversed = "reversedBy" in entry && entry.reversedBy !== null;
  const time = format.time(entry.time);
  return (
    <tr class={wasReversed ? "reversed" : undefined}>
      <td>{time}</td>
      <td>{texts.kind[entry.kind]}</td>
      <td class="number">{moved.out === undefined ? "" : `−${format.money(moved.out)}`}</td>
      <td class="number">{moved.in === undefined ? "" : format.money(moved.in)}</td>
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
          <button type="button" class="plain" onClick={() => onReverse(entry)}>
            {texts.reverse}
          </button>
        )}
      </td>
    </tr>
  );
}
