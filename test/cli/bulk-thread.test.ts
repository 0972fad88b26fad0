import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ThreadedBulk } from "../../src/cli/bulk-thread.ts";
import { loadConfig, type Settings } from "../../src/cli/config.ts";
import { openService } from "../../src/cli/open.ts";
import { FxError } from "../../src/core/errors.ts";
import type { BulkAnswer, BulkLine, ExchangeService } from "../../src/core/service.ts";
import { describeBulks } from "../service-bulk.contract.ts";
import { adult, fixedRates, now, opening, terms } from "../support/fixture.ts";

const rates = fileURLToPath(new URL("../fixtures/nbp/table-c-2026-06-08.json", import.meta.url));

function settingsOf(folder: string): Settings {
  return loadConfig({ url: `sqlite:${join(folder, "ledger.db")}`, rates }, {}).settings;
}

/** A service over a ledger in a folder of its own. */
async function open(): Promise<{ service: ExchangeService; settings: Settings; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "fx-bulk-"));
  const settings = settingsOf(folder);
  const service = await openService(settings, { rates: true, access: "create" });
  const close = async () => {
    await service.close();
    rmSync(folder, { recursive: true });
  };
  return { service, settings, close };
}

/** Waits with all lines but the first until the thread has taken over. */
async function* inThread(bulk: ThreadedBulk, lines: AsyncIterable<readonly BulkLine[]>) {
  yield [];
  while (bulk.thread !== "ready") await nextTurn();
  // It was asked for before.
  yield [];
  yield* lines;
}

describe("in a thread", () => {
  let opened: Awaited<ReturnType<typeof open>>;
  let service: ExchangeService;
  let people = 0;
  before(async () => {
    opened = await open();
    service = new Proxy(opened.service, {
      get: (target, name) => {
        if (name === "bulk") return bulk;
        const method: unknown = Reflect.get(target, name);
        return typeof method === "function" ? method.bind(target) : method;
      },
    });
  });
  after(() => opened.close());

  async function* bulk(lines: AsyncIterable<readonly BulkLine[]>): AsyncGenerator<readonly BulkAnswer[]> {
    const { settings } = opened;
    const threaded = new ThreadedBulk(nothing, { settings, rates: true }, { linesWithout: -1 });
    try {
      yield* threaded.bulk(inThread(threaded, lines));
    } finally {
      await threaded.close();
    }
  }

  describeBulks(
    () => ({ service, rates: fixedRates(), clock: { now }, as: () => service, close: async () => {} }),
    async () => {
      people += 1;
      await service.createAccount(opening({ index: people }));
      return adult(people);
    },
  );
});

/** Answers nothing, because it is given nothing. */
const nothing: Pick<ExchangeService, "bulk"> = {
  bulk: async function* (lines) {
    for await (const chunk of lines) {
      assert.deepEqual(chunk, []);
      yield [];
    }
  },
};

async function openedHere(t: TestContext) {
  const opened = await open();
  t.after(opened.close);
  await opened.service.createAccount(opening({ pln: "1000" }));
  return opened;
}

const orders = 3000;
const pesel = adult();
/** Each sells what the one before it bought. */
async function* hops(bulk: ThreadedBulk): AsyncGenerator<readonly BulkLine[]> {
  for (let sent = 0; sent < orders; sent += 50) {
    yield Array.from({ length: 50 }, (_, index) => ({
      kind: "exchange",
      pesel,
      ...terms(index % 2 === 0 ? "buy 1 USD for PLN" : "sell 1 USD for PLN"),
      key: `order-${sent + index}`,
    }));
    // The first thousand are done here.
    while (sent >= 1000 && bulk.thread !== "ready") await nextTurn();
  }
}

async function answersOf(bulk: ThreadedBulk, lines: AsyncIterable<readonly BulkLine[]>) {
  const answers: BulkAnswer[] = [];
  for await (const some of bulk.bulk(lines)) answers.push(...some);
  await bulk.close();
  return answers;
}

test("a thread takes over in the middle of a bulk, after what was begun here", async (t) => {
  const { service, settings } = await openedHere(t);
  const bulk = new ThreadedBulk(service, { settings, rates: true }, { linesWithout: 100 });
  const answers = await answersOf(bulk, hops(bulk));
  assert.equal(answers.length, orders);
  assert.deepEqual(
    answers.filter((answer) => answer instanceof FxError),
    [],
  );
  const { entries, findings } = await service.audit();
  assert.deepEqual([entries, findings], [orders + 1, []]);
});

test("where the thread cannot open the ledger, the bulk goes on without it", async (t) => {
  const { service } = await openedHere(t);
  const elsewhere = settingsOf(join(tmpdir(), "no-such-folder"));
  const bulk = new ThreadedBulk(service, { settings: elsewhere, rates: true }, { linesWithout: 100 });
  const order: BulkLine = { kind: "exchange", pesel, ...terms("buy 0.01 USD for PLN") };
  const lines = async function* () {
    for (let sent = 0; sent < 40; sent += 1) {
      yield Array.from({ length: 10 }, () => order);
      while (sent === 20 && bulk.thread !== "ended") await nextTurn();
    }
  };
  const answers = await answersOf(bulk, lines());
  assert.equal(answers.filter((answer) => !(answer instanceof FxError)).length, 400);
});

test("an amount with more digits than a double holds reaches the thread as it is", async (t) => {
  const { service, settings } = await openedHere(t);
  const bulk = new ThreadedBulk(service, { settings, rates: true }, { linesWithout: -1 });
  const order = { kind: "exchange", pesel, ...terms("buy 1 USD for PLN") } as const;
  const lines = async function* () {
    yield [order, { ...order, amount: { coefficient: 10n ** 17n + 1n, scale: 10 } }, order];
  };
  const answers = await answersOf(bulk, inThread(bulk, lines()));
  assert.deepEqual(
    answers.map((answer) => (answer instanceof FxError ? answer.code : "done")),
    ["done", "invalid-amount", "done"],
  );
});

test("a fault of the lines' source is thrown once all before it are answered", async (t) => {
  const { service, settings } = await openedHere(t);
  const bulk = new ThreadedBulk(service, { settings, rates: true }, { linesWithout: -1 });
  const fault = new Error("the file is gone");
  const lines = async function* () {
    yield [{ kind: "exchange", pesel, ...terms("buy 1 USD for PLN") } as const];
    throw fault;
  };
  const answers: BulkAnswer[] = [];
  await assert.rejects(async () => {
    for await (const some of bulk.bulk(inThread(bulk, lines()))) answers.push(...some);
  }, fault);
  await bulk.close();
  assert.equal(answers.length, 1);
});
