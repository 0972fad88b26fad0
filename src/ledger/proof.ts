import { FxError } from "../core/errors.ts";
import type { Entry } from "../core/journal.ts";
import { laterEntriesAtMost } from "../core/proof.ts";
import type { ReceiptProof } from "../core/service.ts";
import { customerId, identityKeyOf } from "./ids.ts";
import { type Pause, pageSize } from "./journal-reader.ts";
import { DamagedLedger, sha256 } from "./rows.ts";
import type { Store } from "./store.ts";

/**
 * The proof of an entry, from the account's chain, which is read back from its newest entry.
 * @throws FxError invalid-request if the account has too many later entries; DamagedLedger
 */
export async function proofOf(store: Store, { pesel, sequence }: Entry, pause: Pause): Promise<ReceiptProof> {
  const account = await store.account(pesel);
  const [entry, previous] = await store.statement(pesel, { before: sequence + 1, limit: 2 });
  if (account === undefined || entry === undefined) {
    throw new DamagedLedger(`the account ${pesel} lacks entry ${sequence}`);
  }
  if (account.sequence - sequence > laterEntriesAtMost) throw tooLong();
  const after: string[] = [];
  for (let before = account.sequence + 1; before > sequence + 1; before -= pageSize) {
    await pause();
    const limit = Math.min(pageSize, before - sequence - 1);
    for (const { text } of await store.statement(pesel, { before, limit })) after.push(sha256(text));
  }
  const customer = customerId(pesel, await identityKeyOf(store));
  const head = { customer, entries: account.sequence, hash: account.hash };
  return { entry: entry.text, before: previous?.hash ?? "", after: after.reverse(), head };
}

function tooLong(): FxError {
  return new FxError(
    "invalid-request",
    `The account has more than ${laterEntriesAtMost} entries after this one, which is more than a proof has.`,
  );
}
