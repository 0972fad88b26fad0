import assert from "node:assert/strict";
import { test } from "node:test";
import { laterEntriesAtMost } from "../../src/core/proof.ts";
import { proofOf } from "../../src/ledger/proof.ts";
import type { Store } from "../../src/ledger/store.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { appending, emptyAccount, nextEntry } from "../support/entries.ts";
import { adult } from "../support/fixture.ts";
import { instead } from "../support/instead.ts";

const pesel = adult(0);
const pause = async () => {};

/** A store in which the account of one entry seems to have this newest sequence and these entries. */
async function storeWith(change: Partial<Pick<Store, "account" | "statement">>, sequence = 1) {
  const store = openSqlite(":memory:");
  const first = nextEntry(emptyAccount(pesel), "renaming");
  await store.transact([{ pesel }], () => appending([first]));
  const account = await store.account(pesel);
  const asIf = { account: async () => account && { ...account, sequence }, ...change };
  return { store: instead<Store>(store, asIf), first };
}

test("An entry with more than 50,000 later ones has no proof, and its account's chain is not read", async () => {
  let pages = 0;
  const { store, first } = await storeWith({}, laterEntriesAtMost + 2);
  const counting = async () => {
    pages += 1;
  };
  await assert.rejects(proofOf(store, first, counting), {
    code: "invalid-request",
    message: /more than 50000/,
  });
  assert.equal(pages, 0);
});

test("An entry whose account is damaged after it has no proof", async () => {
  const { store, first } = await storeWith({}, 3);
  await assert.rejects(proofOf(store, first, pause), { code: "storage-unavailable" });
});
