import { inChild } from "./load.ts";

/** The lines of a file over one connection to POST /api/bulk. */
export interface BulkLoad {
  readonly url: string;
  readonly file: string;
  /** How often the file is sent, in the one request: once, if it does not say. */
  readonly times?: number;
  /** It ends then, if it has not before. */
  readonly seconds?: number;
}

export interface MeasuredBulk {
  readonly lines: number;
  readonly answers: number;
  readonly failed: number;
  /** Until the last answer. */
  readonly seconds: number;
  /** Of the client. */
  readonly cpuSeconds: number;
}

/** Fails if a line has no answer, or was refused. */
export async function measureBulk(load: BulkLoad): Promise<MeasuredBulk> {
  return checked(await inChild<MeasuredBulk>("bulk-client.ts", load).result);
}

/** The file over and over, until `stop`. Resolves when it has begun. */
export async function bulkUntil(load: BulkLoad): Promise<{ stop(): Promise<MeasuredBulk> }> {
  const { child, started, result } = inChild<MeasuredBulk>("bulk-client.ts", {
    ...load,
    times: Number.MAX_SAFE_INTEGER,
  });
  await started;
  return {
    stop: async () => {
      child.send("stop");
      return checked(await result);
    },
  };
}

function checked(measured: MeasuredBulk): MeasuredBulk {
  const { lines, answers, failed } = measured;
  if (lines === answers && failed === 0) return measured;
  throw new Error(`Of ${lines} lines of a bulk, ${answers} were answered, ${failed} of them with a problem.`);
}
