import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  mostWrongPins,
  openSession,
  type SessionEvent,
  sessionOf,
  stepSession,
} from "../../src/web/session.ts";
import { TokenStore } from "../../src/web/token-store.ts";
import { storage } from "./storage.ts";

const event: fc.Arbitrary<SessionEvent> = fc.oneof(
  fc.record({ is: fc.constant("locks" as const), hasToken: fc.boolean(), hasPin: fc.boolean() }),
  fc.record({ is: fc.constant("unauthorized" as const), hadToken: fc.boolean() }),
  { weight: 4, arbitrary: fc.constant<SessionEvent>({ is: "wrong pin" }) },
  fc.constant<SessionEvent>({ is: "enters" }),
);

describe("a teller's session", () => {
  test("A session opens only by an entrance, asks for the token after three wrong PINs, and blames no token that was not sent", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        let state = openSession;
        let wrong = 0;
        for (const each of events) {
          const before = state;
          state = stepSession(before, each);
          wrong =
            state.stage === "pin" ? wrong + Number(each.is === "wrong pin" && before.stage === "pin") : 0;
          if (before.stage !== "open" && state.stage === "open") assert.equal(each.is, "enters");
          if (each.is === "locks" && before.stage === "open") {
            assert.equal(state.stage, each.hasPin ? "pin" : each.hasToken ? "token" : "button");
          }
          if (before.stage === "pin" && state.stage === "token") assert.equal(state.wrongPins, mostWrongPins);
          if (state.isRefused && !before.isRefused) assert.ok(each.is === "unauthorized" && each.hadToken);
          assert.ok(wrong < mostWrongPins);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("The browser tab keeps a locked token only encrypted, unlocks it with the PIN, and forgets it after three wrong ones, reloads included", async () => {
    const kept = new Map<string, string>();
    const tokens = new TokenStore(storage(kept));
    await tokens.keep("fxt_secret", "4711");
    assert.equal(tokens.token, "fxt_secret");
    tokens.lock();
    assert.deepEqual([tokens.token, tokens.hasPin, tokens.isLocked], [undefined, true, true]);
    assert.doesNotMatch(JSON.stringify([...kept]), /fxt_|4711/);
    assert.equal(await new TokenStore(storage(kept)).unlock("1234"), undefined);
    assert.equal(await tokens.unlock("4711"), "fxt_secret");
    assert.deepEqual(sessionOf(tokens), openSession);
    tokens.lock();
    for (const pin of ["1", "2", "3"]) {
      const reloaded = new TokenStore(storage(kept));
      const session = sessionOf(reloaded);
      assert.deepEqual([session.stage, session.wrongPins], ["pin", Number(pin) - 1]);
      assert.equal(await reloaded.unlock(pin), undefined);
      const { stage } = stepSession(session, { is: "wrong pin" });
      assert.equal(stage, reloaded.hasPin ? "pin" : "token", "the page asks for a PIN that it has no longer");
    }
    assert.equal(await tokens.unlock("4711"), undefined);
    assert.equal(kept.size, 0);
  });

  test("A token has no PIN unless the teller chose one with the token in use", async () => {
    const tokens = new TokenStore(storage());
    await tokens.keep("fxt_first", "4711");
    await tokens.keep("fxt_second", "");
    assert.deepEqual([tokens.token, tokens.hasPin], ["fxt_second", false]);
  });
});
