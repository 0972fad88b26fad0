import { useState } from "preact/hooks";
import type { AuditProgress } from "../../core/service.ts";
import type { AuditJson } from "../../wire/audit-schemas.ts";
import { NoAnswer } from "../answers.ts";
import type { Api } from "../api.ts";
import { useApp, useFailureText, useRead } from "../app.ts";
import type { Read, Reads } from "../reads.ts";
import { audit } from "./audit-run.ts";
import { operatorTexts } from "./operator-texts.ts";
import { Tile } from "./tile.tsx";

const unread: AuditProgress = { accounts: 0, entries: 0, totalEntries: 0 };
/** The screen need not show each chunk. */
const showEveryMs = 100;

/** The audit that is under way, or was the last. It goes on while its view is closed, or the page locked. */
export interface AuditJob {
  /** Undefined unless it runs. */
  readonly progress: AuditProgress | undefined;
  readonly read: Read<{ readonly report: AuditJson; readonly seconds: number }>;
  readonly isStopped: boolean;
  run(): void;
  stop(): void;
}

export function useAudit(api: Api, reads: Reads): AuditJob {
  const [nth, setNth] = useState(0);
  const [isAsked, setAsked] = useState(false);
  const [progress, setProgress] = useState(unread);
  const read = useRead(reads, isAsked ? `audit ${nth}` : undefined, async (signal) => {
    const began = performance.now();
    let shown = began;
    const report = await audit(api.copy(), signal, (done) => {
      if (signal.aborted || performance.now() - shown < showEveryMs) return;
      shown = performance.now();
      setProgress(done);
    });
    return { report, seconds: (performance.now() - began) / 1000 };
  });
  const run = () => {
    if (read.isLoading) return;
    setProgress(unread);
    setNth(nth + 1);
    setAsked(true);
  };
  return {
    progress: read.isLoading ? progress : undefined,
    read,
    isStopped: nth > 0 && !isAsked,
    run,
    stop: () => setAsked(false),
  };
}

/** Has the whole ledger recomputed, and shows what disagrees. */
export function Audit({ job }: { readonly job: AuditJob }) {
  const { texts, format, language } = useApp();
  const own = operatorTexts[language];
  const failureText = useFailureText();
  const { progress, isStopped } = job;
  const { value, failure } = job.read;
  const { report, seconds = 0 } = value ?? {};
  const number = (value: number) => format.decimal(String(value));
  const failed = () => (failure instanceof NoAnswer ? own.cutOff : failureText(failure));
  const told = isStopped ? own.stopped : failure === undefined ? undefined : failed();

  return (
    <main id="main" tabIndex={-1}>
      <section class="card audit">
        <h2>{texts.audit}</h2>
        <p class="muted">{own.auditIntro}</p>
        <div class="actions">
          <button type="button" class="primary" aria-busy={progress !== undefined} onClick={job.run}>
            {texts.runAudit}
          </button>
          {progress !== undefined && (
            <button type="button" onClick={job.stop}>
              {own.stop}
            </button>
          )}
        </div>
        {progress !== undefined && <Progress {...progress} />}
        {told !== undefined && <p role="alert">{told}</p>}
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
