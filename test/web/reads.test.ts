import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as nextTurn, setTimeout } from "node:timers/promises";
import fc from "fast-check";
import { FxError } from "../../src/core/errors.ts";
import { NoAnswer } from "../../src/web/answers.ts";
import { Reads } from "../../src/web/reads.ts";
import { until } from "../support/until.ts";

/** Reads that get these answers, or failures, in turn. */
function readsOf(answers: unknown[]): Reads {
  const get = async <T>() => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer as T;
  };
  return new Reads({ get });
}

describe("what the page reads", () => {
  test("An answer is shown under the URL that was asked for, and is the newest, however late answers come", async () => {
    const deed = fc.record({
      does: fc.constantFrom("use", "leave", "stale", "ask", "answer"),
      url: fc.constantFrom("a", "b", "ab"),
    });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.array(deed, { maxLength: 40 }), async (scheduler, deeds) => {
        /** The server's version of each URL, which grows with each change. */
        const server = new Map([
          ["a", 0],
          ["b", 0],
          ["ab", 0],
        ]);
        const get = async <T>(url: string) => {
          // The server reads now, and the answer is on its way for any time.
          const version = server.get(url);
          await scheduler.schedule(Promise.resolve());
          return { url, version } as T;
        };
        const reads = new Reads({ get });
        /** The version shown last under each URL. */
        const shown = new Map<string, number>();
        const used = new Map<string, () => void>();
        for (const { does, url } of deeds) {
          if (does === "use" && !used.has(url)) used.set(url, reads.use(url));
          if (does === "leave") {
            used.get(url)?.();
            used.delete(url);
            shown.delete(url);
          }
          if (does === "stale") {
            server.set(url, (server.get(url) ?? 0) + 1);
            reads.refresh(url);
          }
          // It is answered at least as of now, unless nobody uses it any more.
          const now = server.get(url) ?? 0;
          if (does === "ask") {
            const end = used.get(url);
            void reads.fresh<{ version: number }>(url).then(
              ({ version }) => assert.ok(version >= now || used.get(url) !== end),
              () => assert.notEqual(used.get(url), end),
            );
          }
          if (does === "answer" && scheduler.count() > 0) await scheduler.waitOne();
          await nextTurn();
          for (const [name] of server) {
            const { value } = reads.get<{ url: string; version: number }>(name);
            if (value !== undefined) {
              assert.ok(value.version >= (shown.get(name) ?? 0), "what was older was shown again");
              shown.set(name, value.version);
            }
            assert.ok(value === undefined || value.url === name, "an answer to another question");
            assert.ok(used.has(name) || value === undefined, "kept for nobody");
          }
        }
        await scheduler.waitAll();
        await nextTurn();
        for (const name of used.keys()) {
          const { value, isLoading } = reads.get(name);
          assert.deepEqual(value, { url: name, version: server.get(name) });
          assert.equal(isLoading, false);
        }
      }),
      { numRuns: 400 },
    );
  });

  test("A read is asked for once by many parts, and aborted when the last of them leaves", async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const reads = new Reads({
      get: (_url, signal) => {
        signals.push(signal);
        return new Promise<never>(() => {});
      },
    });
    const leave = [reads.use("a"), reads.use("a")];
    assert.equal(signals.length, 1);
    leave[0]?.();
    assert.equal(signals[0]?.aborted, false);
    leave[1]?.();
    assert.equal(signals[0]?.aborted, true);
  });

  test("A refresh repeats every read in use, or those whose URL begins so", async () => {
    const loads = new Map<string, number>();
    const get = async <T>(url: string) => {
      loads.set(url, (loads.get(url) ?? 0) + 1);
      return url as T;
    };
    const reads = new Reads({ get });
    for (const url of ["api/user/1", "api/user/1/history?limit=100", "api/rates"]) reads.use(url);
    await nextTurn();
    reads.refresh();
    reads.refresh("api/user/1/");
    await nextTurn();
    assert.deepEqual([...loads.values()], [2, 3, 2]);
  });

  test("A read that a busy server refused is repeated when the server says so, if it is still in use", async () => {
    let loads = 0;
    const busy = new FxError("overloaded", "Busy.", { retryAfterSeconds: 0.01 });
    const get = async <T>(url: string) => {
      loads += 1;
      if (loads < 3) throw busy;
      return url as T;
    };
    const reads = new Reads({ get });
    const end = reads.use("a");
    await until(() => reads.get("a").value === "a");
    assert.equal(loads, 3);
    end();
    loads = 0;
    reads.use("b")();
    await setTimeout(50);
    assert.equal(loads, 1);
  });

  test("A read without an answer is repeated after ten seconds", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const answers = [new NoAnswer(), "a"];
    const reads = readsOf(answers);
    reads.use("a");
    await until(() => reads.get("a").failure !== undefined);
    t.mock.timers.tick(10_000);
    await until(() => reads.get("a").value === "a");
  });

  test("An answer stays with its time when no other comes, and goes when the server says that it is not there", async () => {
    const gone = new FxError("account-not-found", "None.");
    const answers: unknown[] = [7, new NoAnswer(), gone];
    const reads = readsOf(answers);
    reads.use("a");
    await nextTurn();
    const first = reads.get("a");
    assert.equal(first.value, 7);
    reads.refresh("a");
    await nextTurn();
    const second = reads.get("a");
    assert.deepEqual([second.value, second.time], [7, first.time]);
    assert.ok(second.failure instanceof NoAnswer);
    reads.refresh("a");
    await nextTurn();
    assert.equal(reads.get("a").value, undefined);
  });
});
