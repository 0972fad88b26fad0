import * as z from "zod";
import { parseChange, parseHouseCash, type Request } from "../core/change.ts";
import type { CalendarDate } from "../core/date.ts";
import { block, closing, openingLine, renaming } from "./accounts.ts";
import { cashLine, outside, parseLine } from "./bulk.ts";
import { houseCash, reversal } from "./cash.ts";
import { accountNumber, entryId } from "./fields.ts";
import { orderLine } from "./orders.ts";
import { parseJson, parseRequest } from "./requests.ts";

/** Lines of `POST /api/bulk` that only a dry run takes, and the line of any kind: apart from those of batches, which the page needs. */

const onlyDry = { description: "Only in a dry run", examples: undefined };

const houseLine = houseCash
  .extend({
    kind: z.enum(["deposit", "withdrawal"]),
    ...outside,
    pesel: z.string().regex(/^0{10}[01]$/),
  })
  .meta({ id: "HouseLine", ...onlyDry });
const reversalLine = reversal
  .extend({ kind: z.literal("reversal"), receipt: entryId, ...outside, pesel: accountNumber })
  .meta({ id: "ReversalLine", ...onlyDry });
const renamingLine = renaming
  .extend({ kind: z.literal("renaming"), ...outside })
  .meta({ id: "RenamingLine", ...onlyDry });
const closingLine = closing
  .extend({ kind: z.literal("closing"), ...outside })
  .meta({ id: "ClosingLine", ...onlyDry });
const blockLine = block
  .extend({ kind: z.enum(["block", "unblock"]), ...outside })
  .meta({ id: "BlockLine", ...onlyDry });

export const bulkLine = z
  .xor([orderLine, openingLine, cashLine, houseLine, reversalLine, renamingLine, closingLine, blockLine])
  .meta({ id: "BulkLine", description: "One line" });

export const bulkQuery = z.strictObject({
  dryRun: z
    .enum(["true", "false"])
    .default("false")
    .meta({ description: "`true`: answer what each line would come to, and do nothing" }),
});

/** Reads a line of a dry run, which may also be of a kind that only a dry run takes. */
export function parseTrialLine(text: string, today: CalendarDate, by?: string): Request {
  const line = parseJson(text, "line");
  switch ((Object(line) as { readonly kind?: unknown }).kind) {
    case "reversal": {
      const { receipt: reverses, ...asked } = parseRequest(reversalLine, line, "line");
      return parseChange({ ...asked, reverses, by }, today);
    }
    case "renaming":
      return parseChange({ ...parseRequest(renamingLine, line, "line"), by }, today);
    case "closing":
      return parseChange({ ...parseRequest(closingLine, line, "line"), by }, today);
    case "block":
    case "unblock":
      return parseChange({ ...parseRequest(blockLine, line, "line"), by }, today);
    default:
      if (!("account" in Object(line))) return parseLine(line, today, by);
      return parseHouseCash({ ...parseRequest(houseLine, line, "line"), by });
  }
}
