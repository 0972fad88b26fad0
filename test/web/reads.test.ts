import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { FxError } from "../../src/core/errors.ts";
import { NoAnswer, ProblemAnswer } from "../../src/web/answers.ts";
import { Reads } from "../../src/web/reads.ts";
import { encodeProblem } from "../../src/wire/problem.ts";

/** Lets what has been answered be told. */
const told = () => new Promise((resolve) => setImmediate(resolve));

describe("what the page reads", () => {
  test("An answer is shown under the key that was asked for, and is the newest, however late answers come", async () => {
    const deed = fc.record({
      does: fc.constantFrom("watch", "leave", "stale", "put", "ask", "answer"),
      key: fc.constantFrom("a", "b", "ab"),
    });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.array(deed, { maxLength: 40 }), async (scheduler, deeds) => {
        const reads = new Reads();
        /** The server's version of each key, which grows with each change. */
        const server = new Map([
          ["a", 0],
          ["b", 0],
          ["ab", 0],
        ]);
        /** The version shown last under each key. */
        const shown = new Map<string, number>();
        const watched = new Map<string, () => void>();
        for (const { does, key } of deeds) {
          const load = async () => {
            // The server reads now, and the answer is on its way for any time.
            const version = server.get(key);
            await scheduler.schedule(Promise.resolve());
            return { key, version };
          };
          if (does === "watch" && !watched.has(key))
            watched.set(
              key,
              reads.watch(key, load, () => {}),
            );
          if (does === "leave") {
            watched.get(key)?.();
            watched.delete(key);
            shown.delete(key);
          }
          if (does === "stale" || does === "put") server.set(key, (server.get(key) ?? 0) + 1);
          if (does === "stale") reads.stale(key);
          if (does === "put" || does === "ask") {
            const begun = reads.begin();
            void load().then((value) => reads.put(key, value, begun));
          }
          // A change makes its key stale.
          if (does === "put") reads.stale(key);
          if (does === "answer" && scheduler.count() > 0) await scheduler.waitOne();
          await told();
          for (const [name] of server) {
            const { value } = reads.get<{ key: string; version: number }>(name);
            if (value !== undefined) {
              assert.ok(value.version >= (shown.get(name) ?? 0), "what was older was shown again");
              shown.set(name, value.version);
            }
            assert.ok(value === undefined || value.key === name, "an answer to another question");
            assert.ok(watched.has(name) || value === undefined, "kept for nobody");
          }
        }
        await scheduler.waitAll();
        await told();
        for (const name of watched.keys()) {
          const { value, isLoading } = reads.get(name);
          assert.deepEqual(value, { key: name, version: server.get(name) });
          assert.equal(isLoading, false);
        }
      }),
      { numRuns: 400 },
    );
  });

  test("A read is asked for once by many parts, and aborted when the last of them leaves", async () => {
    const reads = new Reads();
    const signals: AbortSignal[] = [];
    const load = (signal: AbortSignal) => {
      signals.push(signal);
      return new Promise<never>(() => {});
    };
    const leave = [reads.watch("a", load, () => {}), reads.watch("a", load, () => {})];
    assert.equal(signals.length, 1);
    leave[0]?.();
    assert.equal(signals[0]?.aborted, false);
    leave[1]?.();
    assert.equal(signals[0]?.aborted, true);
  });

  test("A read is repeated on focus if others change its answer, and nothing that a click had asked for once starts again", async () => {
    const reads = new Reads();
    const loads = new Map<string, number>();
    const changing = [
      "api/rates",
      "api/user/1",
      "api/user/1/history?limit=100",
      "api/receipts/1",
      "api/position",
    ];
    const once = ["all of 1 from to 1", "search 1 api/users?name=kow", "audit 1"];
    for (const key of [...changing, ...once]) {
      const load = async () => {
        loads.set(key, (loads.get(key) ?? 0) + 1);
        if (once.includes(key)) throw new NoAnswer();
      };
      reads.watch(key, load, () => {});
    }
    await told();
    reads.refresh();
    await told();
    const count = (keys: readonly string[]) => keys.map((key) => loads.get(key));
    assert.deepEqual([count(changing), count(once)], [changing.map(() => 2), once.map(() => 1)]);
  });

  test("An answer stays with its time when no other comes, and goes when the server says that it is not there", async () => {
    const reads = new Reads();
    const gone = new ProblemAnswer(encodeProblem(new FxError("account-not-found", "None."), "1"));
    const answers: unknown[] = [7, new NoAnswer(), gone];
    const load = async () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    };
    reads.watch("a", load, () => {});
    await told();
    const first = reads.get("a");
    assert.equal(first.value, 7);
    reads.stale("a");
    await told();
    const second = reads.get("a");
    assert.deepEqual([second.value, second.time], [7, first.time]);
    assert.ok(second.failure instanceof NoAnswer);
    reads.stale("a");
    await told();
    assert.equal(reads.get("a").value, undefined);
  });
});
