import { createHash } from "node:crypto";

/** As keys are made of it. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}
