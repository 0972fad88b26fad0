import { render } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { RatesJson, TokenJson } from "../wire/schemas.ts";
import { ProblemAnswer } from "./answers.ts";
import { Api } from "./api.ts";
import { AppContext, useRead, useWatched } from "./app.ts";
import { Counter, type Served } from "./counter.tsx";
import { Desk } from "./desk.ts";
import { Format, type Language } from "./format.ts";
import { Header, type View } from "./header.tsx";
import { keyTexts } from "./keyed-text.ts";
import { Audit, useAudit } from "./operator/audit.tsx";
import type { BatchJob } from "./operator/batch-job.ts";
import { BatchOnDemand } from "./operator/batch-on-demand.tsx";
import { Position } from "./operator/position.tsx";
import { Reads } from "./reads.ts";
import { ignoreStrayRepeats } from "./repeats.ts";
import { Lock, useIdleLock } from "./session.tsx";
import "./style.css";
import "./operator/operator.css";
import { refusalText } from "./refusal-text.ts";
import { type Texts, textsOf } from "./texts.ts";
import { UnderWay } from "./under-way.tsx";

const tokenName = "fx-token";
const languageName = "fx-language";
const ratesEveryMs = 60_000;
const retrySeconds = 10;

function firstLanguage(): Language {
  const chosen = localStorage.getItem(languageName);
  if (chosen === "en" || chosen === "pl") return chosen;
  return navigator.language.startsWith("pl") ? "pl" : "en";
}

/** What outlives every view and the lock. */
function useWork(onUnauthorized: () => void) {
  const { api, reads, desk } = useMemo(() => {
    const api = new Api(sessionStorage.getItem(tokenName) ?? undefined, onUnauthorized);
    const reads = new Reads();
    return { api, reads, desk: new Desk(api, reads, sessionStorage) };
  }, []);
  const audit = useAudit(api, reads);
  const [batch, setBatch] = useState<BatchJob>();
  const [served, setServed] = useState<Served>({ pesel: undefined, isOpening: false });
  useEffect(() => {
    const ask = (event: Event) => {
      if (desk.out.length > 0 || batch?.state.step === "working") event.preventDefault();
    };
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [batch]);
  useEffect(() => {
    const timer = setInterval(() => reads.stale("api/rates", "health/ready"), ratesEveryMs);
    const refresh = () => document.visibilityState === "visible" && reads.refresh();
    addEventListener("focus", refresh);
    document.addEventListener("visibilitychange", refresh);
    return () => {
      clearInterval(timer);
      removeEventListener("focus", refresh);
      document.removeEventListener("visibilitychange", refresh);
    };
  }, []);
  return { api, reads, desk, audit, batch, setBatch, served, setServed };
}

function useLanguage() {
  const [language, setLanguage] = useState(firstLanguage);
  const texts = textsOf[language];
  const format = useMemo(() => new Format(language), [language]);
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
  readonly onRetry: () => void;
}

/** Says why the page cannot begin, and tries again when the server says, or soon. */
function NotBegun({ failure, texts, language, onRetry }: NotBegunProps) {
  const refusal = failure instanceof ProblemAnswer ? failure : undefined;
  useEffect(() => {
    const timer = setTimeout(onRetry, (refusal?.retryAfterSeconds ?? retrySeconds) * 1000);
    return () => clearTimeout(timer);
  }, [failure]);
  return (
    <p class="wait" role="status">
      {refusal === undefined ? texts.offline : refusalText(refusal.problem, language)}{" "}
      <button type="button" onClick={onRetry}>
        {texts.retry}
      </button>
    </p>
  );
}

function Page() {
  const { changeLanguage, ...speech } = useLanguage();
  const { texts } = speech;
  const [view, setView] = useState<View>("counter");
  const [asksToken, setAsksToken] = useState(false);
  const work = useWork(() => setAsksToken(true));
  const { api, reads, desk, audit, batch, served, setServed } = work;
  const [isLocked, lock, unlock] = useIdleLock(() => {
    sessionStorage.removeItem(tokenName);
    api.token = undefined;
  });
  const caller = useRead<TokenJson>(reads, "api/token", (signal) => api.get("api/token", signal));
  const isOpen = caller.value !== undefined && !isLocked && !asksToken;
  const rates = useRead<RatesJson>(reads, isOpen ? "api/rates" : undefined, (signal) =>
    api.get("api/rates", signal),
  );
  useWatched((onChange) => desk.watch(onChange), []);

  const takeToken = (token: string) => {
    sessionStorage.setItem(tokenName, token);
    api.token = token;
    setAsksToken(false);
    unlock();
    reads.stale("api/token");
  };
  const hasToken = typeof caller.value?.name === "string";
  if (asksToken || (isLocked && hasToken)) {
    return <Lock texts={texts} isWrong={sessionStorage.getItem(tokenName) !== null} onToken={takeToken} />;
  }
  if (isLocked) return <Lock texts={texts} isWrong={false} onUnlock={unlock} />;
  if (caller.failure !== undefined && !caller.isLoading) {
    return <NotBegun failure={caller.failure} {...speech} onRetry={() => reads.stale("api/token")} />;
  }
  // The board comes with its figures at once, so that nothing below it moves.
  const isFirst = rates.value === undefined && rates.failure === undefined;
  if (caller.value === undefined || caller.isLoading || isFirst) {
    return (
      <p class="wait" role="status">
        {texts.loading}
      </p>
    );
  }
  const serve = (next: Served) => {
    setServed(next);
    setView("counter");
  };
  return (
    <AppContext.Provider value={{ api, reads, desk, caller: caller.value, ...speech, rates: rates.value }}>
      <Header view={view} ratesRead={rates} onView={setView} onLanguage={changeLanguage} onLock={lock} />
      <UnderWay view={view} served={served} batch={batch} audit={audit} onServe={serve} onView={setView} />
      {view === "counter" && <Counter served={served} onServe={setServed} />}
      {view === "position" && <Position />}
      {view === "audit" && <Audit job={audit} />}
      {view === "batch" && <BatchOnDemand job={batch} onJob={work.setBatch} />}
    </AppContext.Provider>
  );
}

keyTexts();
ignoreStrayRepeats(document);
render(<Page />, document.body);
