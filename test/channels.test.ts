import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { adult } from "./support/fixture.ts";
import { send } from "./support/http.ts";
import { runHere, serveHere } from "./support/run-here.ts";

/** One request, in words that every channel can carry. `account` and `key` are small numbers. */
type Step = { readonly account: number; readonly key: number } & (
  | { readonly kind: "opening"; readonly pln: number }
  | { readonly kind: "exchange"; readonly from: string; readonly to: string; readonly toBuy: number }
  | { readonly kind: "deposit" | "withdrawal"; readonly amount: number; readonly currency: string }
  | { readonly kind: "renaming"; readonly surname: string }
  | { readonly kind: "closing" }
  | { readonly kind: "block" | "unblock"; readonly reason: string }
);
type FileStep = Extract<Step, { kind: "opening" | "exchange" | "deposit" | "withdrawal" }>;

/** The result of a step: `done`, or the code of its refusal. */
type Outcome = string;

interface Channel {
  readonly name: string;
  /** Sends the steps one after the other to `target`, a store or a server. */
  send(steps: readonly Step[], target: string, folder: string): Promise<Outcome[]>;
}

const accounts = 3;
const currency = fc.constantFrom("PLN", "PLN", "USD", "EUR", "JPY", "XYZ");
/** Mostly amounts that can be had, and some that are refused. */
const amount = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(0.01, 1, 2.5, 10, 99.99) },
  { weight: 1, arbitrary: fc.constantFrom(0, 0.001, 1_000_000, 10 ** 15) },
);
const common = { account: fc.nat({ max: accounts - 1 }), key: fc.nat({ max: 40 }) };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ...common,
      kind: fc.constant("exchange" as const),
      from: currency,
      to: currency,
      toBuy: amount,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...common,
      kind: fc.constantFrom("deposit" as const, "withdrawal" as const),
      amount,
      currency,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...common,
      kind: fc.constant("opening" as const),
      pln: fc.constantFrom(0, 10, 500.5),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...common,
      kind: fc.constant("renaming" as const),
      surname: fc.constantFrom("Nowak", "Zając"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ ...common, kind: fc.constant("closing" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...common,
      kind: fc.constantFrom("block" as const, "unblock" as const),
      reason: fc.constantFrom("freeze", "hold"),
    }),
  },
);

const keyOf = ({ key }: Step) => `key-${key}`;

const http: Channel = {
  name: "HTTP",
  async send(steps, target) {
    const outcomes: Outcome[] = [];
    for (const step of steps) {
      const [path, body] = requestOf(step);
      const headers = { "content-type": "application/json", "idempotency-key": keyOf(step) };
      const { status, json } = await send(target, "POST", path, { headers, body });
      outcomes.push(status < 300 ? "done" : (json as { code: string }).code);
    }
    return outcomes;
  },
};

const commands: Channel = {
  name: "commands",
  async send(steps, target) {
    const outcomes: Outcome[] = [];
    for (const step of steps) outcomes.push(await byCommand(step, target));
    return outcomes;
  },
};

const batches = (format: "csv" | "ndjson"): Channel => ({
  name: `batches in ${format.toUpperCase()}`,
  async send(steps, target, folder) {
    const outcomes: Outcome[] = [];
    for (const group of groupsOf(steps, format)) {
      const [first] = group;
      if (first === undefined) continue;
      if (!isForFile(first)) outcomes.push(await byCommand(first, target));
      else outcomes.push(...(await byFile(group as FileStep[], format, target, folder)));
    }
    return outcomes;
  },
});

const channels = [http, commands, batches("csv"), batches("ndjson")];

test("The same requests leave the same journal and get the same outcomes, over HTTP, by commands and in batches, at a store and at a server.", async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 12, maxLength: 24 }), async (steps) => {
      const opened: Step[] = [
        { kind: "opening", account: 0, key: 100, pln: 5000 },
        { kind: "opening", account: 1, key: 100, pln: 5000 },
        ...steps,
      ];
      const left: [string, unknown][] = [];
      for (const channel of channels) {
        for (const kind of channel === http ? (["server"] as const) : (["store", "server"] as const)) {
          left.push([`${channel.name} at a ${kind}`, await play(t, channel, kind, opened)]);
        }
      }
      const [[, expected] = []] = left;
      for (const [name, found] of left) assert.deepEqual(found, expected, name);
    }),
    { numRuns: 4, endOnFailure: true },
  );
});

/** Plays the steps on a new ledger, and gives what was answered and what the ledger holds. */
async function play(t: TestContext, channel: Channel, kind: "store" | "server", steps: readonly Step[]) {
  const folder = mkdtempSync(join(tmpdir(), "fx-channels-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = `sqlite:${join(folder, "ledger.db")}`;
  if (kind === "store") {
    const outcomes = await channel.send(steps, store, folder);
    return { outcomes, journal: await journalOf(store) };
  }
  const server = await serveHere({ FX_DB: store, FX_RATES: "demo", FX_RATE_LIMIT: "0" });
  try {
    const outcomes = await channel.send(steps, server.url, folder);
    return { outcomes, journal: await journalOf(server.url) };
  } finally {
    await server.stop();
  }
}

/** The entries of every account, without what differs from ledger to ledger. */
async function journalOf(target: string): Promise<unknown[]> {
  const journal: unknown[] = [];
  for (let account = 0; account < accounts; account += 1) {
    const { stdout, exit } = await runHere(["account", "history", adult(account), "--json", "--url", target]);
    if (exit === 4) continue;
    assert.equal(exit, 0);
    const { entries } = JSON.parse(stdout) as { entries: Record<string, unknown>[] };
    journal.push(entries.map(({ id: _id, time: _time, ...entry }) => entry));
  }
  return journal;
}

/** The path and the body of the request over HTTP. */
function requestOf(step: Step): [path: string, body: object] {
  const pesel = adult(step.account);
  const { account: _account, key: _key, kind, ...body } = step;
  switch (kind) {
    case "opening":
      return ["/api/user", { name: "Jan", surname: "Kowalski", pesel, ...body }];
    case "exchange":
      return [`/api/exchange/${pesel}`, { pesel, ...body }];
    case "deposit":
      return [`/api/user/${pesel}/deposits`, body];
    case "withdrawal":
      return [`/api/user/${pesel}/withdrawals`, body];
    case "renaming":
      return [`/api/user/${pesel}/name`, { name: "Jan", ...body }];
    case "closing":
      return [`/api/user/${pesel}/closing`, {}];
    case "block":
    case "unblock":
      return [`/api/user/${pesel}/${kind}`, body];
  }
}

function argumentsOf(step: Step): string[] {
  const pesel = adult(step.account);
  switch (step.kind) {
    case "opening":
      return ["account", "create", pesel, "--name", "Jan", "--surname", "Kowalski", "--pln", `${step.pln}`];
    case "exchange":
      return ["exchange", pesel, "--from", step.from, "--to", step.to, "--to-buy", `${step.toBuy}`];
    case "deposit":
      return ["account", "deposit", pesel, "--amount", `${step.amount}`, "--currency", step.currency];
    case "withdrawal":
      return ["account", "withdraw", pesel, "--amount", `${step.amount}`, "--currency", step.currency];
    case "renaming":
      return ["account", "rename", pesel, "--name", "Jan", "--surname", step.surname];
    case "closing":
      return ["account", "close", pesel];
    case "block":
    case "unblock":
      return ["account", step.kind, pesel, "--reason", step.reason];
  }
}

async function byCommand(step: Step, target: string): Promise<Outcome> {
  const { stderr, exit } = await runHere(
    [...argumentsOf(step), "--key", keyOf(step), "--json", "--url", target],
    {
      env: ratesOf(target),
    },
  );
  return exit === 0
    ? "done"
    : (JSON.parse(stderr.trim().split("\n").at(-1) as string) as { code: string }).code;
}

async function byFile(
  steps: readonly FileStep[],
  format: "csv" | "ndjson",
  target: string,
  folder: string,
): Promise<Outcome[]> {
  const file = join(folder, `orders.${format}`);
  writeFileSync(file, format === "csv" ? csvOf(steps) : `${steps.map(jsonLineOf).join("\n")}\n`);
  const { stdout } = await runHere(["batch", file, "--yes", "--url", target], { env: ratesOf(target) });
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { ok: boolean; code: string })
    .map(({ ok, code }) => (ok ? "done" : code));
}

function ratesOf(target: string): Record<string, string> {
  return target.startsWith("http") ? {} : { FX_RATES: "demo" };
}

function isForFile({ kind }: Step): boolean {
  return !["renaming", "closing", "block", "unblock"].includes(kind);
}

/** Neighbours that one file can hold: a CSV has one header, and two kinds of request in it at most. */
function groupsOf(steps: readonly Step[], format: "csv" | "ndjson"): Step[][] {
  const formOf = ({ kind }: Step) => (kind === "deposit" || kind === "withdrawal" ? "cash" : kind);
  const groups: Step[][] = [];
  for (const step of steps) {
    const last = groups.at(-1)?.at(-1);
    const fits =
      last !== undefined &&
      isForFile(step) &&
      isForFile(last) &&
      (format === "ndjson" || formOf(last) === formOf(step));
    if (fits) groups.at(-1)?.push(step);
    else groups.push([step]);
  }
  return groups;
}

function jsonLineOf(step: FileStep): string {
  const [, body] = requestOf(step);
  const kind = step.kind === "deposit" || step.kind === "withdrawal" ? { kind: step.kind } : {};
  return JSON.stringify({ ...kind, pesel: adult(step.account), ...body, key: keyOf(step) });
}

function csvOf(steps: readonly FileStep[]): string {
  const rows = steps.map((step): [header: string, row: string] => {
    const pesel = adult(step.account);
    const key = keyOf(step);
    switch (step.kind) {
      case "opening":
        return ["name,surname,pesel,pln,key", `Jan,Kowalski,${pesel},${step.pln},${key}`];
      case "exchange":
        return ["pesel,from,to,toBuy,key", `${pesel},${step.from},${step.to},${step.toBuy},${key}`];
      default:
        return [
          "kind,pesel,amount,currency,key",
          `${step.kind},${pesel},${step.amount},${step.currency},${key}`,
        ];
    }
  });
  return `${rows[0]?.[0]}\n${rows.map(([, row]) => row).join("\n")}\n`;
}
