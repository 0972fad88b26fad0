import type * as z from "zod";
import { FxError } from "../core/errors.ts";

/** The maximum number of items in all lists of an answer: zod reports each that is wrong. */
export const mostItems = 200_000;

/**
 * Reads what JSON.parse made of an answer.
 * @throws FxError internal if fx does not answer so
 */
export function decodeAnswer<T>(shape: z.ZodType<T>, body: unknown, most = mostItems): T {
  if (itemsIn(body, most) > most) throw notAnAnswer("a list that is too long");
  const { data, error } = shape.safeParse(body);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw notAnAnswer(`/${issue?.path.join("/")} ${issue?.message}`);
}

/** Deeper than the lists of any answer. */
const deepest = 8;

/** Counts up to a little more than `most`. */
function itemsIn(value: unknown, most: number, depth = 0): number {
  if (typeof value !== "object" || value === null || depth > deepest) return 0;
  let count = Array.isArray(value) ? value.length : 0;
  for (const member of Object.values(value)) {
    if (count > most) break;
    count += itemsIn(member, most, depth + 1);
  }
  return count;
}

/** The answer does not come from fx, or from an incompatible version. */
export function notAnAnswer(reason: string): FxError {
  return new FxError("internal", `The answer is not one that fx gives (${reason}).`);
}
