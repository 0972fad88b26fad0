import { cleanCell } from "./cell.ts";
import { csv, isEmptyRow, separatorIn } from "./csv.ts";
import type { BatchFormat, TextLine } from "./line.ts";
import { ndjson } from "./ndjson.ts";

/** The format of a file without a line that has anything in it. */
export const empty: BatchFormat = { ...ndjson, needsRates: false };

/** Finds out from the first lines of a file how its lines are written. */
export class FormatDetector {
  readonly #isMarked: boolean;
  /** The separator that a line before the header names. */
  #separator: string | undefined;

  /** @param isMarked whether a file of its lines needs a byte-order mark */
  constructor(isMarked: boolean) {
    this.#isMarked = isMarked;
  }

  /**
   * Takes the next lines of the file.
   * @returns its format, and the first lines for it to read; undefined while only empty lines have come
   * @throws UnfitFile if it is neither JSON nor CSV under a header that fx knows
   */
  formatIn(
    lines: readonly TextLine[],
  ): { readonly format: BatchFormat; readonly first: readonly TextLine[] } | undefined {
    for (const [index, line] of lines.entries()) {
      const separator = separatorIn(line.text);
      this.#separator ??= separator;
      if (separator !== undefined || isEmptyRow(line.text)) continue;
      if (cleanCell(line.text).startsWith("{")) return { format: ndjson, first: lines.slice(index) };
      return { format: csv(line, this.#isMarked, this.#separator), first: lines.slice(index + 1) };
    }
    return undefined;
  }
}
