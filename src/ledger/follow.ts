import { setTimeout as sleep } from "node:timers/promises";
import type { Receipt } from "../core/journal.ts";
import { type EntriesPage, type EntriesRequest, type FollowRequest, longestPage } from "../core/service.ts";

/** Other processes write to the ledger, too, so a follower has to ask the store. */
const pollMs = 250;

/** Polls a ledger for the entries after `after`, page by page, until the signal is aborted. */
export async function* followEntries(
  read: (page: EntriesRequest) => Promise<EntriesPage>,
  { after, signal }: FollowRequest,
): AsyncGenerator<readonly Receipt[]> {
  let isFirst = true;
  for (let last = after; !signal?.aborted; ) {
    const { items, next } = await read({ after: last, limit: longestPage });
    if (items.length > 0 || isFirst) yield items;
    isFirst = false;
    last = next;
    // An abort ends the pause, and the loop with it.
    if (items.length < longestPage) await sleep(pollMs, undefined, { signal }).catch(() => {});
  }
}
