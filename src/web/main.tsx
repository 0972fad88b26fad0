import { Button, Part } from "./elements.tsx";
// Imported before any schema is made.
import "./jitless.ts";
import "./styles/elements.css";
import "./styles/counter.css";
import "./styles/statement.css";
import "./styles/operator.css";
import "./styles/print.css";
import { render } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { FxError } from "../core/errors.ts";
import type { RatesJson } from "../wire/rates.ts";
import type { TokenJson } from "../wire/server.ts";
import { Api } from "./api.ts";
import { AppContext, useRead, useWatched } from "./app.ts";
import { Counter } from "./counter.tsx";
import { Desk } from "./desk.ts";
import { keepFocus } from "./focus.ts";
import { Format } from "./format.ts";
import { Header } from "./header.tsx";
import { keyTexts } from "./keyed-text.ts";
import { Lock, whenIdle } from "./lock.tsx";
import { Audit } from "./operator/audit.tsx";
import { AuditJob } from "./operator/audit-job.ts";
import { Batch } from "./operator/batch.tsx";
import { BatchJob } from "./operator/batch-job.ts";
import { Position } from "./operator/position.tsx";
import { type Place, viewsOf } from "./place.ts";
import { Reads } from "./reads.ts";
import { ignoreStrayRepeats } from "./repeats.ts";
import { refusalText } from "./server-words.ts";
import { Session } from "./session.ts";
import { type Language, type Texts, textsOf } from "./texts.ts";
import { Till } from "./till.tsx";
import { UnderWay } from "./under-way.tsx";

const languageName = "fx-language";
const refreshEveryMs = 60_000;
/** While the page cannot begin. */
const retryMs = 10_000;

function firstLanguage(): Language {
  const chosen = localStorage.getItem(languageName);
  if (chosen === "en" || chosen === "pl") return chosen;
  return navigator.language.startsWith("pl") ? "pl" : "en";
}

// The work and the reads outlive every view and the lock.
const session = new Session(sessionStorage);
const api = new Api(
  () => session.token,
  (hadToken) => session.unauthorized(hadToken),
);
const reads = new Reads(api);
const desk = new Desk(api, reads, sessionStorage);
const batch = new BatchJob(api, () => reads.refresh());
const audit = new AuditJob(api);

/** Has the browser ask before it closes the page with work under way. */
function askBeforeUnload(): void {
  addEventListener("beforeunload", (event) => {
    const isBusy = batch.state.step === "working" || audit.progress !== undefined;
    if (desk.isInUse || isBusy) event.preventDefault();
  });
}

/** Reads again what others may have changed, each minute, and when the page comes into sight or the network is back. */
function keepFresh(): void {
  const refresh = () => document.visibilityState === "visible" && reads.refresh();
  setInterval(refresh, refreshEveryMs);
  for (const event of ["focus", "online"]) addEventListener(event, refresh);
  document.addEventListener("visibilitychange", refresh);
}

const formats = { en: new Format("en", navigator.languages), pl: new Format("pl", navigator.languages) };

function useLanguage() {
  const [language, setLanguage] = useState(firstLanguage);
  const texts = textsOf[language];
  useEffect(() => {
    document.documentElement.lang = language;
    document.title = texts.title;
  }, [language]);
  const changeLanguage = () => {
    const next = language === "en" ? "pl" : "en";
    localStorage.setItem(languageName, next);
    setLanguage(next);
  };
  return { language, texts, format: formats[language], changeLanguage };
}

interface NotBegunProps {
  readonly failure: unknown;
  readonly texts: Texts;
  readonly language: Language;
}

/** Says why the page cannot begin. */
function NotBegun({ failure, texts, language }: NotBegunProps) {
  useEffect(() => {
    // Without an answer, or with the server's word for when, it is read again anyway.
    if (!(failure instanceof FxError) || failure.retryAfterSeconds !== undefined) return undefined;
    const timer = setTimeout(() => reads.refresh(), retryMs);
    return () => clearTimeout(timer);
  }, [failure]);
  return (
    <div class="wait">
      <p role="status">
        {failure instanceof FxError ? refusalText(failure, language) : texts.offline}{" "}
        <Button label={texts.retry} onClick={() => reads.refresh()} />
      </p>
      {desk.out.length > 0 && <p role="alert">{texts.unsettled}</p>}
    </div>
  );
}

const emptyCounter: Place = { view: "counter", pesel: undefined, isOpening: false, house: "cash" };

function Page() {
  const { changeLanguage, ...speech } = useLanguage();
  const { texts, language } = speech;
  const [chosen, setPlace] = useState(emptyCounter);
  useWatched(session, desk, reads, batch, audit);
  const isOpen = session.stage === "open";
  const caller = useRead<TokenJson>(reads, isOpen ? "api/token" : undefined);
  const rates = useRead<RatesJson>(reads, caller.value && "api/rates");
  useLayoutEffect(() => {
    if (caller.value === undefined || !desk.handOver(caller.value.name)) return;
    batch.handOver();
    setPlace(emptyCounter);
  }, [caller.value?.name]);
  if (!isOpen) return <Lock {...{ session, desk, texts, language }} onLanguage={changeLanguage} />;
  if (caller.failure !== undefined && caller.value === undefined) {
    return <NotBegun failure={caller.failure} {...speech} />;
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
  const view = viewsOf(caller.value.role).includes(chosen.view) ? chosen.view : "counter";
  const place = { ...chosen, view };
  const go = (to: Partial<Place>) => setPlace((now) => ({ ...now, ...to }));
  const work = { api, reads, desk, batch, audit, caller: caller.value, rates: rates.value };
  return (
    <AppContext.Provider value={{ ...work, ...speech, place, go }}>
      <Header ratesRead={rates} onLanguage={changeLanguage} onLock={() => session.lock()} />
      <UnderWay />
      <Part key={view}>
        {view === "counter" && <Counter />}
        {view === "till" && <Till key={caller.value.name} />}
        {view === "position" && <Position />}
        {view === "audit" && <Audit />}
        {view === "batch" && <Batch />}
      </Part>
    </AppContext.Provider>
  );
}

askBeforeUnload();
keepFresh();
whenIdle(() => session.lock());
keyTexts();
keepFocus(document);
ignoreStrayRepeats(document);
// The parts send what is typed; the browser sends no form.
document.addEventListener("submit", (event) => event.preventDefault());
render(<Page />, document.body);
