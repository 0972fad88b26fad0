import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { abandoned } from "../core/turns.ts";
import type { Store } from "./store.ts";

/** Of the thread's time, for all readers together: what they do besides, to caches and to the heap, costs orders as much again. */
const share = 0.125;
/** Of a pause: below that the thread has nothing else to do. */
const idleShare = 0.1;
/** An order takes some turns of the event loop: it should not have to wait for a page in more than one. */
const entriesAtOnce = 125;
/** What reads pages. */
const paged: readonly (string | symbol)[] = [
  "accounts",
  "accountSpan",
  "chains",
  "entries",
  "entriesBefore",
  "reversals",
  "rows",
  "strayWords",
];

/**
 * The store for those who read it page by page in the thread of its orders: together they take an eighth of the thread's
 * time, and more only while it has nothing else to do. A reader fails when its signal says so.
 */
export function pacedReader(store: Store): (signal: AbortSignal | undefined) => Store {
  /** When the next page may be read. */
  let freeAt = 0;
  const untilFree = async () => {
    const left = freeAt - performance.now();
    if (left > 0) await pause(left);
  };
  /** After a page that took so long, what was done with it included. */
  const rest = async (tookMs: number) => {
    const now = performance.now();
    const before = performance.eventLoopUtilization();
    freeAt = Math.max(now, freeAt) + tookMs * (1 / share - 1);
    await pause(tookMs / 4);
    if (performance.eventLoopUtilization(before).utilization < idleShare) freeAt = 0;
    await untilFree();
  };
  return (signal) => {
    let readAt: number | undefined;
    const turn = async () => {
      // Who begins waits, too: otherwise those that begin and leave would take what they like.
      await (readAt === undefined ? untilFree() : rest(performance.now() - readAt));
      if (signal?.aborted) throw abandoned();
      readAt = performance.now();
    };
    return new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        const call = member.bind(target);
        if (name === "journal") {
          return (page: Parameters<Store["journal"]>[0]) =>
            turn().then(() => call({ ...page, limit: Math.min(page.limit, entriesAtOnce) }));
        }
        return paged.includes(name) ? (...page: unknown[]) => turn().then(() => call(...page)) : call;
      },
    });
  };
}
