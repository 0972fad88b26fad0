import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import { currencies, pln } from "../core/currency.ts";
import { FxError } from "../core/errors.ts";
import type { RatesJson } from "../wire/rates.ts";
import { includes, type Role } from "../wire/role.ts";
import type { TokenJson } from "../wire/server.ts";
import { NoAnswer, type Query, urlOf } from "./answers.ts";
import type { Api } from "./api.ts";
import type { Customer, Order } from "./customer.ts";
import type { Desk } from "./desk.ts";
import type { Format } from "./format.ts";
import type { AuditJob } from "./operator/audit-job.ts";
import type { BatchJob } from "./operator/batch-job.ts";
import type { Place } from "./place.ts";
import { type Read, type Reads, unasked } from "./reads.ts";
import { tradingNumber } from "./requests.ts";
import { refusalText } from "./server-words.ts";
import { holderText, type Language, type Texts } from "./texts.ts";
import type { Watched } from "./watched.ts";

/** The context of every part of the page. */
export interface App {
  readonly api: Api;
  readonly reads: Reads;
  readonly desk: Desk;
  readonly caller: TokenJson;
  readonly language: Language;
  readonly texts: Texts;
  readonly format: Format;
  readonly batch: BatchJob;
  readonly audit: AuditJob;
  readonly place: Place;
  /** Shows another view, or another customer. */
  go(to: Partial<Place>): void;
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

/** The currencies of cash: special drawing rights have none, unless some are held all the same. */
export function useCashCodes(held: readonly string[]): readonly string[] {
  const codes = useCodes().filter((code) => code !== "XDR");
  return [...new Set([...codes, ...held])];
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
    if (failure instanceof FxError) return refusalText(failure, language);
    if (failure instanceof NoAnswer) return texts.offline;
    throw failure;
  };
}

/** Draws the part again whenever one of these changes. */
export function useWatched(...sources: readonly Watched[]): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const ends = sources.map((source) => source.watch(() => redraw(undefined)));
    return () => {
      for (const end of ends) end();
    };
  }, []);
}

/** Reads a URL, for as long as the part asks for it. */
export function useRead<T>(reads: Reads, url: string | undefined): Read<T> {
  useEffect(() => (url === undefined ? undefined : reads.use(url)), [url]);
  return url === undefined ? unasked : reads.get<T>(url);
}

/** Reads a path of the server. */
export function useGet<T>(path: string | undefined, query: Query = {}): Read<T> {
  return useRead(useApp().reads, path === undefined ? undefined : urlOf(path, query));
}

interface Task<T> extends Read<T> {
  /** @param onDone gets the answer, unless the task was stopped or replaced */
  run(load: (signal: AbortSignal) => Promise<T>, onDone?: (value: T) => void): void;
  stop(): void;
}

/**
 * A task that a click starts. The next click replaces it. It is aborted and forgotten when its part of the page goes, and
 * when its subject, `of`, changes, even if that changes back.
 */
export function useTask<T>(of = ""): Task<T> {
  const [task, setTask] = useState<{ readonly of: string; readonly read: Read<T> }>({ of, read: unasked });
  const control = useRef(new AbortController());
  const stop = () => {
    control.current.abort();
    setTask({ of, read: unasked });
  };
  useLayoutEffect(() => stop, [of]);
  const run: Task<T>["run"] = (load, onDone) => {
    control.current.abort();
    control.current = new AbortController();
    const { signal } = control.current;
    const set = (read: Partial<Read<T>>) => {
      if (!signal.aborted) setTask({ of, read: { ...unasked, ...read } });
    };
    set({ isLoading: true });
    load(signal).then(
      (value) => {
        set({ value, time: new Date() });
        if (!signal.aborted) onDone?.(value);
      },
      (failure: unknown) => set({ failure }),
    );
  };
  return { ...(task.of === of ? task.read : unasked), run, stop };
}

/** The work under way for one customer. */
export function useCustomer(pesel: string): Customer {
  return useApp().desk.customer(pesel);
}

/** Dismisses the outcome of the order with this key: its words are shown here, once the page is in sight. */
export function useTold(key: string | undefined): void {
  const { desk } = useApp();
  useLayoutEffect(() => {
    if (key === undefined) return;
    const look = () => document.visibilityState === "visible" && desk.dismiss(key);
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [key]);
}

/** An order in a line. */
export function useOrderWords(): (order: Order) => string {
  const { caller, texts, format } = useApp();
  return ({ kind, pesel, holder, renamed, out, in: into, by }) =>
    [
      texts.kind[kind],
      pesel !== tradingNumber && holderText({ ...holder, pesel }, texts),
      renamed && `→ ${renamed.name} ${renamed.surname}`,
      out && `−${format.money(out)}`,
      into && `+${format.money(into)}`,
      by !== caller.name && by,
    ]
      .filter(Boolean)
      .join(" · ");
}
