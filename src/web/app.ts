import { createContext } from "preact";
import { useContext, useEffect, useReducer } from "preact/hooks";
import { currencies, pln } from "../core/currency.ts";
import type { RatesJson } from "../wire/rates.ts";
import { includes, type Role } from "../wire/role.ts";
import type { TokenJson } from "../wire/server.ts";
import { NoAnswer, ProblemAnswer, type Query, urlOf } from "./answers.ts";
import type { Api } from "./api.ts";
import type { Customer } from "./customer.ts";
import type { Desk } from "./desk.ts";
import type { Format, Language } from "./format.ts";
import type { Load, Read, Reads } from "./reads.ts";
import { refusalText } from "./refusal-text.ts";
import type { Texts } from "./texts.ts";

/** The context of every part of the page. */
export interface App {
  readonly api: Api;
  readonly reads: Reads;
  readonly desk: Desk;
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

/** The value of an amount in PLN at bid; undefined where there is no bid. */
export function usePlnAtBid(): (symbol: string, amount: number) => number | undefined {
  const { rates } = useApp();
  const bids = new Map(rates?.rates.map(({ symbol, bid }) => [symbol, bid])).set(pln, 1);
  return (symbol, amount) => {
    const bid = bids.get(symbol);
    return bid === undefined ? undefined : amount * bid;
  };
}

/** The words for a failure. */
export function useFailureText(): (failure: unknown) => string {
  const { texts, language } = useApp();
  return (failure) => {
    if (failure instanceof ProblemAnswer) return refusalText(failure.problem, language);
    if (failure instanceof NoAnswer) return texts.offline;
    throw failure;
  };
}

/** Draws the part again whenever what `watch` watches changes. */
export function useWatched(
  watch: ((onChange: () => void) => () => void) | undefined,
  parts: readonly unknown[],
): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => watch?.(() => redraw(undefined)), parts as unknown[]);
}

const unasked: Read<never> = { value: undefined, failure: undefined, isLoading: false, time: undefined };

/** Reads with `load`, under a key that says all that is asked for. Nothing is read without a key. */
export function useRead<T>(reads: Reads, key: string | undefined, load: Load<T>): Read<T> {
  const read = key === undefined ? unasked : reads.get<T>(key);
  const watch = (onChange: () => void) => {
    const end = reads.watch(key ?? "", load, onChange);
    // A read that others watch may have been answered since this part was drawn.
    const { value, failure } = reads.get<T>(key ?? "");
    if (value !== read.value || failure !== read.failure) onChange();
    return end;
  };
  useWatched(key === undefined ? undefined : watch, [reads, key]);
  return read;
}

/** Reads a path of the server. */
export function useGet<T>(path: string | undefined, query: Query = {}): Read<T> {
  const { api, reads } = useApp();
  const url = path === undefined ? undefined : urlOf(path, query);
  return useRead(reads, url, (signal) => api.get<T>(url ?? "", signal));
}

/** The work under way for one customer. */
export function useCustomer(pesel: string): Customer {
  const { desk } = useApp();
  useWatched((onChange) => desk.watch(onChange), [desk]);
  return desk.customer(pesel);
}
