import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { KeyPairFiles } from "../../../../src/cli/commands/serve/tls.ts";
import type { Settings } from "../../../../src/cli/settings.ts";

const fixture = (name: string) => fileURLToPath(new URL(`../../../fixtures/tls/${name}`, import.meta.url));
const settings = { tlsCert: fixture("server.crt"), tlsKey: fixture("server.key") } as Settings;
const expires = new Date(new X509Certificate(readFileSync(fixture("server.crt"))).validTo);

for (const [days, isWarned] of [
  [15, false],
  [13, true],
  [-1, true],
] as const) {
  test(`A certificate that expires in ${days} days is ${isWarned ? "" : "not "}warned of`, (t) => {
    t.mock.timers.enable({ apis: ["Date"], now: expires.getTime() - days * 86_400_000 });
    const lines: string[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(line) });
    const files = KeyPairFiles.open(settings);
    files?.warnIfExpiring(log);
    assert.equal(lines.length, isWarned ? 1 : 0, lines.join(""));
    assert.deepEqual(files?.expires, expires);
  });
}
