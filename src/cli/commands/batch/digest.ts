import { hash } from "node:crypto";

/** As keys are made of it. */
export function digestOf(text: string): string {
  return hash("sha256", text, "base64url").slice(0, 16);
}
