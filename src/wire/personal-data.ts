import * as z from "zod";
import type { ErrorCode } from "../core/errors.ts";
import type { KeptRefusal, PersonalData } from "../core/service.ts";
import { listedAccount } from "./accounts.ts";
import { entry } from "./entries.ts";
import { by, orNull, time } from "./fields.ts";

/** All data of one person, which the GDPR's article 15 gives them a right to. */

const elsewhere = [
  "The server's log has the times, routes and outcomes of requests, with the PESEL masked and without names.",
  "Backups of the ledger have what it had when they were made; so have exports and statements that were saved.",
];

const refusal = z.codec(
  z
    .object({
      time,
      key: z.string(),
      by,
      code: z.string().meta({ examples: ["insufficient-funds"] }),
      detail: z.string(),
    })
    .meta({ id: "KeptRefusal", description: "A refused request that had an Idempotency-Key" }),
  z.custom<KeptRefusal>(),
  {
    decode: ({ code, detail: message, by, ...rest }) => ({ ...rest, by, code: code as ErrorCode, message }),
    encode: ({ message: detail, ...rest }) => ({ ...rest, detail }),
  },
);

export const personalData = z.codec(
  z
    .object({
      time,
      account: orNull(listedAccount).meta({
        description: "null for somebody whose requests were only refused",
      }),
      customer: z.string().meta({
        description: "Stands for the PESEL in exports and checkpoints",
        examples: ["KDPCEIBOJLANFHMGKDOB"],
      }),
      nameWords: z
        .array(z.string())
        .readonly()
        .meta({ description: "The words of the names by which the account is found" }),
      refusals: z
        .array(refusal)
        .readonly()
        .meta({ description: "Oldest first. A refusal is kept for 30 days" }),
      elsewhere: z.array(z.string()).meta({ description: "What fx writes outside the ledger" }),
      entries: z.array(entry).readonly().meta({ description: "Oldest first" }),
    })
    .meta({ id: "PersonalData" }),
  z.custom<PersonalData>(),
  {
    decode: ({ elsewhere: _, ...data }) => data,
    encode: (data) => ({ ...data, elsewhere }),
  },
);

const entriesAtOnce = 100;

/** The JSON of a person's data in parts, because its entries may be many. Space may stand between two parts. */
export async function* personalDataParts(read: Promise<PersonalData>): AsyncGenerator<string> {
  const { entries, ...data } = await read;
  yield `${JSON.stringify(personalData.encode({ ...data, entries: [] })).slice(0, -2)}`;
  for (let start = 0; start < entries.length; start += entriesAtOnce) {
    const texts = entries
      .slice(start, start + entriesAtOnce)
      .map((each) => JSON.stringify(entry.encode(each)));
    yield (start === 0 ? "" : ",") + texts.join(",");
  }
  yield "]}";
}
