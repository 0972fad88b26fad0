import type { ReadyJson } from "../wire/schemas.ts";
import { ProblemAnswer } from "./answers.ts";
import { useApp, useGet, useMay } from "./app.ts";
import { ageInDays } from "./format.ts";
import type { Read } from "./reads.ts";
import { Unread } from "./unread.tsx";

export type View = "counter" | "position" | "audit" | "batch";

interface HeaderProps {
  readonly view: View;
  readonly ratesRead: Read<unknown>;
  readonly onView: (view: View) => void;
  readonly onLanguage: () => void;
  readonly onLock: () => void;
}

export function Header({ view, ratesRead, onView, onLanguage, onLock }: HeaderProps) {
  const { caller, language, texts } = useApp();
  const isOperator = useMay("operator");
  const views: readonly View[] = isOperator ? ["counter", "position", "batch", "audit"] : ["counter"];
  return (
    <header>
      <a class="skip" href="#main">
        {texts.skip}
      </a>
      <div class="bar">
        <h1 class="brand">fx</h1>
        <TableInForce />
        <nav aria-label="fx">
          {views.length > 1 &&
            views.map((name) => (
              <button
                key={name}
                type="button"
                class="tab"
                aria-current={name === view ? "page" : undefined}
                onClick={() => onView(name)}
              >
                {texts[name]}
              </button>
            ))}
          <a href="docs">{texts.apiDocs}</a>
          <button type="button" class="plain" lang={language === "en" ? "pl" : "en"} onClick={onLanguage}>
            {texts.language}
          </button>
          {caller.name !== null && (
            <button type="button" class="plain" onClick={onLock}>
              {texts.lock}{" "}
              <span class="muted">
                {caller.name} · {texts.role[caller.role]}
              </span>
            </button>
          )}
        </nav>
      </div>
      {ratesRead.value !== undefined && <Unread read={ratesRead} />}
      <RatesBanner failure={ratesRead.failure} />
      <NoNewerTable />
    </header>
  );
}

/** Always in sight: which table, of when, and how old. */
function TableInForce() {
  const { rates, texts, format } = useApp();
  if (rates === undefined) return <p class="table-in-force" />;
  return (
    <p class="table-in-force">
      {texts.table} <strong>{rates.table}</strong> {texts.effective} {format.date(rates.effectiveDate)}
      <span class="muted"> · {format.days(ageInDays(rates.effectiveDate))}</span>
    </p>
  );
}

/** Why there is no newer table, in the server's own words: one is held back, or the source does not answer. */
function NoNewerTable() {
  const { texts } = useApp();
  const problem = useGet<ReadyJson>("health/ready").value?.rates.problem ?? undefined;
  return problem === undefined ? null : (
    <p class="banner warn">
      {texts.noNewerTable} <span lang="en">{problem}</span>
    </p>
  );
}

/** Whether orders are settled. Why they are not is said in the server's own words, which are English. */
function RatesBanner({ failure }: { readonly failure: unknown }) {
  const { rates, texts } = useApp();
  const refusal = failure instanceof ProblemAnswer ? failure.problem.detail : undefined;
  if (rates === undefined && failure === undefined) return null;
  if (rates?.tradable === true) {
    return rates.recorded ? <p class="banner">{texts.recordedRates}</p> : null;
  }
  return (
    <p class="banner warn">
      {rates === undefined ? texts.noRates : texts.staleRates}{" "}
      <span lang="en">{rates?.reason ?? refusal}</span>
    </p>
  );
}
