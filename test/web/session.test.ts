import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { mostWrongPins, Session } from "../../src/web/session.ts";
import { storage } from "./storage.ts";

describe("a teller's session", () => {
  test("A session without a PIN opens only by an entrance, forgets its token at a lock, and blames no token that was not sent", async () => {
    const deed = fc.constantFrom("locks", "refused", "asked", "enters", "goes on");
    await fc.assert(
      fc.asyncProperty(fc.array(deed, { maxLength: 40 }), async (deeds) => {
        const session = new Session(storage());
        for (const does of deeds) {
          const { stage, token, isRefused } = session;
          if (does === "locks") session.lock();
          if (does === "refused" || does === "asked") session.unauthorized(does === "refused");
          if (does === "enters") await session.enter("fxt_1", "");
          if (does === "goes on") session.goOn();
          if (does === "enters") assert.deepEqual([session.stage, session.token], ["open", "fxt_1"]);
          else if (stage !== "open" && session.stage === "open") {
            assert.deepEqual([does, stage], ["goes on", "button"]);
          }
          if (does === "locks" && stage === "open") {
            assert.equal(session.stage, token === undefined ? "button" : "token");
            assert.equal(session.token, undefined);
          }
          if (session.isRefused && !isRefused) assert.equal(does, "refused");
        }
      }),
    );
  });

  test("The browser tab keeps a locked token only encrypted, unlocks it with the PIN, and forgets it after three wrong ones, reloads included", async () => {
    const kept = new Map<string, string>();
    const session = new Session(storage(kept));
    await session.enter("fxt_secret", "4711");
    assert.equal(session.token, "fxt_secret");
    session.lock();
    assert.deepEqual([session.token, session.stage], [undefined, "pin"]);
    assert.doesNotMatch(JSON.stringify([...kept]), /fxt_|4711/);
    await new Session(storage(kept)).unlock("1234");
    session.unauthorized(true);
    await session.unlock("4711");
    assert.deepEqual([session.token, session.stage, session.wrongPins], ["fxt_secret", "open", 0]);
    session.lock();
    for (const pin of ["1", "2", "3"]) {
      const reloaded = new Session(storage(kept));
      assert.deepEqual([reloaded.stage, reloaded.wrongPins], ["pin", Number(pin) - 1]);
      await reloaded.unlock(pin);
      assert.equal(reloaded.stage, reloaded.wrongPins < mostWrongPins ? "pin" : "token");
      assert.equal(reloaded.token, undefined);
    }
    await session.unlock("4711");
    assert.equal(session.token, undefined);
    assert.equal(kept.size, 0);
  });

  test("A PIN whose key is still derived when the token is forgotten opens nothing, right or wrong", async () => {
    for (const pin of ["4711", "1234"]) {
      const kept = new Map<string, string>();
      const session = new Session(storage(kept));
      await session.enter("fxt_secret", "4711");
      session.lock();
      const unlocking = session.unlock(pin);
      session.forget();
      await unlocking;
      assert.deepEqual(
        [session.stage, session.token, session.wrongPins, kept.size],
        ["token", undefined, 0, 0],
      );
    }
  });

  test("A token with letters that no header takes is refused like a wrong one, and is not kept", async () => {
    const kept = new Map<string, string>();
    const session = new Session(storage(kept));
    session.unauthorized(false);
    await session.enter("żółć", "4711");
    assert.deepEqual([session.stage, session.isRefused, session.token], ["token", true, undefined]);
    assert.equal(kept.size, 0);
  });

  test("A token has no PIN unless the teller chose one with the token in use", async () => {
    const session = new Session(storage());
    await session.enter("fxt_first", "4711");
    await session.enter("fxt_second", "");
    assert.equal(session.token, "fxt_second");
    session.lock();
    assert.equal(session.stage, "token");
  });
});
