import { useState } from "preact/hooks";
import { parseHead } from "../../core/checkpoint.ts";
import type { AuditProgress } from "../../core/service.ts";
import type { AuditJson, CheckpointStart } from "../../wire/audit.ts";
import { NoAnswer } from "../answers.ts";
import type { Api } from "../api.ts";
import { useApp, useFailureText, useTask } from "../app.ts";
import { Button, figures, Table, Tile } from "../elements.tsx";
import type { Read } from "../reads.ts";
import { findingText } from "../server-words.ts";
import { fill } from "../texts.ts";

const unread: AuditProgress = { accounts: 0, entries: 0, totalEntries: 0 };
/** The shortest time between two updates of the screen, as chunks come faster. */
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

export function useAudit(api: Api): AuditJob {
  const task = useTask<{ readonly report: AuditJson; readonly seconds: number }>();
  const [isStopped, setStopped] = useState(false);
  const [progress, setProgress] = useState(unread);
  const run = () => {
    if (task.isLoading) return;
    setStopped(false);
    setProgress(unread);
    task.run(async (signal) => {
      const began = performance.now();
      let shown = began;
      const report = await audit(api.copy(), signal, (done) => {
        if (signal.aborted || performance.now() - shown < showEveryMs) return;
        shown = performance.now();
        setProgress(done);
      });
      return { report, seconds: (performance.now() - began) / 1000 };
    });
  };
  const stop = () => {
    task.stop();
    setStopped(true);
  };
  return { progress: task.isLoading ? progress : undefined, read: task, isStopped, run, stop };
}

/** Has the whole ledger recomputed, and shows what disagrees. */
export function Audit({ job }: { readonly job: AuditJob }) {
  const { format, texts } = useApp();
  const failureText = useFailureText();
  const { progress, isStopped } = job;
  const { value, failure } = job.read;
  const { report, seconds = 0 } = value ?? {};
  const failed = () => (failure instanceof NoAnswer ? texts.cutOff : failureText(failure));
  const told = isStopped ? texts.auditStopped : failure === undefined ? undefined : failed();

  return (
    <main id="main" tabIndex={-1}>
      <section class="card audit">
        <h2>{texts.audit}</h2>
        <p class="muted">{texts.auditIntro}</p>
        <div class="actions">
          <Button
            label={texts.runAudit}
            class="primary"
            aria-busy={progress !== undefined}
            onClick={job.run}
          />
          {progress !== undefined && <Button label={texts.stop} onClick={job.stop} />}
        </div>
        {progress !== undefined && <Progress {...progress} />}
        {told !== undefined && <p role="alert">{told}</p>}
        {report !== undefined && (
          <>
            <p role="status" class={report.ok ? "verdict good" : "verdict bad"}>
              {report.ok ? texts.auditClean : texts.auditFindings}
            </p>
            <dl class="tiles">
              <Tile label={texts.accountsRead} value={format.count(report.accounts)} />
              <Tile label={texts.entriesRead} value={format.count(report.entries)} />
              <Tile label={texts.findings} value={format.count(report.findingsTotal)} isBad={!report.ok} />
              <Tile label={texts.took} value={format.seconds(seconds)} />
            </dl>
            <Findings report={report} />
            <dl>
              <dt class="muted">{texts.digest}</dt>
              <dd>
                <code>{report.digest}</code>
              </dd>
            </dl>
            <p class="muted">{texts.digestHint}</p>
          </>
        )}
      </section>
    </main>
  );
}

function Progress({ accounts, entries, totalEntries }: AuditProgress) {
  const { format, texts } = useApp();
  const isKnown = totalEntries > 0;
  const read = format.count(entries);
  const entriesRead = isKnown ? fill(texts.ofAbout, read, format.count(totalEntries)) : read;
  return (
    <div class="progress">
      <p role="status">{texts.auditRunning}</p>
      <progress
        aria-label={texts.audit}
        max={isKnown ? totalEntries : 1}
        value={isKnown ? Math.min(entries, totalEntries) : undefined}
      />
      <p class="figures">{fill(texts.auditProgress, entriesRead, format.count(accounts))}</p>
    </div>
  );
}

function Findings({ report: { findings, findingsTotal } }: { readonly report: AuditJson }) {
  const { language, texts } = useApp();
  const found = (words: string) => findingText(words, language);
  if (findings.length === 0) return null;
  return (
    <div class="wide">
      <Table
        class="findings"
        caption={texts.findings}
        columns={[
          { label: texts.account, class: "figures" },
          figures(texts.entry),
          texts.problem,
          { label: texts.recorded, class: "long-text" },
          { label: texts.recomputed, class: "long-text" },
        ]}
        rows={findings.map(({ account, entry, problem, recorded, recomputed }) => ({
          key: `${account} ${entry} ${problem}`,
          cells: [account, entry ?? "–", found(problem), found(recorded), found(recomputed)],
        }))}
      />
      {findings.length < findingsTotal && <p class="muted">{texts.shown}</p>}
    </div>
  );
}

/**
 * Has the server audit, as a checkpoint: that comes as the accounts are read, and so tells how far it is.
 * @throws NoAnswer if its end is missing
 */
async function audit(
  api: Api,
  signal: AbortSignal,
  onProgress: (done: AuditProgress) => void,
): Promise<AuditJson> {
  let start: CheckpointStart | undefined;
  let last = "";
  let done = { accounts: 0, entries: 0 };
  for await (const lines of api.lines("api/audit/checkpoint", signal)) {
    for (const line of lines) {
      const head = parseHead(line);
      if (head !== undefined) done = { accounts: done.accounts + 1, entries: done.entries + head.entries };
      else if (start === undefined) start = JSON.parse(line) as CheckpointStart;
      else last = line;
    }
    onProgress({ ...done, totalEntries: start?.entries ?? 0 });
  }
  if (last === "") throw new NoAnswer();
  return JSON.parse(last) as AuditJson;
}
