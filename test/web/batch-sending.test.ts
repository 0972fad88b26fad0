import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type ErrorCode, FxError } from "../../src/core/errors.ts";
import { NoAnswer } from "../../src/web/answers.ts";
import { type AnsweredLine, readBatch, rejectsText } from "../../src/web/operator/batch-file.ts";
import { BatchJob } from "../../src/web/operator/batch-job.ts";
import { BatchSender, type BatchServer } from "../../src/web/operator/batch-sending.ts";
import { encodeProblem } from "../../src/wire/problem.ts";
import { adult } from "../support/fixture.ts";
import { openGate } from "../support/gate.ts";
import { receiptFrom } from "../support/stand-in.ts";

const pesel = adult(0);
const content = `kind,pesel,amount,currency,note\n${`deposit,${pesel},1,PLN,\n`.repeat(3)}`;
const { lines } = readBatch(new TextEncoder().encode(content), "2026-06-08");
const account = { name: "Jan", surname: "K", pesel, currencies: [{ symbol: "PLN", amount: 1 }] };
const answerTo = (line: number, receipt = "r") =>
  JSON.stringify({ line, status: 200, receipt, replayed: receipt !== "r", account });

/** Carries lines out, and adds their results to `had`. */
async function carryOut(
  api: BatchServer,
  had: AnsweredLine[],
  { sender = new BatchSender(), of = lines, signal = new AbortController().signal } = {},
): Promise<void> {
  const sending = { api, signal, isDryRun: false, tableId: undefined };
  for await (const results of sender.send(of, sending)) had.push(...results);
}

/** A server that gives these answers in turn. */
function serverOf(...answers: readonly (() => AsyncGenerator<string[]>)[]) {
  let nth = 0;
  return {
    copy: () => assert.fail(),
    get: () => Promise.reject(new NoAnswer()) as Promise<never>,
    lines: (...[, , , onHead]: Parameters<BatchServer["lines"]>) => {
      const answer = answers[nth] as (typeof answers)[number];
      nth += 1;
      if (nth > 1) onHead(new Headers({ date: new Date().toUTCString() }));
      return answer();
    },
  };
}

test("What was answered before a batch on the page met a fault is a result", async () => {
  const had: AnsweredLine[] = [];
  const problem = encodeProblem(new FxError("internal", "For the test."), "1");
  const server = serverOf(async function* () {
    yield [answerTo(1), JSON.stringify({ line: null, status: 500, problem })];
  });
  await assert.rejects(carryOut(server, had), { code: "internal" });
  assert.equal(had.length, 1);
});

for (const [what, text] of [
  ["a page of a proxy", "<!doctype html><title>Log in</title>"],
  ["JSON of another program", '{"login":"required"}'],
] as const) {
  test(`Lines of a batch on the page that ${what} answers are sent again with their keys`, async () => {
    const had: AnsweredLine[] = [];
    const server = serverOf(
      async function* () {
        yield [answerTo(1), text];
      },
      async function* () {
        yield [1, 2, 3].map((line) => answerTo(line, receiptFrom(0)));
      },
    );
    await carryOut(server, had);
    assert.deepEqual(
      had.map(({ line, state }) => [line.number, state]),
      [2, 3, 4].map((number) => [number, "done"]),
    );
  });
}

test("A line that the page sent again after a broken connection is done before only if it was before the run", async () => {
  const had: AnsweredLine[] = [];
  const server = serverOf(
    // biome-ignore lint/correctness/useYield: the connection breaks before the first line
    async function* () {
      throw new NoAnswer();
    },
    async function* () {
      yield [answerTo(1, receiptFrom(0)), answerTo(2, receiptFrom(60)), answerTo(3)];
    },
  );
  await carryOut(server, had);
  assert.deepEqual(
    had.map(({ state }) => state),
    ["done", "replayed", "done"],
  );
});

const failedAt = (line: number, code: ErrorCode, replayed = false) => {
  const problem = encodeProblem(new FxError(code, "For the test."), "1");
  return JSON.stringify({ line, status: problem.status, problem, ...(replayed && { replayed }) });
};

test("A line of the page that the server fails keeps no other account's from being done, and is told at the end", async () => {
  const [damaged, other] = [pesel, adult(1)];
  // More than one request has.
  const rows = [damaged, ...Array.from({ length: 256 }, () => other), damaged, other];
  const file = `kind,pesel,amount,currency,note\n${rows.map((row) => `deposit,${row},1,PLN,\n`).join("")}`;
  const of = readBatch(new TextEncoder().encode(file), "2026-06-08").lines;
  const api = {
    ...serverOf(),
    lines: async function* (...[, , { body }]: Parameters<BatchServer["lines"]>) {
      const texts = body.trim().split("\n");
      yield texts.map((text, index) =>
        text.includes(damaged) ? failedAt(index + 1, "storage-unavailable") : answerTo(index + 1),
      );
    },
  };
  const sender = new BatchSender();
  const had: AnsweredLine[] = [];
  await assert.rejects(carryOut(api, had, { of, sender }), { code: "storage-unavailable" });
  assert.deepEqual([had.length, sender.unknown.size], [257, 1]);
  assert.ok(had.every(({ line, state }) => state === "done" && line.pesel === other));
  const tried: AnsweredLine[] = [];
  const sending = { api, signal: new AbortController().signal, isDryRun: true, tableId: undefined };
  for await (const results of new BatchSender().send(of, sending)) tried.push(...results);
  assert.deepEqual(
    tried.filter(({ state }) => state === "refused").map(({ line }) => line.number),
    [2, 259],
  );
});

test("A line of the page whose refusal got lost is refused by this run, and not said to be a replay", async () => {
  const had: AnsweredLine[] = [];
  const server = serverOf(
    // biome-ignore lint/correctness/useYield: the connection breaks before the first line
    async function* () {
      throw new NoAnswer();
    },
    async function* () {
      yield [
        failedAt(1, "insufficient-funds", true),
        answerTo(2, receiptFrom(0)),
        answerTo(3, receiptFrom(0)),
      ];
    },
  );
  await carryOut(server, had);
  const [first] = had;
  assert.ok(first !== undefined && "error" in first);
  assert.deepEqual([first.state, first.error.replayed], ["refused", false]);
});

test("The second of two lines of the page with equal keys is done before, also when its answer got lost", async () => {
  const had: AnsweredLine[] = [];
  const keyed = `kind,pesel,amount,currency,key\n${`deposit,${pesel},1,PLN,slip\n`.repeat(2)}`;
  const of = readBatch(new TextEncoder().encode(keyed), "2026-06-08").lines;
  const receipt = receiptFrom(0);
  const server = serverOf(
    async function* () {
      yield [answerTo(1, receipt).replace('"replayed":true', '"replayed":false')];
      throw new NoAnswer();
    },
    async function* () {
      yield [answerTo(1, receipt), answerTo(2, receipt)];
    },
  );
  await carryOut(server, had, { of });
  assert.deepEqual(
    had.map(({ state }) => state),
    ["done", "replayed"],
  );
});

test("A line that the page sent again while the server was busy is not told as done before when it goes on", async () => {
  const problem = encodeProblem(new FxError("overloaded", "For the test."), "1");
  const server = serverOf(
    // biome-ignore lint/correctness/useYield: the connection breaks before the first line
    async function* () {
      throw new NoAnswer();
    },
    async function* () {
      yield [JSON.stringify({ line: 1, status: 503, problem })];
    },
    async function* () {
      yield [answerTo(1, receiptFrom(0))];
    },
  );
  const had: AnsweredLine[] = [];
  const sent = { sender: new BatchSender(), of: lines.slice(0, 1) };
  await assert.rejects(carryOut(server, had, sent), { code: "overloaded" });
  await carryOut(server, had, sent);
  assert.deepEqual(
    had.map(({ state }) => state),
    ["done"],
  );
});

test("Lines of a batch whose answers are lost have an unknown outcome, also when it is stopped, and not those that were refused or never sent", async () => {
  const sender = new BatchSender();
  const unauthorized = new FxError("unauthorized", "For the test.");
  const fail = (failure: Error) =>
    // biome-ignore lint/correctness/useYield: the connection breaks before the first line
    async function* () {
      throw failure;
    };
  for (const [answers, open] of [
    [[fail(unauthorized)], 0],
    [[fail(new NoAnswer()), fail(unauthorized)], 3],
  ] as const) {
    await assert.rejects(carryOut(serverOf(...answers), [], { sender }), unauthorized);
    assert.equal(sender.unknown.size, open);
  }
  await carryOut(
    serverOf(async function* () {
      yield [1, 2, 3].map((line) => answerTo(line, receiptFrom(0)));
    }),
    [],
    { sender },
  );
  assert.equal(sender.unknown.size, 0);
  const control = new AbortController();
  const hanging = serverOf(async function* () {
    yield [answerTo(1)];
    control.abort();
    control.signal.throwIfAborted();
  });
  await assert.rejects(carryOut(hanging, [], { sender, signal: control.signal }), { name: "AbortError" });
  assert.equal(sender.unknown.size, 3);
});

function refusalOf(line: number, code: ErrorCode): string {
  const problem = encodeProblem(new FxError(code, "For the test."), "1");
  return JSON.stringify({ line, status: problem.status, problem });
}

for (const [title, text, isUnknown] of [
  ["of an unknown outcome", `kind,pesel,amount,currency,key\ndeposit,${pesel},1,PLN,slip\n`, true],
  ["that another teller has carried out", `kind,pesel,amount,currency\ndeposit,${pesel},1,PLN\n`, false],
] as const) {
  test(`A line ${title} is not told as refused by the page because its key was used with another token`, async () => {
    const had: AnsweredLine[] = [];
    const { lines: of, format } = readBatch(new TextEncoder().encode(text), "2026-06-08");
    const sender = new BatchSender();
    for (const line of isUnknown ? of : []) sender.unknown.add(line);
    const server = serverOf(async function* () {
      yield [refusalOf(1, "idempotency-key-reused")];
    });
    await carryOut(server, had, { of, sender });
    assert.deepEqual(
      had.map(({ state }) => state),
      ["unknown"],
    );
    assert.equal(sender.unknown.size, 0);
    assert.equal(rejectsText(format.header, had), "");
  });
}

/** A job at its second dry run, which waits for `second`: one line is done, and the rates have moved. */
async function moved(second: () => Promise<{ tableId: string }>) {
  const orders = `pesel,from,to,toBuy,toSell\n${`${pesel},PLN,USD,1,\n`.repeat(2)}`;
  const tables = [async () => ({ tableId: "old" }), second];
  const tokens = ["token 1", "token 2", "token 3"];
  const used: (string | undefined)[] = [];
  const server = (token: string | undefined): BatchServer => ({
    copy: () => server(tokens.shift()),
    get: async <T>() => {
      used.push(token);
      return (await (tables.shift() ?? assert.fail())()) as T;
    },
    async *lines(path) {
      if (path.includes("dryRun")) yield [answerTo(1), answerTo(2)];
      else yield [answerTo(1), refusalOf(2, "rate-changed")];
    },
  });
  const job = new BatchJob(server(undefined), () => {});
  await job.choose(new File([orders], "orders.csv"));
  const work = job.work();
  while (job.state.step !== "checking") await new Promise((resolve) => setImmediate(resolve));
  return { job, work, used };
}

for (const [what, end] of [
  ["fails", () => {}],
  ["is stopped", (job: BatchJob) => job.stop()],
  ["is interrupted by another teller", (job: BatchJob) => job.handOver()],
] as const) {
  test(`A batch on the page keeps what was done when the dry run of its rest ${what}, and has tried it with the token of the run`, async () => {
    const gate = openGate();
    const { job, work, used } = await moved(async () => {
      await gate.passed;
      throw new FxError("forbidden", "For the test.");
    });
    end(job);
    gate.release();
    await work;
    const { step, results, tableId } = job.state;
    assert.deepEqual([step, results.length, tableId], ["stopped", 1, "old"]);
    assert.deepEqual(used, ["token 1", "token 2"]);
  });
}

for (const step of ["reading", "checking", "checked"]) {
  test(`A file that is at the step "${step}" is forgotten when another teller signs in`, async () => {
    const server = serverOf(async function* () {
      yield [1, 2, 3].map((line) => answerTo(line));
    });
    const job = new BatchJob({ ...server, copy: () => server }, () => {});
    const chosen = job.choose(new File([content], "orders.csv"));
    while (job.state.step !== step) await Promise.resolve();
    job.handOver();
    await chosen;
    assert.deepEqual([job.state.step, job.state.file], ["choose", undefined]);
  });
}

test("A batch on the page is carried out only after its dry run, is not left while it works, and takes nothing from another run", async () => {
  const few = (deed: string, count: number) => Array.from({ length: count }, () => deed);
  const deed = fc.constantFrom(
    ...few("choose", 6),
    ...few("work", 6),
    ...few("wait", 30),
    ...["stop", "leave"],
  );
  let finished = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(deed, { minLength: 30, maxLength: 60 }),
      fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
      async (scheduler, deeds, fails) => {
        let nth = 0;
        const server = {
          copy: () => server,
          async *lines(_path: string, signal: AbortSignal, { body }: { body: string }) {
            nth += 1;
            const isFailing = fails[nth % fails.length] === true && nth % 3 === 0;
            for (const [index] of body.trim().split("\n").entries()) {
              await scheduler.schedule(Promise.resolve());
              signal.throwIfAborted();
              if (isFailing && index === 1) throw new FxError("internal", "For the test.");
              yield [answerTo(index + 1)];
            }
          },
        };
        const job = new BatchJob(server as unknown as BatchServer, () => {});
        for (const does of deeds) {
          const before = job.state;
          const had = before.results.length;
          const wasBusy = job.isBusy;
          if (does === "choose") void job.choose(new File([content], "orders.csv"));
          if (does === "work") void job.work();
          if (does === "stop") job.stop();
          if (does === "leave") job.leave();
          if (wasBusy && ["choose", "work", "leave"].includes(does)) assert.equal(job.state, before);
          if (does === "wait" && scheduler.count() > 0) await scheduler.waitOne();
          await new Promise((resolve) => setImmediate(resolve));
          const { step, results, count } = job.state;
          if (step === "working" && before.step !== "working") {
            assert.ok(does === "work" && (before.step === "checked" || before.step === "stopped"));
            assert.equal(results.length, before.step === "checked" ? 0 : had);
          }
          if (before.step === "working") assert.ok(results.length >= had, "a result went");
          assert.equal(count.done + count.replayed + count.refused, results.length);
          if (step === "checked" || step === "finished") assert.equal(results.length, lines.length);
          finished += Number(step === "finished");
        }
      },
    ),
    { numRuns: 300 },
  );
  assert.ok(finished > 10, `${finished} batches were finished`);
});
