import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The path of a certificate or a key of test/fixtures/tls. */
export function tlsFile(name: string): string {
  return fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));
}

/** A certificate for localhost, which no authority has signed, and its key. */
export const tls = { cert: readFileSync(tlsFile("server.crt")), key: readFileSync(tlsFile("server.key")) };

/** The protocols that a server may speak, and how to reach it by each. */
export const protocols = [
  { over: "http", serving: {}, trusting: undefined },
  { over: "https", serving: { tls }, trusting: { rejectUnauthorized: false } },
] as const;
