import { createHash } from "node:crypto";

/** The digest that keys are made of. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}
