import { FxError } from "../core/errors.ts";

/**
 * Something in the ledger cannot be: it was changed by hand, or by its disk. Who asks for what is damaged gets this, and
 * nothing is written for them.
 */
export class DamagedLedger extends FxError {
  /** @param what is wrong, as a clause. PESELs in it are masked. */
  constructor(what: string, cause?: unknown) {
    super(
      "storage-unavailable",
      `The ledger is damaged: ${what}. Nothing was changed. Run fx audit to see all of it, and restore a backup.`,
      { cause },
    );
  }
}
