import type { FxError } from "../core/errors.ts";
import type { RatesJson } from "../wire/rates.ts";
import type { ReadyJson } from "../wire/server.ts";
import { isRefusal } from "./answers.ts";
import { useApp, useFailureText, useGet, useMay } from "./app.ts";
import { Button, LanguageButton, ReadState } from "./elements.tsx";
import { ageInDays } from "./format.ts";
import { ChangeTrading } from "./operator/trading.tsx";
import { viewsOf } from "./place.ts";
import type { Read } from "./reads.ts";
import { noNewerTableText, notTradedText } from "./server-words.ts";
import { fill } from "./texts.ts";

interface HeaderProps {
  readonly ratesRead: Read<unknown>;
  readonly onLanguage: () => void;
  readonly onLock: () => void;
}

export function Header({ ratesRead, onLanguage, onLock }: HeaderProps) {
  const { caller, language, texts, place, go } = useApp();
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
                aria-current={name === place.view ? "page" : undefined}
                onClick={() => go({ view: name })}
              />
            ))}
          <a href="docs" target="_blank" rel="noreferrer">
            {texts.apiDocs}
          </a>
          <LanguageButton {...{ texts, language }} onClick={onLanguage} />
          {caller.name !== null && (
            <button type="button" class="plain" onClick={onLock}>
              {texts.lock}{" "}
              <span class="muted">
                · {caller.name} ({texts.role[caller.role]})
              </span>
            </button>
          )}
        </nav>
      </div>
      <Banners ratesRead={ratesRead} />
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

/** Notices before the next order: of the token, the rates and their source. */
function Banners({ ratesRead }: { readonly ratesRead: Read<unknown> }) {
  const { caller, language, texts, format } = useApp();
  const { problem, heldBack = null } = useGet<ReadyJson>("health/ready").value?.rates ?? {};
  const { expires } = caller;
  const noNewer = problem != null && noNewerTableText(problem, heldBack, language);
  return (
    <>
      {expires !== null && Date.parse(expires) - Date.now() <= dayMs && (
        <p class="banner warn">{fill(texts.tokenExpires, format.time(expires))}</p>
      )}
      {ratesRead.value !== undefined && <ReadState read={ratesRead} />}
      <RatesBanner failure={ratesRead.failure} />
      {noNewer && <p class="banner warn">{fill(texts.noNewerTable, noNewer)}</p>}
    </>
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
        : fill(texts.suspendedBy, format.time(since), by, reason)}{" "}
      {isOperator && <ChangeTrading kind="resumption" />}
    </p>
  );
}

/** Whether orders are settled, and why they are not. */
function RatesBanner({ failure }: { readonly failure: unknown }) {
  const { language, rates, texts } = useApp();
  const failureText = useFailureText();
  if (rates === undefined) {
    if (failure === undefined) return null;
    const detail = isRefusal(failure, "rates-unavailable")
      ? noNewerTableText((failure as FxError).message, null, language)
      : failureText(failure);
    return <p class="banner warn">{fill(texts.noRates, detail)}</p>;
  }
  const { tradable, recorded, reason, reasonCode, suspension } = rates;
  if (suspension) return <Suspended {...suspension} />;
  if (tradable || reasonCode === null) return recorded ? <p class="banner">{texts.recordedRates}</p> : null;
  return (
    <p class="banner warn">{fill(texts.notTraded, notTradedText(reasonCode, reason ?? "", language))}</p>
  );
}
