import { setTimeout as pause } from "node:timers/promises";
import { pino } from "pino";

const stderr = 2;
/**
 * How many bytes are written together, and the longest time in milliseconds that a line waits for others. pino counts the
 * bytes that wait again for each line, so with more it takes longer.
 */
const together = { minLength: 4000, maxWrite: 4096, periodicFlush: 100 };
/** The most bytes to keep while the log's reader stalls. Further lines are dropped. */
const unreadAtMost = 1024 * 1024;
const closeMs = 1000;

export interface Log {
  readonly stream: ReturnType<typeof pino.destination>;
  /** Calls `report` with the number of lines that were dropped, when there is room again. */
  onDropped(report: (lines: number) => void): void;
  /** Writes the lines that wait. Resolves after a second even if nobody reads them; then the rest is lost. */
  close(): Promise<void>;
}

/** The log on stderr. It is also written when the process exits in another way than by `close`. */
export function openLog(): Log {
  let isExiting = false;
  let dropped = 0;
  const retryEAGAIN = () => !isExiting;
  const stream = pino.destination({
    dest: stderr,
    sync: false,
    ...together,
    maxLength: unreadAtMost,
    retryEAGAIN,
  });
  stream.on("drop", () => {
    dropped += 1;
  });
  // pino writes the rest at the exit, and would wait for ever where nobody reads it.
  process.prependListener("exit", () => {
    isExiting = true;
    try {
      stream.flushSync();
    } catch {
      // Nobody reads the log, or it was closed before.
    }
    stream.destroy();
  });
  return {
    stream,
    onDropped(report) {
      stream.on("drain", () => {
        const lines = dropped;
        dropped = 0;
        if (lines > 0) report(lines);
      });
    },
    async close() {
      const flushed = new Promise<void>((resolve) => {
        stream.flush(() => resolve());
      });
      await Promise.race([flushed, pause(closeMs, undefined, { ref: false })]);
    },
  };
}
