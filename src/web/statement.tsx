import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { housePlaceOf } from "../core/house.ts";
import { longestPage } from "../core/service.ts";
import type { AccountJson } from "../wire/accounts.ts";
import type { EntryJson, StatementJson } from "../wire/entries.ts";
import type { MoneyJson } from "../wire/fields.ts";
import { isOfBlock, movedBy, noteOf } from "../wire/statement-csv.ts";
import { urlOf } from "./answers.ts";
import { type App, useApp, useGet, useMay, useTask } from "./app.ts";
import { Download } from "./download.tsx";
import { Button, Columns, Facts, figures, ReadState, Sum } from "./elements.tsx";
import { PeriodFields } from "./field.tsx";
import { groupedPesel } from "./format.ts";
import { Letterhead, Signatures } from "./paper.tsx";
import { endsBeforeItBegins, type TypedPeriod } from "./period.ts";
import { printOnly } from "./print.ts";
import { accountUrl, reversal } from "./requests.ts";
import { saveFile } from "./save.ts";
import { statementCsv, wholeStatement } from "./statement-csv.ts";
import { fill, holderText } from "./texts.ts";

export const pageSize = 100;

/**
 * An account's entries, newest first; more are read as one scrolls. The balances above them, what is printed and what is
 * saved are those of the period that is typed.
 */
export function Statement({ account }: { readonly account: AccountJson }) {
  const { api, texts, format, language } = useApp();
  const { pesel } = account;
  const holder = holderText(account, texts);
  const ofHouse = housePlaceOf(pesel) !== undefined;
  const path = `${accountUrl(pesel)}/history`;
  const [period, setPeriod] = useState<TypedPeriod>({ from: "", to: "" });
  const isRead = !endsBeforeItBegins(period);
  const first = useGet<StatementJson>(isRead ? path : undefined, { limit: pageSize, ...period });
  /** All entries of the period, read anew for each click. */
  const question = JSON.stringify(period);
  const printed = useTask<StatementJson>(question);
  const saved = useTask<StatementJson>(question);
  const gather = (signal: AbortSignal) => wholeStatement(api, path, period, signal);
  const save = ({ entries }: StatementJson) => {
    const name = fill(texts.statementFile, holder, "csv");
    saveFile(name, "text/csv", statementCsv(entries, language));
  };
  useEffect(() => {
    if (printed.value !== undefined) printOnly("statement", printed.stop);
  }, [printed.value]);
  const shown = printed.value ?? first.value;
  const asOf = printed.time ?? first.time;
  const receipts = <span class="hidden">{texts.receipt}</span>;
  const isPeriod = period.from !== "" || period.to !== "";
  return (
    <section class="card statement" data-key="statement" tabIndex={-1}>
      <Letterhead />
      <p class="on-paper">
        <strong>{texts.statement}</strong> ·{" "}
        {[holder, groupedPesel(pesel), asOf && fill(texts.readAt, format.time(asOf.toISOString()))]
          .filter(Boolean)
          .join(" · ")}
      </p>
      <div class="period">
        <h3>{texts.statement}</h3>
        <PeriodFields period={period} onPeriod={setPeriod} />
        {isRead && (
          <>
            <Button label={texts.csv} aria-busy={saved.isLoading} onClick={() => saved.run(gather, save)} />
            {!ofHouse && <Downloads account={account} period={period} />}
            <Button label={texts.print} aria-busy={printed.isLoading} onClick={() => printed.run(gather)} />
          </>
        )}
      </div>
      <ReadState read={[printed, saved].find(({ failure }) => failure !== undefined) ?? first} />
      {isPeriod && shown !== undefined && <PeriodEnds period={period} ends={shown} />}

      <table aria-label={texts.statement} class="entries">
        <Columns of={[texts.time, texts.entry, figures(texts.out), figures(texts.in), { label: receipts }]} />
        {shown !== undefined && <Entries pesel={pesel} entries={shown.entries} />}
        {shown?.next != null && (
          <LaterPages
            key={`${period.from} ${period.to} ${shown.next}`}
            {...{ pesel, path, period, cursor: shown.next }}
          />
        )}
      </table>
      <Signatures ofHouse={ofHouse} />
      <p class="muted end" role="status">
        {shown?.entries.length === 0 ? texts.noEntries : ""}
      </p>
    </section>
  );
}

/** Files that the server makes: the statement for accounting programs, and all data of the person. */
function Downloads({ account, period }: { readonly account: AccountJson; readonly period: TypedPeriod }) {
  const { texts } = useApp();
  const isOperator = useMay("operator");
  const path = accountUrl(account.pesel);
  const holder = `${account.name} ${account.surname}`;
  return (
    <>
      <Download
        label={texts.camt}
        url={urlOf(`${path}/statement`, { format: "camt.053", ...period })}
        name={fill(texts.statementFile, holder, "xml")}
        type="application/xml"
      />
      {isOperator && (
        <Download
          label={texts.savePersonalData}
          url={`${path}/export`}
          name={fill(texts.personalDataFile, holder)}
          type="application/json"
        />
      )}
    </>
  );
}

interface LaterPagesProps {
  readonly pesel: string;
  readonly path: string;
  readonly period: TypedPeriod;
  readonly cursor: string;
}

/** The pages from a cursor on, each read when the reader comes near the end of those before it. */
function LaterPages({ pesel, path, period, cursor }: LaterPagesProps) {
  const { texts } = useApp();
  const [pages, setPages] = useState<readonly StatementJson[]>([]);
  const [isNear, setNear] = useState(false);
  const end = useRef<HTMLTableSectionElement>(null);
  const last = pages.at(-1);
  const next = last === undefined ? cursor : last.next;
  const query = { limit: longestPage, ...period, cursor: next ?? undefined };
  const page = useGet<StatementJson>(isNear && next !== null ? path : undefined, query);
  useEffect(() => {
    if (page.value !== undefined) setPages([...pages, page.value]);
  }, [page.value]);
  useEffect(() => {
    if (end.current === null) return undefined;
    // A busy browser tells of several observations at once, the newest last.
    const watcher = new IntersectionObserver((seen) => setNear(seen.at(-1)?.isIntersecting === true), {
      rootMargin: "900px",
    });
    watcher.observe(end.current);
    return () => watcher.disconnect();
  }, []);
  return (
    <>
      {pages.map(({ entries }) => (
        <Entries key={entries[0]?.id} pesel={pesel} entries={entries} />
      ))}
      <tfoot ref={end} hidden={next === null}>
        <tr>
          <td>{page.failure === undefined ? texts.loading : <ReadState read={page} />}</td>
        </tr>
      </tfoot>
    </>
  );
}

/** The days that were asked for, and what was on the account before and after them. */
function PeriodEnds({ period, ends }: { readonly period: TypedPeriod; readonly ends: StatementJson }) {
  const { texts, format } = useApp();
  const listed = (balances: readonly MoneyJson[] | null) =>
    balances === null || balances.length === 0
      ? "–"
      : balances.map((money) => format.money(money)).join(" · ");
  const days = [
    ...(period.from === "" ? [] : [fill(texts.sinceDay, format.date(period.from))]),
    ...(period.to === "" ? [] : [fill(texts.untilDay, format.date(period.to))]),
  ];
  return (
    <Facts
      class="ends figures"
      of={[
        [texts.period, days.join(" ")],
        [texts.before, listed(ends.opening)],
        [texts.afterwards, listed(ends.closing)],
      ]}
    />
  );
}

interface EntriesProps {
  readonly pesel: string;
  readonly entries: readonly EntryJson[];
}

/** Number of rows in one group; the browser lays out a group when it comes into sight. */
const rowsTogether = 25;

/** One page of the statement. It is made once, however many come after it. */
function Entries({ pesel, entries }: EntriesProps) {
  const { desk, texts, format } = useApp();
  const isOut = desk.isOut(pesel);
  const mayReverse = useMay("operator") && !isOut;
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
              <Row key={entry.id} {...{ pesel, entry, desk, texts, format, mayReverse }} />
            ))}
          </tbody>
        ))}
      </>
    );
  }, [entries, texts, format, mayReverse]);
}

interface RowProps extends Pick<App, "desk" | "texts" | "format"> {
  readonly pesel: string;
  readonly entry: EntryJson;
  readonly mayReverse: boolean;
}

function Row({ pesel, entry, desk, texts, format, mayReverse }: RowProps) {
  const moved = movedBy(entry);
  const canReverse = "reversedBy" in entry && entry.reversedBy === null;
  const wasReversed = "reversedBy" in entry && entry.reversedBy !== null;
  const note = noteOf(entry);
  const kind = texts.kind[entry.kind];
  const sums = [moved.out, moved.in].flatMap((money) => (money === undefined ? [] : format.money(money)));
  const time = format.time(entry.time);
  const after = entry.currencies.filter(({ symbol }) =>
    [moved.out, moved.in].some((money) => money?.symbol === symbol),
  );
  return (
    <tr class={wasReversed ? "reversed" : undefined}>
      <td>
        {time}
        <span class="note on-paper">{fill(texts.entryNumber, format.count(entry.sequence))}</span>
      </td>
      <td>
        {kind}
        {wasReversed && <span class="tag">{texts.reversed}</span>}
        {note !== null && <span class={isOfBlock(entry) ? "note off-paper" : "note"}>{note}</span>}
        {after.length > 0 && (
          <span class="note on-paper">
            {texts.balancesAfter}: {after.map((money) => format.money(money)).join(", ")}
          </span>
        )}
      </td>
      <td class="number">{moved.out !== undefined && <Sum sign="−" money={moved.out} format={format} />}</td>
      <td class="number">{moved.in !== undefined && <Sum money={moved.in} format={format} />}</td>
      <td class="number">
        <Button
          label={texts.receipt}
          class="plain"
          aria-label={fill(texts.receiptOf, time)}
          onClick={() => desk.tell(pesel, { is: "shows receipt", receiptId: entry.id })}
        />
        {canReverse && mayReverse && (
          <Button
            label={texts.reverse}
            class="plain"
            aria-label={fill(texts.reverseOf, [kind, ...sums, time].join(", "))}
            onClick={() => void desk.ask(pesel, reversal(pesel, entry))}
          />
        )}
      </td>
    </tr>
  );
}
