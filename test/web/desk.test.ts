import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { type ErrorCode, FxError } from "../../src/core/errors.ts";
import { houseNumber } from "../../src/core/house.ts";
import { NoAnswer } from "../../src/web/answers.ts";
import { type Order, orderOut } from "../../src/web/customer.ts";
import { Desk, emptyDraft } from "../../src/web/desk.ts";
import { Reads } from "../../src/web/reads.ts";
import {
  cash,
  change,
  type ExchangeTermsJson,
  opening,
  reversal,
  trading,
  tradingNumber,
} from "../../src/web/requests.ts";
import type { EntryJson } from "../../src/wire/entries.ts";
import { storage } from "./storage.ts";

/** The fate of one request, however late its answer is. */
const fates = [
  "answered",
  "done, and its answer lost",
  "lost on its way",
  "given up, and delivered later",
  "unauthorized",
  "overloaded",
  "storage-unavailable",
  "insufficient-funds",
  "rate-changed",
  "idempotency-key-reused",
] as const;
type Fate = (typeof fates)[number];

function refusal(code: ErrorCode): FxError {
  return new FxError(code, "Not now.");
}

/** A server whose answers come when `scheduler` lets them, and whose requests fare as `fateOf` says. */
function serverOf(scheduler: fc.Scheduler, fateOf: () => Fate) {
  /** The bodies that were carried out, by key, and those that were refused for good. */
  const done = new Map<string, string>();
  const refused = new Map<string, ErrorCode>();
  const sent: { readonly path: string; readonly key: string; readonly body: string }[] = [];
  const answer = <T>(value: () => T): Promise<T> => scheduler.schedule(Promise.resolve()).then(value);
  return {
    done,
    sent,
    get<T>(url: string): Promise<T> {
      const fate = fateOf();
      return answer(() => {
        if (fate === "lost on its way") throw new NoAnswer();
        if (fate === "overloaded") throw refusal("overloaded");
        const query = new URLSearchParams(url.split("?")[1]);
        const key = query.get("key") ?? "";
        const side = query.has("toBuy") ? "toBuy" : "toSell";
        if (fate.startsWith("given up")) throw new NoAnswer();
        const moneys = { sold: { symbol: "PLN", amount: 4 }, bought: { symbol: "USD", amount: 1 } };
        if (url.startsWith("api/quote"))
          return { ...moneys, side, tableId: "t", amount: query.get(side) } as T;
        if (url.includes("/history")) return { entries: done.has(key) ? [{ id: `of ${key}` }] : [] } as T;
        return { name: "Jan", surname: url, pesel: url.slice(-1), currencies: [] } as T;
      });
    },
    change(path: string, { body, key }: { readonly body: object; readonly key: string }) {
      sent.push({ path, key, body: JSON.stringify(body) });
      const fate = fateOf();
      const isLate = fate === "given up, and delivered later";
      if (isLate) {
        void answer(() => {
          if (!done.has(key) && !refused.has(key)) done.set(key, JSON.stringify(body));
        });
      }
      return answer(() => {
        if (fate === "lost on its way" || isLate) throw new NoAnswer();
        const isFirst = !done.has(key) && !refused.has(key);
        // A database that fails may have committed.
        const isDone = fate === "answered" || fate.startsWith("done") || fate === "storage-unavailable";
        if (isFirst && isDone) done.set(key, JSON.stringify(body));
        // A rate table that has gone does not come back.
        const isFinal = fate === "insufficient-funds" || fate === "rate-changed";
        if (isFirst && isFinal) refused.set(key, fate);
        if (fate.startsWith("done")) throw new NoAnswer();
        if (fate === "unauthorized" || fate === "overloaded" || fate === "storage-unavailable")
          throw refusal(fate);
        // The key of a request that came with another token.
        if (fate === "idempotency-key-reused" && !isFirst) throw refusal(fate);
        // Whatever becomes of a repeated request, it gets the first answer.
        if (!done.has(key)) throw refusal(refused.get(key) ?? (fate as ErrorCode));
        return `of ${key}`;
      });
    },
  };
}

const few = (deed: string, count: number) => Array.from({ length: count }, () => deed);
const customers = ["1", "2"] as const;
const buy1: ExchangeTermsJson = { from: "PLN", to: "USD", side: "toBuy", amount: 1 };
const pln5 = { symbol: "PLN", amount: 5 };
/** Questions that a teller has the desk ask. */
const questions = {
  exchange: (desk: Desk, pesel: string) => desk.askExchange(pesel, buy1),
  deposit: (desk: Desk, pesel: string) => desk.ask(pesel, cash("deposit", pesel, pln5)),
  withdrawal: (desk: Desk, pesel: string) => desk.ask(pesel, cash("withdrawal", pesel, pln5)),
  closing: (desk: Desk, pesel: string) => desk.ask(pesel, change("closing", pesel)),
} as const;
type Kind = keyof typeof questions;
const deed = fc.record({
  pesel: fc.constantFrom(...customers),
  does: fc.constantFrom(
    ...["asks", "types", "cancels", "looks", "gives up"],
    ...few("confirms", 4),
    ...few("waits", 12),
  ),
  kind: fc.constantFrom(...(Object.keys(questions) as Kind[])),
});

/** A server that answers at once, whose requests have these fates, and later ones are answered. */
function promptServer(...fated: Fate[]) {
  const scheduler = { schedule: <T>(work: Promise<T>) => work } as fc.Scheduler;
  return serverOf(scheduler, () => fated.shift() ?? "answered");
}

/** A desk at which a deposit was asked for, and the yes was given; the fate of its request is `fate`. */
async function depositing(fate: Fate) {
  const server = promptServer("answered", fate);
  const kept = storage();
  const desk = new Desk(server, new Reads(server), kept);
  await desk.ask("1", cash("deposit", "1", pln5));
  const { at } = desk.customer("1");
  assert.ok(at?.stage === "asked");
  const { order } = at;
  await desk.confirm("1", order.key);
  return { server, kept, desk, order };
}

describe("what is under way at the counter", () => {
  test("An order stays open when what answers it gives no receipt, as something between the page and fx may", async () => {
    const server = promptServer();
    const kept = storage();
    const desk = new Desk({ get: server.get, change: async () => "" }, new Reads(server), kept);
    await desk.ask("1", cash("deposit", "1", pln5));
    await desk.confirm("1", (desk.customer("1").at as { readonly order: Order }).order.key);
    assert.equal(desk.customer("1").at?.stage, "unknown");
    assert.equal(new Desk(server, new Reads(server), kept).out.length, 1);
  });

  test("No order is lost, doubled or carried out unseen, however late, lost or refused its answers are", async () => {
    let [sent, done] = [0, 0];
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(deed, { minLength: 20, maxLength: 80 }),
        fc.array(fc.constantFrom("answered", "answered", ...fates), { minLength: 1, maxLength: 40 }),
        async (scheduler, deeds, fated) => {
          let nth = 0;
          const server = serverOf(scheduler, () => fated[nth++ % fated.length] as Fate);
          const kept = storage();
          const desk = new Desk(server, new Reads(server), kept);
          /** The orders that a yes was given to, by key. */
          const agreed = new Map<string, Order>();
          const settled = new Set<string | undefined>();
          const givenUp = new Set<string>();
          desk.watch(() => {
            for (const pesel of customers) settled.add(desk.customer(pesel).receiptId);
          });
          const wanted = new Map<string, Kind | undefined>();
          for (const { pesel, does, kind } of deeds) {
            const before = desk.customer(pesel);
            const outBefore = orderOut(before);
            if (does === "asks") void questions[kind](desk, pesel);
            if (does === "types" || does === "cancels") desk.tell(pesel, { is: "cancels" });
            if (does === "looks") void desk.look(pesel);
            if (does === "gives up" && outBefore !== undefined) {
              if (before.at?.stage === "unknown") givenUp.add(outBefore.key);
              desk.tell(pesel, { is: "gives up", key: outBefore.key });
            }
            if (does === "waits" && scheduler.count() > 0) await scheduler.waitOne();
            const { at } = before;
            if (does === "confirms" && at !== undefined && at.stage !== "asking") {
              if (at.stage === "asked") agreed.set(at.order.key, at.order);
              void desk.confirm(pesel, at.order.key);
            }
            if (outBefore === undefined && (does === "asks" || does === "types" || does === "cancels")) {
              wanted.set(pesel, does === "asks" ? kind : undefined);
            }
            await nextTurn();
            const now = desk.customer(pesel);
            if (outBefore !== undefined && does !== "waits" && !givenUp.has(outBefore.key)) {
              assert.equal(orderOut(now)?.key, outBefore.key, "an order that is out was given up");
            }
            if (now.at?.stage === "asked" && now.message === undefined) {
              assert.equal(now.at.order.kind, wanted.get(pesel), "the question is not the last asked");
            }
          }
          const restored = new Desk(server, new Reads(server), kept);
          assert.deepEqual(restored.out.map(({ key }) => key).sort(), desk.out.map(({ key }) => key).sort());
          await scheduler.waitAll();
          await nextTurn();
          sent += server.sent.length;
          done += server.done.size;
          const out = new Set(desk.out.map(({ key }) => key));
          for (const [key, body] of server.done) {
            const order = agreed.get(key);
            assert.equal(JSON.stringify(order?.body), body, "what was done was not what was agreed to");
            const isTold = out.has(key) || settled.has(`of ${key}`) || givenUp.has(key);
            assert.ok(isTold, "it was done, and the page does not say so");
          }
          for (const { key } of server.sent) assert.ok(agreed.has(key), "it was sent without a yes");
        },
      ),
      { numRuns: 400, includeErrorInReport: true },
    );
    assert.ok(sent > done && done > 20, `${done} of ${sent} sent orders were done`);
  });

  test("A question shows the account as it was read last, also where the answer to an earlier read is late", async () => {
    let version = 1;
    const held: (() => void)[] = [];
    const get = async <T>() => {
      const account = { name: `Name ${version}`, surname: "", currencies: [] };
      await new Promise<void>((resolve) => void held.push(resolve));
      return account as T;
    };
    const server = { get, change: () => assert.fail() };
    const reads = new Reads(server);
    const desk = new Desk(server, reads, storage());
    const shown: string[] = [];
    reads.watch(() => {
      const { name } = reads.get<{ name: string }>("api/user/1").value ?? {};
      if (name !== undefined && name !== shown.at(-1)) shown.push(name);
    });
    const letGo = async (nth: number) => {
      held.splice(nth, 1)[0]?.();
      await nextTurn();
    };
    reads.use("api/user/1");
    await letGo(0);
    void desk.ask("1", change("closing", "1"));
    version = 2;
    reads.refresh();
    await letGo(1);
    assert.deepEqual(shown, ["Name 1", "Name 2"]);
    await letGo(0);
    const { at } = desk.customer("1");
    assert.ok(at?.stage === "asked" && at.order.holder.name === "Name 2");
    assert.deepEqual(shown, ["Name 1", "Name 2"]);
  });

  test("An order that is not in the statement so far keeps its key, and is settled by the same key only", async () => {
    const { server, desk, order } = await depositing("lost on its way");
    const { key } = order;
    await desk.look("1");
    assert.deepEqual(desk.customer("1").message, { text: "notSoFar" });
    await desk.ask("1", cash("deposit", "1", pln5));
    assert.equal(orderOut(desk.customer("1"))?.key, key);
    await desk.confirm("1", key);
    assert.deepEqual([desk.out, [...server.done.keys()]], [[], [key]]);
  });

  test("An order without an answer survives a reload under its key, and is sent again as it was", async () => {
    const { server, kept, desk, order } = await depositing("done, and its answer lost");
    assert.equal(desk.customer("1").at?.stage, "unknown");
    const reloaded = new Desk(server, new Reads(server), kept);
    assert.deepEqual(reloaded.out, [order]);
    await reloaded.confirm("1", order.key);
    assert.equal(reloaded.out.length, 0);
    assert.equal(kept.getItem("fx-orders"), null);
    assert.equal(server.sent.length, 2);
    assert.deepEqual(server.sent[0], server.sent[1]);
    assert.equal(server.done.size, 1);
  });

  for (const fate of ["done, and its answer lost", "lost on its way"] as const) {
    test(`An order that was ${fate} is not taken for refused because its key was used with another token`, async () => {
      const { server, kept, order } = await depositing(fate);
      const { key } = order;
      const change = () => Promise.reject(refusal("idempotency-key-reused"));
      const ofAnotherTeller = new Desk({ get: server.get, change }, new Reads(server), kept);
      await ofAnotherTeller.confirm("1", key);
      const { receiptId, message } = ofAnotherTeller.customer("1");
      const isDone = server.done.has(key);
      assert.deepEqual(
        [receiptId, message, ofAnotherTeller.out.length],
        isDone ? [`of ${key}`, undefined, 0] : [undefined, { text: "notSoFar" }, 1],
      );
    });
  }

  test("A sign-in that ran out while an order was priced leaves the ticket as it was, without a message", async () => {
    const get = () => Promise.reject(refusal("unauthorized"));
    const desk = new Desk({ get, change: () => assert.fail() }, new Reads({ get }), storage());
    desk.edit("1", { amount: "7" });
    await desk.askExchange("1", buy1);
    const { at, message } = desk.customer("1");
    assert.deepEqual([at, message, desk.draft("1").amount], [undefined, undefined, "7"]);
  });

  test("A suspension outlives a sign-in that ran out with its reason, and is done once the rates have that reason", async () => {
    let suspension: object | null = null;
    const get = async <T>() => ({ suspension }) as T;
    const fates = [refusal("unauthorized"), undefined, new NoAnswer()];
    const change = async () => {
      const fate = fates.shift();
      if (fate !== undefined) throw fate;
      return "";
    };
    const desk = new Desk({ get, change }, new Reads({ get }), storage());
    desk.askAtOnce(trading("suspension"));
    const { order } = desk.customer(tradingNumber).at as { readonly order: Order };
    const { key } = order;
    desk.tell(tradingNumber, { is: "gives reason", key, reason: "a pause" });
    await desk.confirm(tradingNumber, key);
    assert.deepEqual(desk.customer(tradingNumber), {
      at: { stage: "asked", order: { ...order, body: { reason: "a pause" } } },
      message: { text: "notSent", key },
      done: undefined,
      receiptId: undefined,
    });
    for (const fate of ["answered by something else", "lost"]) {
      await desk.confirm(tradingNumber, key);
      assert.equal(desk.customer(tradingNumber).at?.stage, "unknown", fate);
    }
    for (suspension of [null, { reason: "another operator's" }]) {
      await desk.look(tradingNumber);
      assert.deepEqual(desk.customer(tradingNumber).message, { text: "tradingDiffers" });
    }
    suspension = { reason: "a pause" };
    await desk.look(tradingNumber);
    assert.deepEqual([desk.out, desk.outcomes.map((end) => "failure" in end)], [[], [true, false]]);
  });

  test("Another teller is told why the order of the one before is refused, whose outcome stays unknown", async () => {
    const fates = [new NoAnswer(), refusal("forbidden")];
    const server = { get: promptServer().get, change: () => Promise.reject(fates.shift()) };
    const desk = new Desk(server, new Reads(server), storage());
    desk.handOver("first");
    await desk.ask("1", cash("deposit", "1", pln5));
    const { key } = (desk.customer("1").at as { readonly order: Order }).order;
    await desk.confirm("1", key);
    assert.equal(desk.handOver("second"), true);
    const failure = fates[0];
    await desk.confirm("1", key);
    assert.deepEqual([desk.out[0]?.by, desk.customer("1").message], ["first", { failure }]);
  });

  for (const code of ["unauthorized", "rate-changed"] as const) {
    test(`An order answered ${code} is told until it was shown, and asked about again only while its teller is there`, async () => {
      for (const teller of ["first", "second"]) {
        const { get } = promptServer();
        const answers: ((failure: unknown) => void)[] = [];
        const change = () => new Promise<string>((_, reject) => void answers.push(reject));
        const desk = new Desk({ get, change }, new Reads({ get }), storage());
        desk.handOver("first");
        await desk.askExchange("1", buy1);
        const { order } = desk.customer("1").at as { readonly order: Order };
        const confirmed = desk.confirm("1", order.key);
        desk.handOver(teller);
        const failure = refusal(code);
        answers[0]?.(failure);
        await confirmed;
        await nextTurn();
        assert.deepEqual(desk.outcomes, [{ order, failure }]);
        const { at, message } = desk.customer("1");
        const isThere = teller === "first";
        assert.deepEqual([at?.stage, message?.key], isThere ? ["asked", order.key] : [undefined, undefined]);
        desk.dismiss(order.key);
        assert.deepEqual(desk.outcomes, []);
      }
    });
  }

  test("A refusal of a price that is gone is told until a question at the next price tells it", async () => {
    const { get: answer } = promptServer();
    const next: ((failure: unknown) => void)[] = [];
    let get: typeof answer = answer;
    const server = {
      get: <T>(url: string) => get<T>(url),
      change: () => Promise.reject(refusal("rate-changed")),
    };
    const desk = new Desk(server, new Reads(server), storage());
    await desk.askExchange("1", buy1);
    const { order } = desk.customer("1").at as { readonly order: Order };
    get = <T>() => new Promise<T>((_, reject) => void next.push(reject));
    await desk.confirm("1", order.key);
    const refused = desk.customer("1").message;
    assert.ok(refused !== undefined && "failure" in refused && refused.key === order.key);
    assert.equal(desk.customer("1").at?.stage, "asking");
    for (const failure of [new NoAnswer(), refusal("unauthorized")]) {
      for (const refuse of next.splice(0)) refuse(failure);
      await nextTurn();
      assert.deepEqual([desk.customer("1").at, desk.customer("1").message], [undefined, refused]);
      void desk.askExchange("1", buy1);
      assert.equal(desk.customer("1").message, refused);
    }
  });

  test("What is typed is kept for its customer, and a reversal is sent with the reason typed for it", async () => {
    const server = promptServer();
    const desk = new Desk(server, new Reads(server), storage());
    const typed = { name: "Jan", surname: "Nowy", amount: "7" };
    assert.equal(desk.isInUse, false);
    desk.edit("1", typed);
    assert.equal(desk.isInUse, true);
    const entry = { id: "e", kind: "deposit", time: "2026-06-08T12:00:00Z" } as EntryJson;
    for (const reason of ["wrong sum", "wrong currency"]) {
      await desk.ask("1", reversal("1", entry));
      const { at } = desk.customer("1");
      assert.ok(at?.stage === "asked");
      const { key } = at.order;
      desk.tell("1", { is: "gives reason", key, reason });
      desk.tell("1", { is: "gives reason", key: "of another order", reason: "another" });
      await desk.confirm("1", key);
      assert.equal(server.sent.at(-1)?.body, JSON.stringify({ reason }));
    }
    assert.deepEqual(desk.draft("1"), { ...emptyDraft, ...typed });
    assert.deepEqual(desk.draft("2"), emptyDraft);
    desk.edit("1", emptyDraft);
    assert.equal(desk.isInUse, false);
    desk.askAtOnce(opening("3", { name: "Jan", surname: "Nowy" }, 0));
    assert.equal(desk.isInUse, true);
  });

  test("A form for cash keeps its currency after a booking; the house's one has what was typed in either place", async () => {
    const server = promptServer();
    const desk = new Desk(server, new Reads(server), storage());
    const [drawer, bank] = [houseNumber("cash"), houseNumber("bank")];
    const typed = { sum: "250", currency: "GBP", note: "to the bank" };
    for (const [number, other] of [
      ["1", "1"],
      [drawer, bank],
    ] as const) {
      desk.edit(number, typed);
      assert.deepEqual(desk.draft(other), { ...emptyDraft, ...typed });
      await desk.ask(other, cash("deposit", other, { symbol: "GBP", amount: 250 }, typed.note));
      const { at } = desk.customer(other);
      assert.ok(at?.stage === "asked");
      await desk.confirm(other, at.order.key);
      assert.deepEqual(desk.draft(number), { ...emptyDraft, currency: "GBP" });
    }
    assert.deepEqual(
      server.sent.map(({ path }) => path),
      ["api/user/1/deposits", "api/house/deposits"],
    );
  });

  test("An order that is being looked up is neither given up nor sent again, and is told as done once it is found", async () => {
    const { desk, server, order } = await depositing("done, and its answer lost");
    const { key } = order;
    const looked = desk.look("1");
    assert.equal(desk.tell("1", { is: "gives up", key }).at?.stage, "looking");
    await desk.confirm("1", key);
    assert.equal(server.sent.length, 1);
    await looked;
    assert.deepEqual([desk.out, desk.outcomes], [[], [{ order, receiptId: `of ${key}` }]]);
  });

  test("A price that has moved since it was in sight is told beside the new one", async () => {
    let tableId = "1";
    const get = async <T>() => {
      const pln = { symbol: "PLN", amount: Number(tableId) };
      const quote = { side: "toBuy", sold: pln, bought: { symbol: "USD", amount: 1 }, tableId };
      return { ...quote, name: "Jan", surname: "", currencies: [] } as T;
    };
    const reads = new Reads({ get });
    const desk = new Desk({ get, change: () => assert.fail() }, reads, storage());
    const endUse = reads.use("api/quote?from=PLN&to=USD&toBuy=1");
    await nextTurn();
    await desk.askExchange("1", buy1);
    assert.equal(desk.customer("1").message, undefined);
    tableId = "2";
    await desk.askExchange("1", buy1);
    const { at, message } = desk.customer("1");
    assert.ok(message !== undefined && "was" in message && at?.stage === "asked");
    assert.deepEqual([message.was.sold.amount, at.order.quote?.sold.amount], [1, 2]);
    // The ticket asks for no price beside a question.
    endUse();
    tableId = "3";
    void desk.askExchange("1", buy1);
    await desk.askExchange("1", buy1);
    const again = desk.customer("1").message;
    assert.ok(
      again !== undefined && "was" in again && again.was.tableId === "1",
      "the notice went with a click",
    );
  });

  test("A refusal of an order has the account and the rates read again, which say why", async () => {
    const read: string[] = [];
    const get = async <T>(url: string) => {
      read.push(url);
      return { name: "Jan", surname: "", currencies: [] } as T;
    };
    const change = () => Promise.reject(refusal("trading-suspended"));
    const reads = new Reads({ get });
    const desk = new Desk({ get, change }, reads, storage());
    for (const url of ["api/user/1", "api/rates", "api/position"]) reads.use(url);
    await desk.ask("1", cash("deposit", "1", pln5));
    const { at } = desk.customer("1");
    assert.ok(at?.stage === "asked");
    read.length = 0;
    await desk.confirm("1", at.order.key);
    assert.deepEqual(read, ["api/user/1", "api/rates", "api/position"]);
  });

  test("Two tabs that know the same order without an answer carry it out once", async () => {
    const server = promptServer("answered", "lost on its way");
    const kept = new Map<string, string>();
    const desk = new Desk(server, new Reads(server), storage(kept));
    await desk.ask("1", cash("withdrawal", "1", pln5));
    const { at } = desk.customer("1");
    assert.ok(at?.stage === "asked");
    await desk.confirm("1", at.order.key);
    const duplicate = new Desk(server, new Reads(server), storage(new Map(kept)));
    await Promise.all([desk.confirm("1", at.order.key), duplicate.confirm("1", at.order.key)]);
    assert.deepEqual([desk.out, duplicate.out], [[], []]);
    assert.deepEqual([server.sent.length, server.done.size], [3, 1]);
  });
});
