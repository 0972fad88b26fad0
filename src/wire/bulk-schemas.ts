import * as z from "zod";
import {
  buyOrder,
  cash,
  closing,
  entryId,
  listedAccount,
  money,
  openingBody,
  openingWithBoth,
  openingWithInitial,
  openingWithPln,
  orderBody,
  pesel,
  problem,
  renaming,
  reversal,
  sellOrder,
  tableInForce,
} from "./schemas.ts";

/** The shapes of a line of a bulk and of the answer to it. */

/** What a line of a bulk may have beside the body of a single request: what there is in headers. */
const lineKey = {
  key: z
    .string()
    .meta({
      pattern: "^[!-~]{1,255}$",
      description: "As `Idempotency-Key`",
      examples: ["2026-11-payroll:17"],
    })
    .optional(),
};
const lineTable = {
  table: tableInForce.meta({ description: "As `Fx-Table`", examples: ["108/C/NBP/2026"] }).optional(),
};

/** A deposit or a withdrawal. */
export const cashLine = cash.extend({ kind: z.enum(["deposit", "withdrawal"]), pesel, ...lineKey }).meta({
  id: "CashLine",
});

/** What only a dry run takes: the body of another request, with what it has in its path. */
export const reversalLine = reversal
  .extend({ kind: z.literal("reversal"), pesel, receipt: entryId, ...lineKey })
  .meta({ id: "ReversalLine", description: "Only in a dry run", examples: undefined });
export const renamingLine = renaming
  .extend({ kind: z.literal("renaming"), pesel, ...lineKey })
  .meta({ id: "RenamingLine", description: "Only in a dry run", examples: undefined });
export const closingLine = closing
  .extend({ kind: z.literal("closing"), pesel, ...lineKey })
  .meta({ id: "ClosingLine", description: "Only in a dry run", examples: undefined });

/** A line of a bulk as it is published. */
export const bulkLine = z
  .xor([
    buyOrder.extend({ ...lineKey, ...lineTable }).meta({ id: "BuyOrderLine" }),
    sellOrder.extend({ ...lineKey, ...lineTable }).meta({ id: "SellOrderLine" }),
    openingWithPln.extend(lineKey).meta({ id: "OpeningWithPlnLine" }),
    openingWithInitial.extend(lineKey).meta({ id: "OpeningWithInitialLine" }),
    openingWithBoth.extend(lineKey).meta({ id: "OpeningWithBothLine" }),
    cashLine,
    reversalLine,
    renamingLine,
    closingLine,
  ])
  .meta({ id: "BulkLine", description: "One line" });

/** Lines of a bulk as they are read. */
export const openingLine = openingBody.safeExtend(lineKey);
export const orderLine = orderBody.safeExtend({ ...lineKey, ...lineTable });

const int32 = { type: "integer", format: "int32" } as const;
const lineNumber = z
  .int()
  .min(1)
  .meta({ format: "int64", description: "The number of the line, counted from 1" });
const done = {
  line: lineNumber,
  receipt: entryId
    .optional()
    .meta({ description: "The id of the receipt; absent for what a dry run would do" }),
  replayed: z.boolean().meta({ description: "Whether an earlier request with the same key had done it" }),
};

const exchanged = money.optional().meta({ description: "Of an order" });
export const settledLine = z
  .object({
    status: z.literal(200).meta(int32),
    ...done,
    account: listedAccount,
    sold: exchanged,
    bought: exchanged,
  })
  .meta({ id: "SettledLine", description: "The order, deposit or withdrawal is done" });

export const openedLine = z
  .object({ status: z.literal(204).meta(int32), ...done })
  .meta({ id: "OpenedLine", description: "The account is open" });

export const refusedLine = z
  .object({
    line: lineNumber
      .nullable()
      .meta({ description: "null in the last line, if the server ends the stream early" }),
    status: z.int().meta({ ...int32, minimum: 400, maximum: 599 }),
    problem,
    replayed: z
      .literal(true)
      .optional()
      .meta({ description: "Present if an earlier request with the same key got it" }),
  })
  .meta({ id: "RefusedLine", description: "Nothing was done for the line" });

export const bulkAnswer = z
  .union([settledLine, openedLine, refusedLine])
  .meta({ id: "BulkAnswer", description: "The answer to one line" });
