import { setTimeout as pause } from "node:timers/promises";
import { FxError } from "../core/errors.ts";
import type { ExportRequest } from "../core/export.ts";
import type { AuditProgress } from "../core/service.ts";
import { Turns } from "../core/turns.ts";
import type { Books } from "./books.ts";

const exportsAtOnce = 4;
/** Audits and positions that wait, each for its turn. */
const mostWaiting = 16;
/** Between two that begin: a thread takes some 65 ms of processor time before it reads, also for a client that leaves. */
const apartMs = 300;

/**
 * Books for many who ask at once: at most one audit and one position at a time. Those who ask for the same while one is
 * under way share the next. One that nobody waits for any more is ended. At most four exports. All begin some time apart.
 */
export function sharedBooks(books: Books): Books {
  const apart = startsApart();
  const turns = () =>
    new Turns({
      mostWaiting,
      before: apart,
      busy: () => busy(`${mostWaiting} audits or positions wait for their turn`),
    });
  const [audits, positions] = [turns(), turns()];
  const listeners = new Set<(done: AuditProgress) => void>();
  const onProgress = (done: AuditProgress) => {
    for (const listener of listeners) listener(done);
  };
  let exporting = 0;
  return {
    async audit(options = {}) {
      const { onProgress: listener = () => {}, onHeads, against, signal, now } = options;
      // Whose checkpoint it is does not share it.
      if (onHeads !== undefined || against !== undefined) {
        return audits.ask(undefined, (signal) => books.audit({ ...options, signal }), signal);
      }
      listeners.add(listener);
      return audits
        .ask("", (signal) => books.audit({ onProgress, signal, now }), signal)
        .finally(() => listeners.delete(listener));
    },
    position: (at, signal) =>
      positions.ask(`${at?.getTime()}`, (signal) => books.position(at, signal), signal),
    async *export(request: ExportRequest) {
      if (exporting >= exportsAtOnce) throw busy(`${exportsAtOnce} exports are under way`);
      exporting += 1;
      try {
        await apart();
        yield* books.export(request);
      } finally {
        exporting -= 1;
      }
    },
    close: () => books.close(),
  };
}

/** Resolves for one after the other, with some time between. */
function startsApart(): () => Promise<void> {
  let nextMs = 0;
  return async () => {
    const waitMs = nextMs - performance.now();
    nextMs = Math.max(nextMs, performance.now()) + apartMs;
    if (waitMs > 0) await pause(waitMs);
  };
}

function busy(why: string): FxError {
  return new FxError("overloaded", `${why}, and no more are made at once.`, { retryAfterSeconds: 5 });
}
