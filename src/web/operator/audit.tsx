import { useState } from "preact/hooks";
import type { AuditJson } from "../../wire/audit-schemas.ts";
import { useApp, useFailureText, useLatest } from "../app.ts";

/** Has the whole ledger recomputed, and shows what disagrees. */
export function Audit() {
  const { api, texts } = useApp();
  const failureText = useFailureText();
  const [runs, setRuns] = useState(0);
  const audit = useLatest<AuditJson>(runs === 0 ? undefined : (signal) => api.get("api/audit", {}, signal), [
    runs,
  ]);
  const report = audit.value;
  return (
    <main id="main" tabIndex={-1}>
      <section class="card">
        <h2>{texts.audit}</h2>
        <button type="button" class="primary" aria-busy={audit.isLoading} onClick={() => setRuns(runs + 1)}>
          {texts.runAudit}
        </button>
        {audit.isLoading && (
          <p role="status">
            {texts.auditRunning} <progress aria-label={texts.audit} />
          </p>
        )}
        {audit.failure !== undefined && <p role="alert">{failureText(audit.failure)}</p>}
        {report !== undefined && !audit.isLoading && (
          <>
            <p role="status" class={report.findings.length === 0 ? "good" : "bad"}>
              {report.findings.length === 0 ? texts.auditClean : texts.auditFindings}
            </p>
            <dl class="facts">
              <div>
                <dt>{texts.accountsRead}</dt>
                <dd class="figures">{report.accounts}</dd>
              </div>
              <div>
                <dt>{texts.entriesRead}</dt>
                <dd class="figures">{report.entries}</dd>
              </div>
            </dl>
            <ul>
              {report.findings.map((finding) => (
                <li key={`${finding.account} ${finding.entry} ${finding.problem}`}>
                  {finding.account} {finding.entry} {finding.problem}: {finding.recorded} /{" "}
                  {finding.recomputed}
                </li>
              ))}
            </ul>
          </>
        )}
      </section>
    </main>
  );
}
