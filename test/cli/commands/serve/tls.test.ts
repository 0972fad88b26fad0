import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { copyFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { pino } from "pino";
import { KeyPairFiles } from "../../../../src/cli/commands/serve/tls.ts";
import type { Settings } from "../../../../src/cli/settings.ts";
import { newFolder } from "../../../support/folder.ts";
import { tls, tlsFile } from "../../../support/tls.ts";
import { until } from "../../../support/until.ts";

const settings = { tlsCert: tlsFile("server.crt"), tlsKey: tlsFile("server.key") } as Settings;
const expires = new Date(new X509Certificate(tls.cert).validTo);

function recorder() {
  const messages: string[] = [];
  return { messages, log: pino({}, { write: (line: string) => void messages.push(JSON.parse(line).msg) }) };
}

for (const [days, warning] of [
  [15, undefined],
  [13, "the TLS certificate expires: renew it"],
  [-1, "the TLS certificate has expired: renew it"],
] as const) {
  test(`A certificate that expires in ${days} days is ${warning ? "" : "not "}warned of`, (t) => {
    t.mock.timers.enable({ apis: ["Date"], now: expires.getTime() - days * 86_400_000 });
    const { log, messages } = recorder();
    const files = KeyPairFiles.open(settings);
    files?.warnIfExpiring(log);
    assert.deepEqual(messages, warning === undefined ? [] : [warning]);
    assert.deepEqual(files?.expires, expires);
  });
}

test("A certificate that has expired is not put in force in place of another", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: expires.getTime() + 1000 });
  const folder = newFolder();
  const [tlsCert, tlsKey] = [join(folder, "tls.crt"), join(folder, "tls.key")];
  const put = (name: string) => {
    copyFileSync(tlsFile(`${name}.crt`), tlsCert);
    copyFileSync(tlsFile(`${name}.key`), tlsKey);
  };
  put("renewed");
  const files = KeyPairFiles.open({ tlsCert, tlsKey } as Settings);
  put("server");
  const { log, messages } = recorder();
  const stopping = new AbortController();
  t.after(() => stopping.abort());
  void files?.follow(createServer(), log, stopping.signal);
  await until(() => messages.length > 0);
  assert.deepEqual(messages, ["certificate not read again: the old one stays"]);
});
