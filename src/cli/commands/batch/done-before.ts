import type { DoneLine } from "../../../batch/result.ts";
import type { ExchangeService } from "../../../core/service.ts";

/** The first line of a batch that an earlier run has done. */
export interface DoneBefore {
  /** The time at which it was done, if its receipt can be read. */
  readonly time: Date | undefined;
  /** How to do such lines again. */
  readonly hint: string;
}

export async function findDoneBefore(
  { line, receiptId }: Pick<DoneLine, "line" | "receiptId">,
  service: ExchangeService,
): Promise<DoneBefore> {
  const hint = line.hasOwnKey
    ? "To do a line again, give it a new key."
    : "To do the whole batch again, run it with --id NEW (any new name).";
  // The line is done even if its receipt cannot be read now.
  const receipt = await service.receipt(receiptId).catch(() => undefined);
  return { time: receipt?.time, hint };
}
