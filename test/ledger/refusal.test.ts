import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { parseOpening } from "../../src/core/account.ts";
import { pln } from "../../src/core/currency.ts";
import type { ErrorCode, FxError } from "../../src/core/errors.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { adapters } from "../support/adapters.ts";
import { adult, decimal, now, opening, peselOf, table, terms, tradedRates } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";
import { refuses } from "../support/service.ts";

const dayMs = 86_400_000;
const otherRates = tableOf("109/C/NBP/2026", "2026-06-09", {
  USD: [3.63, 3.71],
  THB: [0.1, 0.2],
  EUR: [0.004, 0.005],
  HUF: [49, 50],
});

/** The outcome of a request: the code of its refusal, and whether it was answered before. */
async function outcome(answer: Promise<{ replayed: boolean }>): Promise<string> {
  const [what, replayed] = await answer.then(
    (settled) => ["settled", settled.replayed],
    (error: FxError) => [error.code, error.replayed],
  );
  return replayed ? `${what} before` : `${what}`;
}

type Step = readonly [day: number, order: string, key: string | undefined, outcome: string, token?: string];
const poor = "insufficient-funds";

/** Orders in turn, of an account that holds PLN, in a ledger that keeps the two newest refusals. */
const stories: readonly [rule: string, ...steps: readonly Step[]][] = [
  [
    "A refusal without a key is not kept",
    [0, "sell 1 USD for PLN", undefined, poor],
    [0, "buy 1 USD for PLN", undefined, "settled"],
    [0, "sell 1 USD for PLN", undefined, "settled"],
  ],
  [
    "A refusal is kept for 30 days",
    [0, "sell 1 USD for PLN", "a", poor],
    [0, "sell 2 USD for PLN", "b", poor],
    [0, "buy 1 USD for PLN", undefined, "settled"],
    [30, "sell 1 USD for PLN", "a", `${poor} before`],
    [30 + 1 / dayMs, "sell 1 USD for PLN", "a", "settled"],
    [0, "sell 1 USD for PLN", "a", "settled before"],
    [31, "sell 2 USD for PLN", "b", poor],
    [31, "sell 1 USD for PLN", "a", "settled before"],
    [31, "sell 2 USD for PLN", "b", `${poor} before`],
  ],
  [
    "A refusal is kept until there are too many newer ones",
    ...["a", "b", "c"].map((key): Step => [0, "sell 1 USD for PLN", key, poor]),
    [0, "buy 1 USD for PLN", undefined, "settled"],
    [0, "sell 1 USD for PLN", "b", `${poor} before`],
    [0, "sell 1 USD for PLN", "c", `${poor} before`],
    [0, "sell 1 USD for PLN", "a", "settled"],
  ],
  [
    "A refusal is the newest when it is given again after 30 days",
    [0, "sell 1 USD for PLN", "a", poor],
    [31, "sell 1 USD for PLN", "a", poor],
    [31, "sell 1 USD for PLN", "b", poor],
    [31, "sell 1 USD for PLN", "a", `${poor} before`],
  ],
  [
    "A refusal leaves its key to another token once it is not kept any more",
    [0, "sell 1 USD for PLN", "k", poor, "anna"],
    [0, "sell 1 USD for PLN", "k", "idempotency-key-reused", "jan"],
    [31, "sell 1 USD for PLN", "k", poor, "jan"],
    [31, "sell 1 USD for PLN", "k", "idempotency-key-reused", "anna"],
    [31, "sell 1 USD for PLN", "k", `${poor} before`, "jan"],
  ],
];

for (const adapter of adapters) {
  describe(`a refusal over ${adapter.name}`, () => {
    async function start(t: TestContext, options: { store?: Store; most?: number } = {}) {
      const store = options.store ?? (await adapter.open(t));
      const rates = await tradedRates(store);
      const clock = { now };
      const service = new LedgerService(store, rates, () => clock.now, { refusalsAtMost: options.most });
      if (options.store === undefined) await service.createAccount(opening());
      const order = (words: string, key?: string, index = 0, by?: string) =>
        service.exchange({ ...terms(words), pesel: adult(index), key, by });
      return { store, service, rates, clock, order };
    }
    type Start = Awaited<ReturnType<typeof start>>;

    const cash = (kind: "deposit" | "withdrawal", pesel: Pesel, amount: string, key?: string) =>
      ({ kind, pesel, amount: decimal(amount), currency: pln, note: undefined, key }) as const;
    const minor = (clock: Date) =>
      parseOpening(
        { pesel: peselOf("0826180001"), name: "A", surname: "B", initial: decimal("1"), key: "k" },
        clock.toISOString().slice(0, 10),
      );
    const finals: [
      code: ErrorCode,
      ask: (ledger: Start) => Promise<{ replayed: boolean }>,
      change: (ledger: Start) => Promise<unknown>,
    ][] = [
      [
        "insufficient-funds",
        ({ order }) => order("sell 10 USD for PLN", "k"),
        ({ order }) => order("buy 20 USD for PLN"),
      ],
      [
        "balance-limit",
        ({ order }) => order("sell 9999999999999 PLN for HUF", "k", 1),
        ({ rates }) => rates.use(otherRates),
      ],
      [
        "unsupported-currency",
        ({ order }) => order("buy 1 THB for PLN", "k"),
        ({ rates }) => rates.use(otherRates),
      ],
      [
        "amount-too-small",
        ({ order }) => order("sell 0.01 PLN for EUR", "k"),
        ({ rates }) => rates.use(otherRates),
      ],
      [
        "account-not-found",
        ({ order }) => order("buy 1 USD for PLN", "k", 2),
        ({ service }) => service.createAccount(opening({ index: 2 })),
      ],
      ["account-exists", ({ service }) => service.createAccount(opening({ key: "k" })), async () => {}],
      [
        "underage",
        ({ service, clock }) => service.createAccount(minor(clock.now)),
        async ({ clock }) => {
          clock.now = new Date("2026-06-19T12:00:00Z");
        },
      ],
      [
        "account-not-empty",
        ({ service }) => service.change({ kind: "closing", pesel: adult(), key: "k" }),
        ({ service }) => service.change(cash("withdrawal", adult(), "1000")),
      ],
      [
        "account-closed",
        async ({ service }) => {
          await service.createAccount(opening({ index: 3, pln: "0", key: "open" }));
          await service.change({ kind: "closing", pesel: adult(3), key: "close" });
          return service.change(cash("deposit", adult(3), "1", "k"));
        },
        ({ service }) => service.createAccount(opening({ index: 3 })),
      ],
      [
        "account-blocked",
        async ({ service }) => {
          await service.createAccount(opening({ index: 4, key: "open" }));
          await service.change({ kind: "block", pesel: adult(4), reason: "freeze", key: "block" });
          return service.change(cash("withdrawal", adult(4), "1", "k"));
        },
        ({ service }) => service.change({ kind: "unblock", pesel: adult(4), reason: "lifted" }),
      ],
      [
        "account-not-blocked",
        ({ service }) => service.change({ kind: "unblock", pesel: adult(), reason: "lifted", key: "k" }),
        ({ service }) => service.change({ kind: "block", pesel: adult(), reason: "freeze" }),
      ],
      [
        "already-reversed",
        async ({ service, order }) => {
          const { receiptId: reverses } = await order("buy 1 USD for PLN", "buy");
          const undone = { kind: "reversal", pesel: adult(), reverses, reason: "a slip" } as const;
          await service.change({ ...undone, key: "first" });
          return service.change({ ...undone, key: "k" });
        },
        async () => {},
      ],
    ];
    for (const [code, ask, change] of finals) {
      test(`A refusal as ${code} is the answer for good, whatever changes`, async (t) => {
        const ledger = await start(t);
        await ledger.service.createAccount(opening({ index: 1, pln: "9999999999999.99" }));
        const first = await refuses(ask(ledger), code);
        await change(ledger);
        const { entries } = await ledger.service.audit();
        const again = await refuses(ask(ledger), code, first.message);
        assert.deepEqual([first.replayed, again.replayed], [false, true]);
        const audit = await ledger.service.audit();
        assert.deepEqual([audit.entries, audit.findings], [entries, []]);
      });
    }

    test("A refused order is asked again under a new key, and then carried out", async (t) => {
      for (const [code, ask, change] of finals.slice(0, 5)) {
        const ledger = await start(t);
        await ledger.service.createAccount(opening({ index: 1, pln: "9999999999999.99" }));
        await refuses(ask(ledger), code);
        await change(ledger);
        const { order, ...rest } = ledger;
        const renamed = (words: string, _key?: string, index?: number) => order(words, "new", index);
        assert.equal(await outcome(ask({ order: renamed, ...rest })), "settled", code);
      }
    });

    test("A refusal under its key is no answer to another body", async (t) => {
      const { service, order } = await start(t);
      await refuses(order("sell 10 USD for PLN", "k"), "insufficient-funds");
      for (const words of ["sell 11 USD for PLN", "buy 10 USD for PLN", "sell 10 EUR for PLN"]) {
        await refuses(order(words, "k"), "idempotency-key-reused");
      }
      await refuses(service.createAccount(opening({ key: "k" })), "idempotency-key-reused");
      assert.equal(await outcome(order("sell 10.00 usd for pln", "k")), "insufficient-funds before");
    });

    test("A refusal belongs to the account: another account may use the key", async (t) => {
      const { service, order } = await start(t);
      await service.createAccount(opening({ index: 1 }));
      await refuses(order("sell 2000 PLN for USD", "k"), "insufficient-funds");
      assert.equal(await outcome(order("buy 1 USD for PLN", "k", 1)), "settled");
    });

    test("A refusal is not kept where nothing was decided, or the order is wrong in itself", async (t) => {
      const { service, order, rates } = await start(t);
      await rates.use(undefined);
      await refuses(order("buy 1 USD for PLN", "k"), "rates-unavailable");
      await rates.use(table);
      const pinned = { ...terms("buy 1 USD for PLN"), pesel: adult(), key: "k", table: "1/C/NBP/2020" };
      await refuses(service.exchange(pinned), "rate-changed");
      await refuses(order("buy 0.001 USD for PLN", "k"), "invalid-amount");
      assert.equal(await outcome(order("buy 1 USD for PLN", "k")), "settled");
    });

    test("A refusal in a batch leaves its neighbours alone, and is the answer to its key there too", async (t) => {
      const { service, order } = await start(t);
      const words = ["buy 1 USD for PLN", "sell 5 USD for PLN", "buy 9 USD for PLN", "sell 5 USD for PLN"];
      const keys = ["a", "b", "c", "b"];
      const together = () => Promise.all(words.map((text, index) => outcome(order(text, keys[index]))));
      const refused = "insufficient-funds";
      assert.deepEqual(await together(), ["settled", refused, "settled", `${refused} before`]);
      assert.deepEqual(await together(), [
        "settled before",
        `${refused} before`,
        "settled before",
        `${refused} before`,
      ]);
      assert.deepEqual((await service.audit()).findings, []);
    });

    test("A refusal is not kept under a key whose order was carried out", async (t) => {
      const { service, order } = await start(t);
      await order("sell 1000 PLN for USD", "k");
      assert.equal(await outcome(order("sell 1000 PLN for USD", "k")), "settled before");
      await refuses(order("sell 1 PLN for USD", "k"), "idempotency-key-reused");
      await refuses(order("sell 1 PLN for USD", "other"), "insufficient-funds");
      assert.equal(await outcome(order("sell 1000 PLN for USD", "k")), "settled before");
      assert.equal((await service.audit()).entries, 2);
    });

    for (const [rule, ...steps] of stories) {
      test(rule, async (t) => {
        const { order, clock } = await start(t, { most: 2 });
        for (const [day, words, key, expected, token] of steps) {
          clock.now = new Date(now.getTime() + day * dayMs);
          assert.equal(await outcome(order(words, key, 0, token)), expected, `day ${day}, ${words}, ${key}`);
        }
      });
    }

    if (adapter.database !== undefined) {
      const { database } = adapter;

      test("A refusal is the answer of another process, too, and after a restart, and is kept from other tokens", async (t) => {
        const { open } = await database(t);
        const first = await start(t, { store: await open() });
        await first.service.createAccount(opening());
        const other = await start(t, { store: await open() });
        const sell = ({ order }: Start, by: string) => order("sell 1 USD for PLN", "k", 0, by);
        await refuses(sell(first, "anna"), "insufficient-funds");
        await refuses(sell(other, "jan"), "idempotency-key-reused");
        await other.order("buy 1 USD for PLN");
        assert.equal(await outcome(sell(other, "anna")), "insufficient-funds before");
        await first.service.close();
        const again = await start(t, { store: await open() });
        await refuses(sell(again, "jan"), "idempotency-key-reused");
        assert.equal(await outcome(sell(again, "anna")), "insufficient-funds before");
      });

      test("A refusal is one answer for two processes that are asked at once, while the account changes", async (t) => {
        const { open } = await database(t);
        const [one, other] = [
          await start(t, { store: await open() }),
          await start(t, { store: await open() }),
        ];
        await one.service.createAccount(opening());
        const seen = new Set<string>();
        for (let round = 0; round < 25; round += 1) {
          const ask = ({ order }: Start) => outcome(order(`sell 10 USD for PLN`, `k${round}`));
          const change = (round % 2 === 0 ? one : other).order("buy 10 USD for PLN");
          const answers = await Promise.all([ask(one), ask(other), ask(one)]);
          await change;
          const [first = ""] = answers.filter((answer) => !answer.endsWith(" before"));
          seen.add(first);
          assert.deepEqual(answers.toSorted(), [first, `${first} before`, `${first} before`]);
          // Leaves no dollars for the next round.
          await outcome(one.order("sell 10 USD for PLN"));
        }
        assert.deepEqual((await one.service.audit()).findings, []);
        assert.ok([...seen].every((answer) => ["settled", "insufficient-funds"].includes(answer)));
      });

      test("A refusal for an unknown account is one answer of two processes that are asked at once", async (t) => {
        const { open, run } = await database(t);
        const [one, other] = [
          await start(t, { store: await open() }),
          await start(t, { store: await open() }),
        ];
        const ask = ({ order }: Start) => outcome(order("buy 1 USD for PLN", "k", 5));
        const answers = await Promise.all([one, other, one, other].map(ask));
        assert.ok(
          answers.every((answer) => answer.startsWith("account-not-found")),
          answers.join(),
        );
        assert.equal((await run("select * from refusal")).length, 1);
        assert.equal(await outcome(one.order("buy 2 USD for PLN", "k", 5)), "idempotency-key-reused");
      });

      test("A refusal is kept without the body, and goes when its time has come, also after some that are dated ahead", async (t) => {
        const { open, run } = await database(t);
        const { service, order, clock } = await start(t, { store: await open() });
        await service.createAccount(opening());
        clock.now = new Date(now.getTime() + 400 * dayMs);
        for (const key of ["x", "y", "z"])
          await refuses(order("sell 1 USD for PLN", key), "insufficient-funds");
        clock.now = now;
        await refuses(service.createAccount(opening({ name: "Ewelina", key: "k" })), "account-exists");
        const [row] = (await run("select * from refusal where idempotency_key = 'k'")) as Record<
          string,
          unknown
        >[];
        assert.equal(row?.code, "account-exists");
        assert.doesNotMatch(JSON.stringify(Object.values(row ?? {}).map(String)), /Ewelina/);
        clock.now = new Date(now.getTime() + 31 * dayMs);
        await refuses(order("sell 1 USD for PLN", "other"), "insufficient-funds");
        const kept = (await run("select * from refusal order by position")) as Record<string, unknown>[];
        assert.deepEqual(
          kept.map((one) => one.idempotency_key),
          ["x", "y", "z", "other"],
        );
      });
    }
  });
}
