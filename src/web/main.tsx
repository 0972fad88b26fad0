import { Button, Part } from "./elements.tsx";
// Imported before any schema is made.
import "./jitless.ts";
import "./styles/elements.css";
import "./styles/counter.css";
import "./styles/statement.css";
import "./styles/operator.css";
import "./styles/print.css";
import { render } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { FxError } from "../core/errors.ts";
import type { RatesJson } from "../wire/rates.ts";
import type { TokenJson } from "../wire/server.ts";
import { Api } from "./api.ts";
import { AppContext, useRead, useWatched } from "./app.ts";
import { Counter, type Served } from "./counter.tsx";
import { Desk } from "./desk.ts";
import { Format } from "./format.ts";
import { Header, type View, viewsOf } from "./header.tsx";
import { keyTexts } from "./keyed-text.ts";
import { Lock, useIdle } from "./lock.tsx";
import { Audit, useAudit } from "./operator/audit.tsx";
import { Batch } from "./operator/batch.tsx";
import { BatchJob } from "./operator/batch-job.ts";
import { Position } from "./operator/position.tsx";
import { accountsOfAll, Reads } from "./reads.ts";
import { ignoreStrayRepeats } from "./repeats.ts";
import { refusalText } from "./server-words.ts";
import { Session } from "./session.ts";
import { type Language, type Texts, textsOf } from "./texts.ts";
import { Till } from "./till.tsx";
import { UnderWay } from "./under-way.tsx";

const languageName = "fx-language";
const refreshEveryMs = 60_000;
const retryMs = 10_000;

function firstLanguage(): Language {
  const chosen = localStorage.getItem(languageName);
  if (chosen === "en" || chosen === "pl") return chosen;
  return navigator.language.startsWith("pl") ? "pl" : "en";
}

/** The work and the reads, which outlive every view and the lock. */
function useWork() {
  const { api, reads, desk, session, batch } = useMemo(() => {
    const session = new Session(sessionStorage);
    const api = new Api(
      () => session.token,
      (hadToken) => session.unauthorized(hadToken),
    );
    const reads = new Reads(api);
    const desk = new Desk(api, reads, sessionStorage);
    return { api, reads, session, desk, batch: new BatchJob(() => reads.stale(...accountsOfAll)) };
  }, []);
  useWatched(session, desk, reads, batch);
  const audit = useAudit(api);
  const [served, setServed] = useState<Served>({ pesel: undefined, isOpening: false });
  useEffect(() => {
    const ask = (event: Event) => {
      const isBusy = batch.state.step === "working" || audit.progress !== undefined;
      if (desk.out.length > 0 || isBusy) event.preventDefault();
    };
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [audit.progress !== undefined]);
  useEffect(() => {
    const refresh = () => document.visibilityState === "visible" && reads.refresh();
    const timer = setInterval(refresh, refreshEveryMs);
    addEventListener("focus", refresh);
    document.addEventListener("visibilitychange", refresh);
    return () => {
      clearInterval(timer);
      removeEventListener("focus", refresh);
      document.removeEventListener("visibilitychange", refresh);
    };
  }, []);
  return { api, reads, desk, session, audit, batch, served, setServed };
}

function useLanguage() {
  const [language, setLanguage] = useState(firstLanguage);
  const texts = textsOf[language];
  const format = useMemo(() => new Format(language, navigator.languages), [language]);
  useEffect(() => {
    document.documentElement.lang = language;
    document.title = texts.title;
  }, [language]);
  const changeLanguage = useCallback(() => {
    const next = language === "en" ? "pl" : "en";
    localStorage.setItem(languageName, next);
    setLanguage(next);
  }, [language]);
  return { language, texts, format, changeLanguage };
}

interface NotBegunProps {
  readonly failure: unknown;
  readonly texts: Texts;
  readonly language: Language;
  /** Whether an order was sent that is not settled. */
  readonly isUnsettled: boolean;
  readonly onRetry: () => void;
}

/** Says why the page cannot begin, and tries again soon, unless the server has said when. */
function NotBegun({ failure, texts, language, isUnsettled, onRetry }: NotBegunProps) {
  const refusal = failure instanceof FxError ? failure : undefined;
  useEffect(() => {
    if (refusal?.retryAfterSeconds !== undefined) return undefined;
    const timer = setTimeout(onRetry, retryMs);
    return () => clearTimeout(timer);
  }, [failure]);
  return (
    <div class="wait">
      <p role="status">
        {refusal === undefined ? texts.offline : refusalText(refusal, language)}{" "}
        <Button label={texts.retry} onClick={onRetry} />
      </p>
      {isUnsettled && <p role="alert">{texts.unsettled}</p>}
    </div>
  );
}

function Page() {
  const { changeLanguage, ...speech } = useLanguage();
  const { texts } = speech;
  const [chosen, setView] = useState<View>("counter");
  const work = useWork();
  const { api, reads, desk, session, audit, batch, served, setServed } = work;
  const lock = () => session.lock();
  useIdle(lock);
  const isOpen = session.stage === "open";
  const caller = useRead<TokenJson>(reads, isOpen ? "api/token" : undefined);
  const rates = useRead<RatesJson>(reads, caller.value && "api/rates");
  const isUnsettled = desk.out.length > 0;
  if (!isOpen) {
    const { isNotSent } = desk;
    return <Lock {...{ session, texts, isNotSent, isUnsettled }} />;
  }
  if (caller.failure !== undefined && caller.value === undefined) {
    const onRetry = () => reads.stale("api/token");
    return <NotBegun failure={caller.failure} {...speech} {...{ isUnsettled, onRetry }} />;
  }
  // The board comes with its figures at once, so that nothing below it moves.
  const isFirst = rates.value === undefined && rates.failure === undefined;
  if (caller.value === undefined || isFirst) {
    return (
      <p class="wait" role="status">
        {texts.loading}
      </p>
    );
  }
  // Somebody else may have signed in, whose role has fewer views.
  const view = viewsOf(caller.value.role).includes(chosen) ? chosen : "counter";
  const serve = (next: Served) => {
    setServed(next);
    setView("counter");
  };
  return (
    <AppContext.Provider value={{ api, reads, desk, caller: caller.value, ...speech, rates: rates.value }}>
      <Header view={view} ratesRead={rates} onView={setView} onLanguage={changeLanguage} onLock={lock} />
      <UnderWay view={view} served={served} batch={batch} audit={audit} onServe={serve} onView={setView} />
      <Part key={view}>
        {view === "counter" && <Counter served={served} onServe={setServed} />}
        {view === "till" && <Till key={caller.value.name} />}
        {view === "position" && <Position />}
        {view === "audit" && <Audit job={audit} />}
        {view === "batch" && <Batch job={batch} />}
      </Part>
    </AppContext.Provider>
  );
}

keyTexts();
ignoreStrayRepeats(document);
// The parts send what is typed; the browser sends no form.
document.addEventListener("submit", (event) => event.preventDefault());
render(<Page />, document.body);
