import { createContext } from "preact";
import { useCallback, useContext, useEffect, useRef, useState } from "preact/hooks";
import { currencies, pln } from "../core/currency.ts";
import { includes, type Role } from "../core/role.ts";
import type { RatesJson, TokenJson } from "../wire/schemas.ts";
import { type Api, NoAnswer, Refusal } from "./api.ts";
import type { Format, Language } from "./format.ts";
import { refusalText, type Texts } from "./texts.ts";

/** What every part of the page works with. */
export interface App {
  readonly api: Api;
  readonly caller: TokenJson;
  readonly language: Language;
  readonly texts: Texts;
  readonly format: Format;
  /** Undefined until there is a table. */
  readonly rates: RatesJson | undefined;
}

export const AppContext = createContext<App | undefined>(undefined);

export function useApp(): App {
  const app = useContext(AppContext);
  if (app === undefined) throw new Error("there is no app around this part");
  return app;
}

/** Whether the caller's role includes `role`. */
export function useMay(role: Role): boolean {
  return includes(useApp().caller.role, role);
}

/** The currencies to choose from: those of the table; until there is one, those that fx knows. */
export function useCodes(): readonly string[] {
  const { rates } = useApp();
  return rates === undefined ? currencies : [pln, ...rates.rates.map(({ symbol }) => symbol)];
}

/** What an amount of a currency is worth in PLN, at bid; undefined where there is no bid. */
export function usePlnAtBid(): (symbol: string, amount: number) => number | undefined {
  const { rates } = useApp();
  const bids = new Map(rates?.rates.map(({ symbol, bid }) => [symbol, bid])).set(pln, 1);
  return (symbol, amount) => {
    const bid = bids.get(symbol);
    return bid === undefined ? undefined : amount * bid;
  };
}

/** What failed, for the reader. */
export function useFailureText(): (failure: unknown) => string {
  const { texts, language } = useApp();
  return (failure) => {
    if (failure instanceof Refusal) return refusalText(failure.problem, language);
    if (failure instanceof NoAnswer) return texts.offline;
    throw failure;
  };
}

/** The newest of several requests for one thing: what it gave, or how it failed. */
export interface Latest<T> {
  readonly value: T | undefined;
  readonly failure: unknown;
  readonly isLoading: boolean;
  reload(): void;
}

/** Asks again whenever `parts` change. What was known stays in sight meanwhile. */
export function useLatest<T>(
  ask: ((signal: AbortSignal) => Promise<T>) | undefined,
  parts: readonly unknown[],
): Latest<T> {
  const [state, setState] = useState<Omit<Latest<T>, "reload">>({
    value: undefined,
    failure: undefined,
    isLoading: ask !== undefined,
  });
  const [count, setCount] = useState(0);
  const isFirst = useRef(true);
  useEffect(() => {
    if (ask === undefined) {
      setState({ value: undefined, failure: undefined, isLoading: false });
      return undefined;
    }
    const control = new AbortController();
    if (!isFirst.current) setState((before) => ({ ...before, isLoading: true }));
    isFirst.current = false;
    ask(control.signal).then(
      (value) => {
        if (!control.signal.aborted) setState({ value, failure: undefined, isLoading: false });
      },
      (failure: unknown) => {
        if (!control.signal.aborted) setState({ value: undefined, failure, isLoading: false });
      },
    );
    return () => control.abort();
  }, [...parts, count]);
  return { ...state, reload: useCallback(() => setCount((before) => before + 1), []) };
}
