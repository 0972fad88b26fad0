import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { openHttpService } from "../src/client/http-service.ts";
import type { ExchangeOrder } from "../src/core/exchange.ts";
import { adapters } from "./support/adapters.ts";
import type { Asked } from "./support/asked.ts";
import {
  type Answer,
  anyAsked,
  byCommand,
  byFile,
  type Channel,
  codeOf,
  inProcess,
  overBulk,
  overHttp,
} from "./support/channels.ts";
import { adult, decimal, opening } from "./support/fixture.ts";
import { newFolder } from "./support/folder.ts";
import { runHere, serveHere } from "./support/run-here.ts";
import { openInstance, startServer, type TestServer } from "./support/server.ts";
import { refuses } from "./support/service.ts";

const pesels = [adult(0), adult(1), adult(2)] as const;
const [pesel] = pesels;

test("The same requests leave the same journal and get the same outcomes, over HTTP, by commands and in batches, at a store and at a server", async (t) => {
  const channels: Readonly<Record<string, (target: string, folder: string) => Channel>> = {
    "HTTP at a server": overHttp,
    "bulks at a server": overBulk,
    "commands at a server": byCommand,
    "commands at a store": byCommand,
    "CSV at a server": (target, folder) => byFile(target, "csv", folder),
    "CSV at a store": (target, folder) => byFile(target, "csv", folder),
    "NDJSON at a server": (target, folder) => byFile(target, "ndjson", folder),
    "NDJSON at a store": (target, folder) => byFile(target, "ndjson", folder),
  };
  const keyed = fc
    .tuple(anyAsked(pesels), fc.nat({ max: 40 }))
    .map(([asked, key]) => ({ ...asked, key: `key-${key}` }));
  const opened = pesels.slice(0, 2).map((each): Asked => {
    return { kind: "opening", pesel: each, key: "open", name: "Jan", surname: "Kowalski", pln: "5000" };
  });
  await fc.assert(
    fc.asyncProperty(fc.array(keyed, { minLength: 12, maxLength: 24 }), async (requests) => {
      let expected: unknown;
      for (const [name, channel] of Object.entries(channels)) {
        const folder = newFolder(t);
        const store = `sqlite:${join(folder, "ledger.db")}`;
        const server = name.endsWith("server")
          ? await serveHere({ FX_DB: store, FX_RATES: "demo", FX_RATE_LIMIT: "0" })
          : undefined;
        const target = server?.url ?? store;
        const ask = channel(target, folder);
        const outcomes: string[] = [];
        for (const asked of [...opened, ...requests]) outcomes.push(codeOf(await ask(asked)) ?? "done");
        const found = { outcomes, journal: await journalOf(target) };
        await server?.stop();
        expected ??= found;
        assert.deepEqual(found, expected, name);
      }
    }),
    { numRuns: 4, endOnFailure: true },
  );
});

/** The entries of every account, without what differs from ledger to ledger. */
async function journalOf(target: string): Promise<unknown[]> {
  const journal: unknown[] = [];
  for (const each of pesels) {
    const { stdout, exit } = await runHere(["account", "history", each, "--json", "--url", target]);
    if (exit === 4) continue;
    assert.equal(exit, 0);
    const { entries } = JSON.parse(stdout) as { entries: Record<string, unknown>[] };
    journal.push(entries.map(({ id: _id, time: _time, ...entry }) => entry));
  }
  return journal;
}

const names = ["http", "bulk", "process"] as const;
type Name = (typeof names)[number];

/** A request with its key, and all that was answered to it. */
interface Made {
  readonly asked: Asked;
  readonly first: Answer["told"];
  /** The whole answer over a channel: the first one, or the answer to the first repetition over that channel. */
  readonly whole: Map<Name, string>;
}

/** Asks, reverses an entry, or repeats a request. The last two are counted from the newest. */
type Step = { readonly over: Name } & (
  | { readonly ask: Asked }
  | { readonly reverse: number }
  | { readonly repeat: number }
);

/** With other codes the key stays free, as docs/ERRORS.md says. */
const kept =
  /^(account-(not-found|exists|closed|not-empty)|already-reversed|insufficient-funds|balance-limit|unsupported-currency|amount-too-small|underage)$/;

/** Carries out the steps, and repeats each request with its key over every channel: it has its first answer. */
async function play(server: TestServer, steps: readonly Step[], run: number): Promise<void> {
  const { url, service, clock } = server;
  const channels = { http: overHttp(url), bulk: overBulk(url), process: inProcess(service) };
  const made: Made[] = [];
  const receipts: { readonly pesel: string; readonly receipt: string }[] = [];
  const repeat = async ({ asked, first, whole }: Made, over: Name) => {
    const again = await channels[over](asked);
    const about = `${asked.key} ${asked.kind} over ${over}`;
    assert.deepEqual(again.told, first, about);
    assert.equal(again.whole, whole.get(over) ?? again.whole, about);
    assert.ok(again.replayed, about);
    whole.set(over, again.whole);
  };
  for (const [nth, step] of steps.entries()) {
    clock.now = new Date(clock.now.getTime() + 1000);
    const fromNewest = <T>(list: readonly T[], back: number) =>
      list.at(-1 - (back % Math.max(1, list.length)));
    if ("repeat" in step) {
      const earlier = fromNewest(made, step.repeat);
      if (earlier !== undefined) await repeat(earlier, step.over);
      continue;
    }
    const undone = "reverse" in step ? fromNewest(receipts, step.reverse) : undefined;
    const request = "ask" in step ? step.ask : undone && { kind: "reversal", reason: "a slip", ...undone };
    if (request === undefined) continue;
    const asked = { ...request, key: `${run}:${nth}` } as Asked;
    const { told, whole, replayed } = await channels[step.over](asked);
    assert.equal(replayed, false);
    if ("receipt" in told && told.receipt !== undefined) {
      receipts.push({ pesel: asked.pesel, receipt: told.receipt });
    }
    if (!("code" in told) || kept.test(told.code)) {
      made.push({ asked, first: told, whole: new Map([[step.over, whole]]) });
    }
  }
  for (const earlier of made.reverse()) for (const over of names) await repeat(earlier, over);
}

const steps = fc.array(
  fc
    .tuple(
      fc.constantFrom(...names),
      fc.oneof(
        { weight: 6, arbitrary: fc.record({ ask: anyAsked(pesels.slice(0, 2)) }) },
        { weight: 1, arbitrary: fc.record({ reverse: fc.nat({ max: 3 }) }) },
        { weight: 2, arbitrary: fc.record({ repeat: fc.nat({ max: 30 }) }) },
      ),
    )
    .map(([over, what]): Step => ({ over, ...what })),
  { minLength: 20, maxLength: 60 },
);

/** A long account, which is closed and opened again, each time for another holder. */
const longAccount: readonly Step[] = [
  ...[open("Jan"), ...deposits(100), { kind: "renaming", pesel, name: "Anna", surname: "Nowak" } as const],
  ...[...deposits(20), take("120"), take("120"), close(), close()],
  ...[open("Łucja"), ...deposits(3), take("3"), close(), open("Anna")],
].map((ask) => ({ over: "http", ask }));

function open(name: string): Asked {
  return { kind: "opening", pesel, name, surname: "Nowak", pln: "0" };
}
function deposits(count: number): Asked[] {
  return Array.from({ length: count }, () => ({ kind: "deposit", pesel, amount: "1", currency: "PLN" }));
}
function take(amount: string): Asked {
  return { kind: "withdrawal", pesel, amount, currency: "PLN" };
}
function close(): Asked {
  return { kind: "closing", pesel };
}

for (const adapter of adapters) {
  const withServer = async (t: TestContext, work: (server: TestServer) => Promise<void>) => {
    const server = await startServer({}, "", { store: await adapter.open(t) });
    await work(server).finally(() => server.close());
  };

  test(`A key is answered with its first answer over any channel, over ${adapter.name}`, (t) =>
    withServer(t, async (server) => {
      let run = 0;
      const sequences = fc.asyncProperty(steps, async (sequence) => {
        run += 1;
        await play(server, sequence, run);
      });
      const numRuns = adapter.name === "memory:" ? 25 : 6;
      await fc.assert(sequences, { numRuns, endOnFailure: true, includeErrorInReport: true });
    }));

  test(`A key keeps its first answer in a long account, and in one reopened for another holder, over ${adapter.name}`, (t) =>
    withServer(t, (server) => play(server, longAccount, 0)));
}

const [many, none, limit] = ["insufficient-funds", "account-not-found", "balance-limit"];
const [nobody, unopened] = [adult(9), adult(8)];
const [jan, invalid] = [{ name: "Jan", surname: "Lis" }, "invalid-amount"];

/** Requests with an amount, and what each is refused with; undefined where it is done. */
function amounts(amount: string, codes: readonly (string | undefined)[]): Hostile[] {
  const asked: Asked[] = [
    { kind: "exchange", pesel, from: "PLN", to: "USD", toSell: amount },
    { kind: "exchange", pesel, from: "PLN", to: "USD", toBuy: amount },
    { kind: "exchange", pesel: nobody, from: "PLN", to: "USD", toSell: amount },
    { kind: "deposit", pesel, amount, currency: "PLN" },
    { kind: "withdrawal", pesel, amount, currency: "USD" },
    { kind: "opening", pesel: unopened, ...jan, pln: amount },
  ];
  return asked.flatMap((each, index) => {
    const code = codes[index];
    return code === undefined ? [] : [[each, code, amount] as const];
  });
}

/** Hostile input, the code of its refusal, and the value that no message may repeat. */
type Hostile = readonly [asked: Asked, code: string, value: string];
const hostile: readonly Hostile[] = [
  ...["9007199254740993", "1e400", "0.1234567890123456789", "12345678901234567.89", "1e-400"].flatMap(
    (amount) => amounts(amount, Array<string>(6).fill("invalid-request")),
  ),
  ...amounts("1e308", [many, many, none, limit, many, limit]),
  ...amounts("777777", [many, many, none, undefined, many, undefined]),
  ...["7.777", "-7777"].flatMap((amount) =>
    amounts(amount, [invalid, invalid, none, invalid, invalid, invalid]),
  ),
  [{ kind: "exchange", pesel, from: "PLN", to: "EUR", toSell: "0.01" }, "amount-too-small", "0.01"],
  ...["QQQ", "XAU", "QQ", "DROP", "ŻŁT", "__proto__", "Q".repeat(500)].flatMap((value): Hostile[] => [
    [{ kind: "exchange", pesel, from: value, to: "PLN", toSell: "1" }, "unsupported-currency", value],
    [{ kind: "deposit", pesel, amount: "1", currency: value }, "unsupported-currency", value],
    [{ kind: "withdrawal", pesel, amount: "1", currency: value }, "unsupported-currency", value],
  ]),
  [{ kind: "exchange", pesel, from: "qqq", to: "QQQ", toSell: "1" }, "same-currency", "QQQ"],
];

/** A store and a server in this process, with one account of 1,000 PLN each. */
async function storeAndServer(t: TestContext) {
  const { service } = await openInstance();
  const server = await serveHere({ FX_RATES: "demo" });
  const remote = openHttpService(server.url);
  t.after(async () => {
    for (const each of [service, remote]) await each.close();
    await server.stop();
  });
  for (const each of [service, remote]) await each.createAccount({ ...opening({ pln: "1000" }), pesel });
  return { service, remote, url: server.url };
}

test("A rate table that no header can name is refused by a store and by a server", async (t) => {
  const { service, remote } = await storeAndServer(t);
  const order = { pesel, from: "PLN", to: "USD", side: "toSell", amount: decimal("1") } as ExchangeOrder;
  for (const each of [service, remote]) {
    for (const table of ["ł", "", "1".repeat(256), "a\nb", "\u0000"]) {
      await refuses(each.exchange({ ...order, table }), "invalid-request", /^The table number must be/);
    }
    await refuses(each.exchange({ ...order, table: "224/C" }), "rate-changed");
  }
});

test("The same request gets the same refusal in every channel, and no message repeats a value", async (t) => {
  const { service, remote, url } = await storeAndServer(t);
  const file = `sqlite:${join(newFolder(t), "fx.db")}`;
  const channels: Readonly<Record<string, Channel>> = {
    "the store in this process": inProcess(service),
    "the server, through the client": inProcess(remote),
    "the server, over HTTP": overHttp(url),
    "the command at a store": byCommand(file),
    "the command at a server": byCommand(url),
  };
  await byCommand(file)({ kind: "opening", pesel, ...jan, pln: "1000" });
  for (const [asked, code, value] of hostile) {
    for (const [channel, ask] of Object.entries(channels)) {
      const { told } = await ask(asked);
      const about = `${channel}: ${JSON.stringify({ asked, told }).slice(0, 400)}`;
      assert.ok("code" in told, about);
      assert.equal(told.code, code, about);
      assert.ok(!told.detail.includes(value) && told.detail.length < 400, about);
    }
  }
});
