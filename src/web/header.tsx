import { FxError } from "../core/errors.ts";
import type { RatesJson } from "../wire/rates.ts";
import { includes, type Role } from "../wire/role.ts";
import type { ReadyJson } from "../wire/server.ts";
import { useApp, useGet, useMay } from "./app.ts";
import { Button, Unread } from "./elements.tsx";
import { ageInDays } from "./format.ts";
import { Resume } from "./operator/trading.tsx";
import type { Read } from "./reads.ts";
import { noNewerTableText, notTradedText } from "./server-words.ts";
import { fill } from "./texts.ts";

export type View = "counter" | "position" | "till" | "audit" | "batch";

/** The views that a role may have, in the order of their tabs. */
export function viewsOf(role: Role): readonly View[] {
  if (includes(role, "operator")) return ["counter", "till", "position", "batch", "audit"];
  return includes(role, "teller") ? ["counter", "till"] : ["counter"];
}

interface HeaderProps {
  readonly view: View;
  readonly ratesRead: Read<unknown>;
  readonly onView: (view: View) => void;
  readonly onLanguage: () => void;
  readonly onLock: () => void;
}

export function Header({ view, ratesRead, onView, onLanguage, onLock }: HeaderProps) {
  const { caller, language, texts } = useApp();
  const views = viewsOf(caller.role);
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
              <Button
                label={texts[name]}
                key={name}
                class="tab"
                aria-current={name === view ? "page" : undefined}
                onClick={() => onView(name)}
              />
            ))}
          <a href="docs">{texts.apiDocs}</a>
          <Button
            label={texts.language}
            class="plain"
            lang={language === "en" ? "pl" : "en"}
            onClick={onLanguage}
          />
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
      <TokenExpiry />
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
      {fill(texts.tableOf, rates.table, format.date(rates.effectiveDate))}
      <span class="muted"> · {format.days(ageInDays(rates.effectiveDate))}</span>
    </p>
  );
}

const dayMs = 86_400_000;

/** Announces a day before that the token expires. */
function TokenExpiry() {
  const { caller, texts, format } = useApp();
  const { expires } = caller;
  if (expires === null || Date.parse(expires) - Date.now() > dayMs) return null;
  return <p class="banner warn">{fill(texts.tokenExpires, format.time(expires))}</p>;
}

/** Why there is no newer table: one is held back, or the source does not answer. */
function NoNewerTable() {
  const { language, texts } = useApp();
  const { problem, heldBack } = useGet<ReadyJson>("health/ready").value?.rates ?? {};
  if (problem == null) return null;
  return (
    <p class="banner warn">
      {fill(texts.noNewerTable, noNewerTableText(problem, heldBack ?? null, language))}
    </p>
  );
}

/** Why trading is suspended, with the button that resumes it for an operator. */
function Suspended({ reason, by, since }: NonNullable<RatesJson["suspension"]>) {
  const { texts, format } = useApp();
  const isOperator = useMay("operator");
  return (
    <p class="banner warn">
      {by === null
        ? fill(texts.suspendedSince, format.time(since), reason)
        : fill(texts.suspendedBy, format.time(since), by, reason)}
      {isOperator && <Resume />}
    </p>
  );
}

/** Whether orders are settled, and why they are not. */
function RatesBanner({ failure }: { readonly failure: unknown }) {
  const { language, rates, texts } = useApp();
  if (rates === undefined) {
    const detail = failure instanceof FxError ? failure.message : "";
    return failure === undefined ? null : <p class="banner warn">{fill(texts.noRates, detail)}</p>;
  }
  const { tradable, recorded, reason, reasonCode, suspension } = rates;
  if (suspension) return <Suspended {...suspension} />;
  if (tradable || reasonCode === null) return recorded ? <p class="banner">{texts.recordedRates}</p> : null;
  return (
    <p class="banner warn">{fill(texts.notTraded, notTradedText(reasonCode, reason ?? "", language))}</p>
  );
}
