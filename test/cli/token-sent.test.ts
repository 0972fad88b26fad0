import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { newFolder } from "../support/folder.ts";
import { runFx } from "../support/run-fx.ts";
import { runHere } from "../support/run-here.ts";
import { openStandIn, rawAnswer } from "../support/stand-in.ts";

const folder = newFolder();

const token = "fxt_hidden123";
const list = ["account", "list"];
const none = rawAnswer(200, '{"users":[],"next":null}', "Content-Type: application/json");

/** A new file with this text, for its owner alone. */
function file(text: string): string {
  const path = join(mkdtempSync(join(folder, "file-")), "text");
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

describe("a token goes to the server that is configured beside it or below, and to no other:", () => {
  const bank = "https://bank.example/fx";
  /** Settings in which "HERE" stands for the address of the server that the command works at. */
  const cases: readonly [config: object, env: Record<string, string>, flags: string[], isSent: boolean][] = [
    // Without any configured address, FX_TOKEN beside --url is what the user chose.
    [{}, { FX_TOKEN: token }, ["--url", "HERE"], true],
    [{}, { FX_TOKEN_FILE: file(token) }, ["--url", "HERE"], true],
    [{}, { FX_TOKEN: token, FX_URL: "HERE" }, [], true],
    [{}, { FX_TOKEN: token, FX_URL: "HERE" }, ["--url", "HERE/fx"], true],
    [{}, { FX_TOKEN: token, FX_URL: bank }, ["--url", "HERE"], false],
    [{}, { FX_TOKEN_FILE: file(token), FX_URL: bank }, ["--url", "HERE"], false],
    [{}, { FX_TOKEN: token, FX_URL_FILE: file(bank) }, ["--url", "HERE"], false],
    [{}, { FX_TOKEN: token, FX_URL: "memory:" }, ["--url", "HERE"], false],
    [{ url: "HERE" }, { FX_TOKEN: token }, [], true],
    [{ url: "HERE" }, { FX_TOKEN: token }, ["--url", "HERE"], true],
    [{ url: bank }, { FX_TOKEN: token }, ["--url", "HERE"], false],
    [{ url: bank }, { FX_TOKEN_FILE: file(token) }, ["--url", "HERE"], false],
    [{ url: "bank.example" }, { FX_TOKEN: token }, ["--url", "HERE"], false],
    [{ url: 7 }, { FX_TOKEN: token }, ["--url", "HERE"], false],
    [{ url: bank }, { FX_TOKEN: token, FX_URL: "HERE" }, [], true],
    [{ url: bank }, { FX_TOKEN: token, FX_URL: "HERE" }, ["--url", "HERE"], true],
    [{ url: "HERE" }, { FX_TOKEN: token, FX_URL: bank }, ["--url", "HERE"], false],
    [{ url: "HERE", token }, {}, [], true],
    [{ url: "HERE", token }, {}, ["--url", "HERE"], true],
    [{ url: "HERE", token }, { FX_URL: "HERE" }, [], true],
    [{ url: bank, token }, {}, ["--url", "HERE"], false],
    [{ url: bank, token }, { FX_URL: "HERE" }, [], false],
    [{ token }, {}, ["--url", "HERE"], false],
    [{ token }, { FX_URL: "HERE" }, [], false],
    [{ url: bank, token: "fxt_other" }, { FX_TOKEN: token }, ["--url", "HERE"], false],
    [{ url: bank, token: "fxt_other" }, { FX_TOKEN: token, FX_URL: "HERE" }, [], true],
  ];
  for (const [config, env, flags, isSent] of cases) {
    const set = Object.entries({ ...config, ...env }).map(([name, value]) =>
      /token|_file/i.test(name) ? name : `${name}=${value}`,
    );
    test(`With ${[...set, ...flags].join(" ")}, the token is ${isSent ? "" : "not "}sent`, async () => {
      const server = await openStandIn(none);
      const here = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll("HERE", server.url));
      const ran = await runHere([...list, ...here(flags)], {
        env: { FX_CONFIG: file(JSON.stringify(here(config))), ...here(env) },
      });
      const sent = server.requests.filter((request) => request.includes(token));
      assert.deepEqual(
        [ran.exit, sent.length, server.requests.length],
        isSent ? [0, 1, 1] : [2, 0, 0],
        ran.stderr,
      );
      if (isSent) return;
      const source = "token" in config && !("FX_TOKEN" in env) ? '"token" in .*' : Object.keys(env)[0];
      assert.match(
        ran.stderr,
        new RegExp(`^fx: The token of ${source} is for \\S+, and is not sent to http:`),
      );
      assert.match(ran.stderr, /Set FX_TOKEN to a token of \S+, and FX_URL to its address\./);
      assert.ok(!ran.stderr.includes("hidden"), ran.stderr);
    });
  }

  test("A token goes to its server under another path, too", async () => {
    const server = await openStandIn(none);
    const env = { FX_TOKEN: token, FX_URL: `${server.url}/fx` };
    assert.equal((await runHere([...list, "--url", server.url], { env })).exit, 0);
  });
});

test("a token for this machine goes past the proxy of the environment", async () => {
  const proxy = await openStandIn(none);
  const server = await openStandIn(none);
  const names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
  const env = Object.fromEntries([...names.map((name) => [name, proxy.url]), ["NODE_USE_ENV_PROXY", "1"]]);
  await runFx(list, { env: { ...env, FX_TOKEN: token, FX_URL: server.url } });
  assert.equal(server.requests.length, 1);
  assert.deepEqual(proxy.requests, []);
});
