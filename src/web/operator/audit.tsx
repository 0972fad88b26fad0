import type { AuditProgress } from "../../core/service.ts";
import type { AuditJson } from "../../wire/audit.ts";
import { isRefusal, NoAnswer } from "../answers.ts";
import { useApp, useFailureText } from "../app.ts";
import { Button, figures, Table, Tile } from "../elements.tsx";
import { findingText } from "../server-words.ts";
import { fill } from "../texts.ts";

/** Has the whole ledger recomputed, and shows what disagrees. */
export function Audit() {
  const { audit, texts } = useApp();
  const failureText = useFailureText();
  const { progress, end } = audit;
  // Whoever reads of a refused token has another one.
  const failed = (failure: unknown) =>
    failure instanceof NoAnswer || isRefusal(failure, "unauthorized") ? texts.cutOff : failureText(failure);
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
            onClick={() => void audit.run()}
          />
          {progress !== undefined && <Button label={texts.stop} onClick={() => audit.stop()} />}
        </div>
        {progress !== undefined && <Progress {...progress} />}
        {end === "stopped" && <p role="alert">{texts.auditStopped}</p>}
        {typeof end === "object" && "failure" in end && <p role="alert">{failed(end.failure)}</p>}
        {typeof end === "object" && "report" in end && <Report {...end} />}
      </section>
    </main>
  );
}

function Report({ report, seconds }: { readonly report: AuditJson; readonly seconds: number }) {
  const { format, texts } = useApp();
  return (
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
