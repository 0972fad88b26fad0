import * as z from "zod";
import type { Account, ListedAccount } from "../core/account.ts";
import { compareDecimals, type Decimal } from "../core/decimal.ts";
import type { Pesel } from "../core/pesel.ts";
import {
  accountNumber,
  balancesJson,
  decodeMoney,
  encodeMoney,
  exampleHolder,
  type Faults,
  givenHolder,
  givenText,
  initialAmount,
  keptHolder,
  key,
  pesel,
} from "./fields.ts";

/** Bodies and answers about one account. */

const openingMeta = {
  description: "The initial balance as `pln` or `initial`. Where both are given, they must be equal",
  alternatives: [["pln"], ["initial"], ["pln", "initial"]],
};
/** The body of an opening. */
export const opening = z
  .strictObject({
    ...givenHolder,
    pesel,
    pln: initialAmount.optional(),
    initial: initialAmount.optional().meta({ description: "Means the same as `pln`" }),
  })
  .refine(({ pln, initial }) => pln !== undefined || initial !== undefined, {
    path: ["pln"],
    error: "is required (or initial, which means the same)",
  })
  .refine(({ pln, initial }) => !pln || !initial || compareDecimals(pln, initial) === 0, {
    path: ["initial"],
    error: "must equal pln, where both are given",
  })
  .meta({ id: "Opening", ...openingMeta, examples: [{ ...exampleHolder, pln: 1000 }] });
export const openingLine = opening
  .safeExtend({ key: key.optional() })
  .meta({ id: "OpeningLine", ...openingMeta });

/** The initial balance, under whichever name it was given. */
export function initialOf({ pln, initial = pln }: z.output<typeof opening>): Decimal {
  return initial as Decimal;
}

export const renaming = z
  .strictObject(givenHolder)
  .meta({ id: "Renaming", examples: [{ name: "Maria", surname: "Wiśniewska" }] });

export const closing = z.strictObject({}).meta({ id: "Closing", examples: [{}] });

/** The body of a block or an unblock. */
export const block = z
  .strictObject({ reason: givenText })
  .meta({ id: "Block", examples: [{ reason: "Freeze ordered, ref. 12/2026" }] });

const accountFields = { ...keptHolder, pesel: accountNumber, currencies: balancesJson };
const accountJson = z
  .object(accountFields)
  .meta({ id: "Account", description: "Currencies come PLN first, then by symbol" });
const listedJson = z
  .object({
    ...accountFields,
    closed: z.literal(true).optional().meta({ description: "Present if the account is closed" }),
    blocked: z.literal(true).optional().meta({ description: "Present if the account is blocked" }),
    damaged: z
      .literal(true)
      .optional()
      .meta({ description: "Present if this account's data is damaged: its balances are unknown" }),
  })
  .meta({ id: "ListedAccount" });
export type AccountJson = z.input<typeof accountJson>;
export type ListedAccountJson = z.input<typeof listedJson>;

export const account = z.codec(accountJson, z.custom<Account>(), {
  decode: (json, context) => ({ ...accountOf(json, context), closed: false, blocked: false }),
  encode: encodeAccount,
});
export const listedAccount = z.codec(listedJson, z.custom<ListedAccount>(), {
  decode: ({ closed = false, blocked = false, damaged, ...json }, context) => ({
    ...accountOf(json, context),
    closed,
    blocked,
    ...(damaged && { damaged }),
  }),
  encode: encodeListedAccount,
});

function accountOf({ currencies, pesel, ...holder }: z.output<typeof accountJson>, context: Faults) {
  return { pesel: pesel as Pesel, balances: currencies.map((each) => decodeMoney(each, context)), ...holder };
}

export function encodeAccount({ name, surname, pesel, balances }: Account): AccountJson {
  return { name, surname, pesel, currencies: balances.map(encodeMoney) };
}

export function encodeListedAccount(account: ListedAccount): ListedAccountJson {
  const { closed, blocked, damaged } = account;
  return {
    ...encodeAccount(account),
    ...(closed && { closed }),
    ...(blocked && { blocked }),
    ...(damaged && { damaged }),
  };
}
