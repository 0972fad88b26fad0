import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { adult, opening } from "../support/fixture.ts";
import { openInstance } from "../support/server.ts";
import { cash, refuses } from "../support/service.ts";

test("A till's digest is the SHA-256 of the hashes of its entries, one a line, and stays when others work on", async (t) => {
  const { store, service, clock } = await openInstance();
  t.after(() => service.close());
  const move = (kind: "deposit" | "withdrawal", by: string) =>
    service.change(cash(kind, adult(), "1 PLN", { by }));
  await service.createAccount(opening({ pln: "100" }));
  await move("deposit", "ewa");
  await move("withdrawal", "ewa");
  const till = await service.till({ by: "ewa" });
  const [, ...rows] = await store.rows("journal", { limit: 10 });
  const hashes = rows.map(({ hash }) => `${hash}\n`).join("");
  assert.equal(till.digest, createHash("sha256").update(hashes).digest("hex"));
  await move("deposit", "jan");
  clock.now = new Date("2026-06-09T12:00:00Z");
  await move("deposit", "ewa");
  assert.deepEqual(await service.till({ date: "2026-06-08", by: "ewa" }), till);
});

test("A till fails where an entry that was reversed is missing, because nobody can say whose it was", async (t) => {
  const { store, service } = await openInstance();
  t.after(() => service.close());
  await service.createAccount(opening({ pln: "100" }));
  const { receiptId } = await service.change(cash("deposit", adult(), "1 PLN", { by: "ewa" }));
  await service.change({
    kind: "reversal",
    pesel: adult(),
    reverses: receiptId,
    reason: "a slip",
    by: "jan",
  });
  store.entriesBetween = async () => [];
  await refuses(service.till({ by: "ewa" }), "storage-unavailable", /^The ledger is damaged: the entry /);
});
