import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { AnsweredLine, KeyedFile } from "../../src/web/operator/batch-file.ts";
import { type BatchEvent, isBusy, noBatch, stepBatch } from "../../src/web/operator/batch-state.ts";

const file = { id: "b", lines: [] } as unknown as KeyedFile;
const result = (state: AnsweredLine["state"]) => ({ state }) as AnsweredLine;
/** The number of any run, also of an earlier one. */
const nth = fc.nat({ max: 6 });
const event: fc.Arbitrary<BatchEvent> = fc.oneof(
  fc.constant<BatchEvent>({ is: "chosen", name: "orders.csv" }),
  fc.record({ is: fc.constant("unfit" as const), nth, fault: fc.constant("empty") }),
  fc.record({ is: fc.constant("read" as const), nth, file: fc.constant(file) }),
  fc.constant<BatchEvent>({ is: "carried out" }),
  fc.constant<BatchEvent>({ is: "tried again" }),
  fc.record({
    is: fc.constant("results" as const),
    nth,
    more: fc.array(fc.constantFrom(result("done"), result("replayed"), result("refused")), { maxLength: 3 }),
  }),
  fc.record({ is: fc.constant("ended" as const), nth, fault: fc.constantFrom(undefined, "overloaded") }),
  fc.constant<BatchEvent>({ is: "stopped" }),
  fc.constant<BatchEvent>({ is: "left" }),
);

describe("a batch on the page", () => {
  test("A batch on the page is carried out only after its dry run, is not left while it works, and takes nothing from another run", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        let state = noBatch;
        for (const each of events) {
          const before = state;
          const resultsBefore = before.results.length;
          state = stepBatch(before, each);
          if ("nth" in each && each.nth !== before.nth) assert.equal(state, before);
          if (state.step === "working" && before.step !== "working") {
            assert.ok(before.step === "checked" || before.step === "stopped", before.step);
            assert.equal(state.results.length, before.step === "checked" ? 0 : resultsBefore);
          }
          if (before.step === "working" && state.step !== "working") {
            assert.ok(each.is === "ended" || each.is === "stopped", each.is);
            assert.equal(state.results.length, resultsBefore);
          }
          if (isBusy(before) && (each.is === "chosen" || each.is === "left" || each.is === "carried out")) {
            assert.equal(state, before);
          }
          const { done, replayed, refused } = state.count;
          assert.equal(done + replayed + refused, state.results.length);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("A line of a batch of 400,000 lines costs no more than one of 4,000", () => {
    const more = Array.from({ length: 256 }, () => result("done"));
    const secondsFor = (chunks: number) => {
      let state = stepBatch(noBatch, { is: "chosen", name: "orders.csv" });
      state = stepBatch(state, { is: "read", nth: state.nth, file });
      const began = performance.now();
      for (let chunk = 0; chunk < chunks; chunk += 1) {
        state = stepBatch(state, { is: "results", nth: state.nth, more });
      }
      assert.equal(state.count.done, chunks * more.length);
      return (performance.now() - began) / 1000;
    };
    const [few, many] = [16, 1600].map((chunks) =>
      Math.min(...Array.from({ length: 5 }, () => secondsFor(chunks))),
    );
    // Copying all results with each chunk takes a hundred times as long a line.
    assert.ok((many ?? 0) / 100 < 10 * (few ?? 0) + 0.001, `${many} s for 1600 chunks, ${few} s for 16`);
  });
});
