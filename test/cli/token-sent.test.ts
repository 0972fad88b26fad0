import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { newFolder } from "../support/folder.ts";
import { runHere } from "../support/run-here.ts";
import { openStandIn, rawAnswer } from "../support/stand-in.ts";

const folder = newFolder();

const token = "fxt_hidden123";
const list = ["account", "list"];
const none = rawAnswer(200, '{"users":[],"next":null}', "Content-Type: application/json");

/** A new file with this text and mode. */
function file(text: string, mode = 0o600): string {
  const path = join(mkdtempSync(join(folder, "file-")), "token");
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

/** The environment in which the config file holds this. */
function withConfig(config: object, mode = 0o600): Record<string, string> {
  const xdg = mkdtempSync(join(folder, "xdg-"));
  mkdirSync(join(xdg, "fx"));
  writeFileSync(join(xdg, "fx", "config.json"), JSON.stringify(config));
  chmodSync(join(xdg, "fx", "config.json"), mode);
  return { XDG_CONFIG_HOME: xdg };
}

describe("a command's token comes from", () => {
  for (const [where, envFor] of [
    ["FX_TOKEN", () => ({ FX_TOKEN: token })],
    ["the file that FX_TOKEN_FILE names", () => ({ FX_TOKEN_FILE: file(`${token}\n`) })],
    ["the config file", (url: string) => withConfig({ token, url })],
  ] as const) {
    test(`A token is taken from ${where}`, async () => {
      const server = await openStandIn(none);
      const ran = await runHere([...list, "--url", server.url], { env: envFor(server.url) });
      assert.equal(ran.exit, 0, ran.stderr);
      assert.match(server.requests[0] ?? "", /^authorization: Bearer fxt_hidden123\r$/im);
    });
  }
});

describe("a token that others can read is refused with exit 2:", () => {
  for (const mode of [0o644, 0o640, 0o604, 0o660]) {
    test(`A token that others can read, in a file of mode ${mode.toString(8)}, is refused with exit 2`, async () => {
      const path = file(token, mode);
      const { stdout, stderr, exit } = await runHere(list, { env: { FX_TOKEN_FILE: path } });
      assert.deepEqual([stdout, exit], ["", 2]);
      assert.ok(stderr.includes(`others than its owner can read it. Run chmod 600 ${path}`), stderr);
      assert.ok(!stderr.includes("hidden"));
    });
  }

  test("A token in a config file of mode 644 is refused with exit 2; without a token the file may have that mode", async () => {
    const { stderr, exit } = await runHere(list, { env: withConfig({ token }, 0o644) });
    assert.equal(exit, 2);
    assert.match(stderr, /^fx: The config file .* has a token, and others than its owner can read it\./);
    const server = await openStandIn(none);
    assert.equal((await runHere(list, { env: withConfig({ url: server.url }, 0o644) })).exit, 0);
  });
});

describe("a token that is no token is refused without being shown:", () => {
  for (const [what, env] of [
    ["with a space", { FX_TOKEN: "hidden hidden" }],
    ["of two lines", { FX_TOKEN_FILE: file("hidden\nhidden") }],
    ["an empty file", { FX_TOKEN_FILE: file("") }],
    ["of another type", withConfig({ token: ["hidden"] })],
    ["an endless file", { FX_TOKEN_FILE: "/dev/zero" }],
  ] as const) {
    test(what, async () => {
      const { stdout, stderr, exit } = await runHere(list, { env });
      assert.deepEqual([stdout, exit], ["", 2], stderr);
      assert.ok(!stderr.includes("hidden"), stderr);
    });
  }
});

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
        env: { ...withConfig(here(config)), ...here(env) },
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

  test("A token goes to its server under another path, too, and wherever a command without a server works", async () => {
    const server = await openStandIn(none);
    const env = { FX_TOKEN: token, FX_URL: `${server.url}/fx` };
    assert.equal((await runHere([...list, "--url", server.url], { env })).exit, 0);
    assert.equal((await runHere([...list, "--url", "memory:"], { env })).exit, 0);
  });

  test("a token beside a user in the address is refused", async () => {
    const env = { FX_TOKEN: token, FX_URL: "https://user:hidden@bank.example" };
    const { stderr, exit } = await runHere(list, { env });
    assert.equal(exit, 2);
    assert.match(stderr, /^fx: The server's address has a user, and there is a token\./);
    assert.ok(!stderr.includes("hidden"));
  });
});

test("A secret in FX_URL is taken, and sent", async () => {
  const server = await openStandIn(none);
  const env = { FX_URL: `${server.url}?api_key=hidden` };
  assert.equal((await runHere(list, { env })).exit, 0);
  assert.match(server.requests[0] ?? "", /^GET \/api\/users\?\S*api_key=hidden/);
});
