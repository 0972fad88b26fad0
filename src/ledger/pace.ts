import { performance } from "node:perf_hooks";
import { Pace } from "../core/pace.ts";
import { abandoned } from "../core/turns.ts";
import type { Store } from "./store.ts";

/** An order takes some turns of the event loop: it should not have to wait for a page in more than one. */
const entriesAtOnce = 125;
/** What reads pages. */
const paged: readonly (string | symbol)[] = [
  "accounts",
  "accountSpan",
  "chains",
  "entries",
  "entriesBefore",
  "journal",
  "reversals",
];

/**
 * The store for those who read it page by page in the thread of its orders, all at one pace. A reader fails when its
 * signal says so.
 */
export function pacedReader(store: Store): (signal: AbortSignal | undefined) => Store {
  const pace = new Pace();
  return (signal) => {
    let readAt: number | undefined;
    const turn = async () => {
      // Who begins waits, too: otherwise those that begin and leave would take what they like.
      await (readAt === undefined ? pace.free() : pace.rest(performance.now() - readAt));
      if (signal?.aborted) throw abandoned();
      readAt = performance.now();
    };
    return new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        const call = member.bind(target);
        const few = (page: { limit: number }) =>
          name === "journal" ? { ...page, limit: Math.min(page.limit, entriesAtOnce) } : page;
        return paged.includes(name) ? (page: { limit: number }) => turn().then(() => call(few(page))) : call;
      },
    });
  };
}
