import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { CurrencyCode } from "../src/core/currency.ts";
import { FxError } from "../src/core/errors.ts";
import type { Recorded, Settlement } from "../src/core/service.ts";
import { encodeAccount } from "../src/wire/accounts.ts";
import { adapters } from "./support/adapters.ts";
import { BulkClient } from "./support/bulk.ts";
import { adult, decimal } from "./support/fixture.ts";
import { send } from "./support/http.ts";
import { startServer, type TestServer } from "./support/server.ts";

/** Both accounts are opened, renamed, closed and opened for others, all the time. */
const pesels = [adult(1), adult(2)] as const;
const holders = ["Jan Kowalski", "Anna Nowak", "Łucja Żółć"].map((names) => {
  const [name = "", surname = ""] = names.split(" ");
  return { name, surname };
});
const currencies = ["PLN", "USD", "JPY"] as const;

const unlisted = ["reversal", "renaming", "closing", "block", "unblock"] as const;
const kinds = ["opening", "exchange", "deposit", "withdrawal", ...unlisted] as const;
type Kind = (typeof kinds)[number];
const channels = ["http", "bulk", "process"] as const;
type Channel = (typeof channels)[number];

interface Asked {
  readonly kind: Kind;
  readonly channel: Channel;
  readonly account: 0 | 1;
  readonly holder: number;
  readonly from: number;
  /** How many currencies further. */
  readonly to: number;
  readonly amount: string;
  /** The entry to be reversed, counted from the newest. */
  readonly back: number;
}

/** Asks, or repeats the request of this number, counted from the newest, over this channel. */
type Step = { readonly ask: Asked } | { readonly repeat: number; readonly channel: Channel };

const ask = fc.record({
  kind: fc.constantFrom<Kind>(...kinds, "opening", "closing", "unblock"),
  channel: fc.constantFrom(...channels),
  account: fc.constantFrom<0 | 1>(0, 0, 1),
  holder: fc.nat({ max: holders.length - 1 }),
  from: fc.nat({ max: currencies.length - 1 }),
  to: fc.constantFrom(1, 2),
  amount: fc.constantFrom("0", "1", "10.5", "100", "0.001", "100000"),
  back: fc.nat({ max: 3 }),
});
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ ask }) },
    {
      weight: 1,
      arbitrary: fc.record({ repeat: fc.nat({ max: 30 }), channel: fc.constantFrom(...channels) }),
    },
  ),
  { minLength: 20, maxLength: 60 },
);

/** An answer over any channel: a code, or where the receipt is and the account with its header. */
interface Answer {
  readonly code?: string;
  readonly detail?: string;
  readonly receipt?: string | undefined;
  readonly account?: object | undefined;
  /** Whether the account is closed or blocked. */
  readonly state?: string | undefined;
}

/** A request with its key, and all that was answered to it. */
interface Made {
  readonly asked: Asked;
  readonly key: string;
  readonly reverses: string | undefined;
  readonly first: Answer;
  /** The whole answer over a channel that tells more than `Answer`: the first, or the first repetition over it. */
  readonly whole: Map<Channel, string>;
}

/** A bulk carries out no change that moves no money, and no reversal. */
const isBulk = ({ kind }: Asked) => !unlisted.some((each) => each === kind);

async function overHttp(server: TestServer, { asked, key, reverses }: Omit<Made, "first">) {
  const { kind, account, holder, from, to, amount } = asked;
  const pesel = pesels[account];
  const at = `/api/user/${pesel}`;
  const cash = { amount: Number(amount), currency: currencies[from] };
  const [path, body] = {
    opening: ["/api/user", { ...holders[holder], pesel, pln: Number(amount) }],
    exchange: [
      `/api/exchange/${pesel}`,
      { pesel, from: currencies[from], to: currencies[(from + to) % 3], toSell: Number(amount) },
    ],
    deposit: [`${at}/deposits`, cash],
    withdrawal: [`${at}/withdrawals`, cash],
    renaming: [`${at}/name`, holders[holder]],
    closing: [`${at}/closing`, {}],
    block: [`${at}/block`, { reason: "freeze" }],
    unblock: [`${at}/unblock`, { reason: "lifted" }],
    reversal: [`/api/receipts/${reverses}/reversal`, { reason: "a slip" }],
  }[kind] as [string, object];
  const headers = { "content-type": "application/json", "idempotency-key": key };
  const answer = await send(server.url, "POST", path, { headers, body });
  const kept = [...answer.headers].filter(
    ([name]) => !["date", "x-request-id", "idempotency-replayed"].includes(name),
  );
  const replayed = answer.headers.get("idempotency-replayed") === "true";
  const { code, detail } = (answer.json ?? {}) as { code?: string; detail?: string };
  const told: Answer =
    code === undefined
      ? {
          receipt: answer.headers.get("fx-receipt")?.split("/").at(-1),
          account: answer.status === 204 ? undefined : (answer.json as object),
          state: answer.headers.get("fx-account") ?? undefined,
        }
      : { code, ...(detail !== undefined && { detail }) };
  const length = kept.filter(([name]) => name !== "content-length" || code === undefined);
  const text = answer.text.replace(/urn:fx:request:[^"]*/, "");
  return { told, replayed, whole: JSON.stringify([answer.status, length, text]) };
}

async function overBulk(server: TestServer, { asked, key }: Omit<Made, "first">) {
  const { kind, account, holder, from, to, amount } = asked;
  const pesel = pesels[account];
  const client = new BulkClient(server.url);
  const line =
    kind === "opening"
      ? { ...holders[holder], pesel, pln: Number(amount) }
      : kind === "exchange"
        ? { pesel, from: currencies[from], to: currencies[(from + to) % 3], toSell: Number(amount) }
        : { kind, pesel, amount: Number(amount), currency: currencies[from] };
  client.end({ ...line, key });
  const [answer] = await client.rest();
  assert.ok(answer);
  const { replayed = false, ...rest } = answer;
  const { code, detail, instance: _, ...problem } = answer.problem ?? {};
  const { blocked, ...fields } = (answer.account ?? {}) as { readonly blocked?: true };
  const told: Answer =
    code === undefined
      ? {
          receipt: answer.receipt,
          account: answer.account && fields,
          state: blocked ? "blocked" : undefined,
        }
      : { code, ...(detail !== undefined && { detail }) };
  return { told, replayed, whole: JSON.stringify({ ...rest, problem }) };
}

async function inProcess(server: TestServer, { asked, key, reverses }: Omit<Made, "first">) {
  const { kind, account, holder, from, to, amount } = asked;
  const pesel = pesels[account];
  const { service } = server;
  const names = holders[holder] as (typeof holders)[number];
  const cash = {
    pesel,
    key,
    amount: decimal(amount),
    currency: currencies[from] as CurrencyCode,
    note: undefined,
  };
  const other = currencies[(from + to) % 3] as CurrencyCode;
  const ask = (): Promise<Recorded | Settlement> => {
    switch (kind) {
      case "opening":
        return service.createAccount({ ...names, pesel, initial: decimal(amount), key });
      case "exchange":
        return service.exchange({ ...cash, from: cash.currency, to: other, side: "toSell" });
      case "deposit":
      case "withdrawal":
        return service.change({ kind, ...cash });
      case "renaming":
        return service.change({ kind, pesel, key, ...names });
      case "closing":
        return service.change({ kind, pesel, key });
      case "block":
      case "unblock":
        return service.change({ kind, pesel, key, reason: kind === "block" ? "freeze" : "lifted" });
      case "reversal":
        return service.change({ kind, pesel, key, reverses: reverses ?? "", reason: "a slip" });
    }
  };
  try {
    const { receiptId, replayed, ...answer } = await ask();
    const settled = "account" in answer ? answer.account : undefined;
    const told: Answer = {
      receipt: receiptId,
      account: settled && JSON.parse(JSON.stringify(encodeAccount(settled))),
      state: settled?.closed ? "closed" : settled?.blocked ? "blocked" : undefined,
    };
    const text = (_name: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);
    return { told, replayed, whole: JSON.stringify(answer, text) };
  } catch (error) {
    assert.ok(error instanceof FxError, String(error));
    const { code, message: detail, replayed } = error;
    return { told: { code, detail } as Answer, replayed, whole: `${code} ${detail}` };
  }
}

const over = { http: overHttp, bulk: overBulk, process: inProcess };
/** With these the key stays free, as docs/ERRORS.md says. */
const kept =
  /^(account-(not-found|exists|closed|not-empty)|already-reversed|insufficient-funds|balance-limit|unsupported-currency|amount-too-small|underage)$/;

/** Carries out the steps and gives how many repetitions there were, and of accounts that had changed hands. */
async function play(server: TestServer, sequence: readonly Step[], run: number): Promise<void> {
  const made: Made[] = [];
  const entries: [string[], string[]] = [[], []];
  const repeat = async (earlier: Made, wished: Channel) => {
    const channel = wished === "bulk" && !isBulk(earlier.asked) ? "http" : wished;
    const again = await over[channel](server, earlier);
    const about = `${earlier.key} ${earlier.asked.kind} over ${channel}`;
    assert.deepEqual(again.told, earlier.first, about);
    assert.equal(again.whole, earlier.whole.get(channel) ?? again.whole, about);
    assert.ok(again.replayed, about);
    earlier.whole.set(channel, again.whole);
  };
  for (const [nth, step] of sequence.entries()) {
    server.clock.now = new Date(server.clock.now.getTime() + 1000);
    if ("repeat" in step) {
      const earlier = made.at(-1 - (step.repeat % Math.max(1, made.length)));
      if (earlier !== undefined) await repeat(earlier, step.channel);
      continue;
    }
    const { ask: asked } = step;
    const known = entries[asked.account];
    const reverses = known.at(-1 - (asked.back % Math.max(1, known.length)));
    if (asked.kind === "reversal" && reverses === undefined) continue;
    const channel = asked.channel === "bulk" && !isBulk(asked) ? "http" : asked.channel;
    const key = `${run}:${nth}`;
    const request = { asked, key, reverses, whole: new Map() };
    const { told, whole, replayed } = await over[channel](server, request);
    assert.equal(replayed, false);
    if (told.receipt !== undefined) known.push(told.receipt);
    if (told.code === undefined || kept.test(told.code)) {
      made.push({ ...request, first: told, whole: new Map([[channel, whole]]) });
    }
  }
  for (const earlier of made.reverse()) for (const channel of channels) await repeat(earlier, channel);
}

for (const adapter of adapters) {
  test(`A key is answered with its first answer over any channel, over ${adapter.name}`, async (t) => {
    const server = await startServer({}, "", { store: await adapter.open(t) });
    let run = 0;
    try {
      const runs = {
        numRuns: adapter.name === "memory:" ? 25 : 6,
        endOnFailure: true,
        includeErrorInReport: true,
      };
      await fc.assert(
        fc.asyncProperty(steps, async (sequence) => {
          run += 1;
          await play(server, sequence, run);
        }),
        runs,
      );
    } finally {
      await server.close();
    }
  });

  test(`A key of a long account, or of one opened again for another holder, has its first answer, over ${adapter.name}`, async (t) => {
    const server = await startServer({}, "", { store: await adapter.open(t) });
    const on = (kind: Kind, holder = 0, amount = "1"): Step => ({
      ask: { kind, channel: "http", account: 0, holder, from: 0, to: 1, amount, back: 0 },
    });
    const deposits = (count: number) => Array.from({ length: count }, () => on("deposit"));
    try {
      await play(
        server,
        [
          ...[on("opening", 0, "0"), ...deposits(100), on("renaming", 1), ...deposits(20)],
          ...[on("withdrawal", 0, "120"), on("withdrawal", 0, "120"), on("closing"), on("closing")],
          ...[
            on("opening", 2, "0"),
            ...deposits(3),
            on("withdrawal", 0, "3"),
            on("closing"),
            on("opening", 1, "0"),
          ],
        ],
        0,
      );
    } finally {
      await server.close();
    }
  });
}
