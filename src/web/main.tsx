import { render } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { RatesJson, TokenJson } from "../wire/schemas.ts";
import { Api, Refusal } from "./api.ts";
import { AppContext, useLatest } from "./app.ts";
import { Counter } from "./counter.tsx";
import { Format, type Language } from "./format.ts";
import { Header, type View } from "./header.tsx";
import { Audit } from "./operator/audit.tsx";
import { BatchOnDemand } from "./operator/batch-on-demand.tsx";
import { Position } from "./operator/position.tsx";
import { ignoreStrayRepeats } from "./repeats.ts";
import { Lock, useIdleLock } from "./session.tsx";
import "./style.css";
import "./operator/operator.css";
import { textsOf } from "./texts.ts";

const tokenName = "fx-token";
const languageName = "fx-language";
const ratesEveryMs = 60_000;

function firstLanguage(): Language {
  const chosen = localStorage.getItem(languageName);
  if (chosen === "en" || chosen === "pl") return chosen;
  return navigator.language.startsWith("pl") ? "pl" : "en";
}

function Page() {
  const [language, setLanguage] = useState(firstLanguage);
  const [view, setView] = useState<View>("counter");
  const [asksToken, setAsksToken] = useState(false);
  const api = useMemo(
    () => new Api(sessionStorage.getItem(tokenName) ?? undefined, () => setAsksToken(true)),
    [],
  );
  const texts = textsOf[language];
  const format = useMemo(() => new Format(language), [language]);
  const caller = useLatest<TokenJson>((signal) => api.get("api/token", {}, signal), []);
  const rates = useLatest<RatesJson>(caller.value && ((signal) => api.get("api/rates", {}, signal)), [
    caller.value,
  ]);
  const [isLocked, lock, unlock] = useIdleLock(() => {
    sessionStorage.removeItem(tokenName);
    api.token = undefined;
  });

  useEffect(() => {
    document.documentElement.lang = language;
    document.title = texts.title;
  }, [language]);
  useEffect(() => {
    const timer = setInterval(rates.reload, ratesEveryMs);
    return () => clearInterval(timer);
  }, []);

  const takeToken = useCallback((token: string) => {
    sessionStorage.setItem(tokenName, token);
    api.token = token;
    setAsksToken(false);
    caller.reload();
  }, []);
  const chooseLanguage = useCallback(() => {
    const next = language === "en" ? "pl" : "en";
    localStorage.setItem(languageName, next);
    setLanguage(next);
  }, [language]);

  const hasToken = typeof caller.value?.name === "string";
  if (asksToken || (isLocked && hasToken)) {
    return (
      <Lock
        texts={texts}
        isWrong={sessionStorage.getItem(tokenName) !== null}
        onToken={(token) => {
          unlock();
          takeToken(token);
        }}
      />
    );
  }
  if (isLocked) return <Lock texts={texts} isWrong={false} onUnlock={unlock} />;
  // The board comes with its figures at once, so that nothing below it moves.
  const isFirst = rates.value === undefined && rates.failure === undefined;
  if (caller.value === undefined || isFirst) {
    const failed = caller.failure !== undefined && !(caller.failure instanceof Refusal);
    return (
      <p class="wait" role="status">
        {failed ? texts.offline : texts.loading}{" "}
        {failed && (
          <button type="button" onClick={caller.reload}>
            {texts.retry}
          </button>
        )}
      </p>
    );
  }
  const app = { api, caller: caller.value, language, texts, format, rates: rates.value };
  return (
    <AppContext.Provider value={app}>
      <Header
        view={view}
        ratesFailure={rates.failure}
        onView={setView}
        onLanguage={chooseLanguage}
        onLock={lock}
      />
      {view === "counter" && <Counter onRatesMoved={rates.reload} />}
      {view === "position" && <Position />}
      {view === "audit" && <Audit />}
      {view === "batch" && <BatchOnDemand />}
    </AppContext.Provider>
  );
}

ignoreStrayRepeats(document);
render(<Page />, document.body);
