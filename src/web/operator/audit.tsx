import { useEffect, useRef, useState } from "preact/hooks";
import type { AuditJson } from "../../wire/audit-schemas.ts";
import { NoAnswer } from "../api.ts";
import { useApp, useFailureText } from "../app.ts";
import { type AuditProgress, audit } from "./audit-run.ts";
import { operatorTexts } from "./operator-texts.ts";
import { Tile } from "./tile.tsx";

interface State {
  /** Undefined unless it runs. */
  readonly progress: AuditProgress | undefined;
  readonly report: AuditJson | undefined;
  readonly seconds: number;
  readonly fault: string | undefined;
}

const start: State = { progress: undefined, report: undefined, seconds: 0, fault: undefined };
/** The screen need not show each chunk. */
const showEveryMs = 100;

/** Has the whole ledger recomputed, and shows what disagrees. */
export function Audit() {
  const { api, texts, format, language } = useApp();
  const own = operatorTexts[language];
  const failureText = useFailureText();
  const [{ progress, report, seconds, fault }, setState] = useState(start);
  const control = useRef<AbortController | undefined>(undefined);
  const number = (value: number) => format.decimal(String(value));
  useEffect(() => () => control.current?.abort(), []);

  const run = async () => {
    if (progress !== undefined) return;
    control.current = new AbortController();
    const { signal } = control.current;
    const began = performance.now();
    let shown = began;
    setState({ ...start, progress: { accounts: 0, entries: 0, totalEntries: 0 } });
    try {
      const found = await audit(api, signal, (done) => {
        if (performance.now() - shown < showEveryMs || signal.aborted) return;
        shown = performance.now();
        setState({ ...start, progress: done });
      });
      setState({ ...start, report: found, seconds: (performance.now() - began) / 1000 });
    } catch (failure) {
      const told = signal.aborted
        ? own.stopped
        : failure instanceof NoAnswer
          ? own.cutOff
          : failureText(failure);
      setState({ ...start, fault: told });
    }
  };

  return (
    <main id="main" tabIndex={-1}>
      <section class="card audit">
        <h2>{texts.audit}</h2>
        <p class="muted">{own.auditIntro}</p>
        <div class="actions">
          <button type="button" class="primary" aria-busy={progress !== undefined} onClick={() => void run()}>
            {texts.runAudit}
          </button>
          {progress !== undefined && (
            <button type="button" onClick={() => control.current?.abort()}>
              {own.stop}
            </button>
          )}
        </div>
        {progress !== undefined && <Progress {...progress} />}
        {fault !== undefined && <p role="alert">{fault}</p>}
        {report !== undefined && (
          <>
            <p role="status" class={report.ok ? "verdict good" : "verdict bad"}>
              {report.ok ? texts.auditClean : texts.auditFindings}
            </p>
            <dl class="tiles">
              <Tile label={texts.accountsRead} value={number(report.accounts)} />
              <Tile label={texts.entriesRead} value={number(report.entries)} />
              <Tile label={own.findings} value={number(report.findingsTotal)} isBad={!report.ok} />
              <Tile label={own.took} value={`${format.amount(seconds, "PLN")} s`} />
            </dl>
            <Findings report={report} />
            <dl class="digest">
              <dt class="muted">{texts.digest}</dt>
              <dd>
                <code>{report.digest}</code>
              </dd>
            </dl>
            <p class="muted">{own.digestHint}</p>
          </>
        )}
      </section>
    </main>
  );
}

function Progress({ accounts, entries, totalEntries }: AuditProgress) {
  const { texts, format, language } = useApp();
  const own = operatorTexts[language];
  const number = (value: number) => format.decimal(String(value));
  const isKnown = totalEntries > 0;
  return (
    <div class="progress">
      <p role="status">{texts.auditRunning}</p>
      <progress
        aria-label={texts.audit}
        max={isKnown ? totalEntries : 1}
        value={isKnown ? Math.min(entries, totalEntries) : undefined}
      />
      <p class="figures">
        {texts.entriesRead}: {number(entries)}
        {isKnown && ` ${own.of} ${number(totalEntries)}`} · {texts.accountsRead}: {number(accounts)}
      </p>
    </div>
  );
}

function Findings({ report: { findings, findingsTotal } }: { readonly report: AuditJson }) {
  const { language } = useApp();
  const own = operatorTexts[language];
  if (findings.length === 0) return null;
  return (
    <div class="wide">
      <table class="findings">
        <caption>{own.findings}</caption>
        <thead>
          <tr>
            <th scope="col">{own.account}</th>
            <th scope="col" class="number">
              {own.entry}
            </th>
            <th scope="col">{own.problem}</th>
            <th scope="col">{own.recorded}</th>
            <th scope="col">{own.recomputed}</th>
          </tr>
        </thead>
        <tbody>
          {findings.map(({ account, entry, problem, recorded, recomputed }) => (
            <tr key={`${account} ${entry} ${problem}`}>
              <td class="figures">{account}</td>
              <td class="number">{entry ?? "–"}</td>
              <td>{problem}</td>
              <td class="long-text">{recorded}</td>
              <td class="long-text">{recomputed}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {findings.length < findingsTotal && <p class="muted">{own.shown}</p>}
    </div>
  );
}
