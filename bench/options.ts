import { parseArgs } from "node:util";
import { everyStore, type StoreName } from "./servers.ts";

/** How much a run measures. */
export interface Options {
  readonly rounds: number;
  /** Of one load. A whole number. */
  readonly seconds: number;
  /** Accounts that orders go to, in turn. */
  readonly accounts: number;
  /** Of a batch. */
  readonly lines: number;
  /** Of the large ledger. */
  readonly entries: number;
  /** Accounts of the ledgers in `scale`. */
  readonly sizes: readonly number[];
  /** Of fx over one database, in `processes`. */
  readonly processes: readonly number[];
  readonly stores: readonly StoreName[];
  /** Whether single orders have a key each. */
  readonly keys: boolean;
  /** Of the requests in `http`, those whose name has this in it. */
  readonly only: string;
}

/** The parts that are named, and how much of them is measured. */
export function readOptions(args: readonly string[]): { parts: string[]; options: Options } {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      // Everything once and small: whether the bench works, not what fx does.
      smoke: { type: "boolean", default: false },
      rounds: { type: "string" },
      seconds: { type: "string" },
      accounts: { type: "string" },
      lines: { type: "string" },
      entries: { type: "string" },
      sizes: { type: "string" },
      processes: { type: "string", default: "1,2,4" },
      stores: { type: "string", default: everyStore.join(",") },
      keys: { type: "boolean", default: false },
      only: { type: "string", default: "" },
    },
  });
  const count = (
    name: "rounds" | "seconds" | "accounts" | "lines" | "entries",
    usual: number,
    smoke: number,
  ) => {
    const given = values[name];
    const number = given === undefined ? (values.smoke ? smoke : usual) : Number(given);
    if (!Number.isInteger(number) || number < 1)
      throw new Error(`--${name} takes a whole number, not ${given}.`);
    return number;
  };
  const stores = values.stores.split(",");
  const unknown = stores.find((store) => !everyStore.includes(store as StoreName));
  if (unknown !== undefined) throw new Error(`There is no store ${unknown}: ${everyStore.join(", ")}.`);
  const options = {
    rounds: count("rounds", 5, 1),
    seconds: count("seconds", 3, 1),
    accounts: count("accounts", 10_000, 100),
    lines: count("lines", 1_000_000, 2000),
    entries: count("entries", 1_000_000, 2000),
    sizes: (values.sizes ?? (values.smoke ? "1000" : "10000,1000000,10000000")).split(",").map(Number),
    processes: values.processes.split(",").map(Number),
    stores: everyStore.filter((store) => stores.includes(store)),
    keys: values.keys,
    only: values.only,
  };
  return { parts: positionals, options };
}
