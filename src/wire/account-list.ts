import * as z from "zod";
import type { ListedAccount } from "../core/account.ts";
import type { AccountsRequest, Page } from "../core/service.ts";
import { listedAccount } from "./accounts.ts";
import { parseNameSought } from "./name-sought.ts";
import { givenTime, next, page } from "./parameters.ts";

/** Lists of accounts, and queries for accounts: apart from the account itself, whose shape the page needs. */

export const accounts = z.codec(
  z.object({ users: z.array(listedAccount).readonly(), next }).meta({ id: "Accounts" }),
  z.custom<Page<ListedAccount>>(),
  {
    decode: ({ users: items, next }) => ({ items, next }),
    encode: ({ items, next }) => ({ users: items, next }),
  },
);
export type AccountsJson = z.input<typeof accounts>;

export const atQuery = z.strictObject({ at: givenTime.optional() });

export const accountsQuery = z.strictObject({
  ...page,
  name: z
    .codec(z.string(), z.custom<readonly string[]>(), {
      decode: parseNameSought,
      encode: (words) => words.join(" "),
    })
    .optional()
    .meta({
      pattern: "[^\\s]",
      description:
        "Accounts of this name only: each of its words begins a word of the holder's present name or surname, in any order, " +
        "in any case, with or without marks. A hyphen divides words; other punctuation does not count",
      examples: ["kowal jan"],
    }),
  at: givenTime.optional(),
}) satisfies z.ZodType<AccountsRequest>;
