import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { pino } from "pino";
import { KeyPairFiles } from "../../../../src/cli/commands/serve/tls.ts";
import type { Settings } from "../../../../src/cli/settings.ts";
import { tls, tlsFile } from "../../../support/tls.ts";

const settings = { tlsCert: tlsFile("server.crt"), tlsKey: tlsFile("server.key") } as Settings;
const expires = new Date(new X509Certificate(tls.cert).validTo);

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
