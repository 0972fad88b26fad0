import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { newFolder } from "../support/folder.ts";
import { runHere, serveHere } from "../support/run-here.ts";
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

  test("A token is taken from no flag", async () => {
    const ran = await runHere([...list, "--token", token]);
    assert.equal(ran.exit, 2);
    assert.match(ran.stderr, /[Uu]nknown option '--token'/);
  });
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

describe("a secret in --url is refused, and not shown:", () => {
  for (const url of [
    "https://user:hidden@bank.example",
    "https://hidden@bank.example/fx",
    "https://bank.example/?api_key=hidden",
    "https://bank.example/?x=1&access_token=hidden",
    "https://bank.example/#token=hidden",
  ]) {
    test(url.replaceAll("hidden", "…"), async () => {
      const { stderr, exit } = await runHere([...list, "--url", url]);
      assert.equal(exit, 2);
      assert.match(stderr, /does not belong on a command line.* Put the address of --url into FX_URL/);
      assert.ok(!stderr.includes("hidden"));
    });
  }

  test("A secret in --rates is refused, and not shown", async () => {
    const args = ["rates", "--url", "memory:", "--rates", "https://rates.example/api?key=hidden"];
    const { stderr, exit } = await runHere(args);
    assert.equal(exit, 2);
    assert.match(stderr, /Put the address of --rates into FX_RATES/);
  });

  test("a secret in FX_URL is taken, and sent", async () => {
    const server = await openStandIn(none);
    const env = { FX_URL: `${server.url}?api_key=hidden` };
    assert.equal((await runHere(list, { env })).exit, 0);
    assert.match(server.requests[0] ?? "", /^GET \/api\/users\?\S*api_key=hidden/);
  });
});

/** A server with a file of tokens, and a new token of this role. */
async function served(t: TestContext, role: string, ...more: string[]) {
  const tokens = join(mkdtempSync(join(folder, "server-")), "tokens.json");
  const created = await runHere(["token", "create", "till-3", "--role", role, "--tokens", tokens, ...more]);
  assert.equal(created.exit, 0, created.stderr);
  const server = await serveHere({ FX_TOKENS: tokens, FX_RATES: "demo" });
  t.after(() => server.stop());
  return { url: server.url, secret: created.stdout.trim() };
}

describe("at a server with tokens", () => {
  test("a command may do what its token's role includes, and is told what it does not", async (t) => {
    const { url, secret } = await served(t, "viewer");
    const env = { FX_TOKEN: secret };
    assert.equal((await runHere(["rates", "--url", url], { env })).exit, 0);
    const { stderr, exit } = await runHere([...list, "--url", url], { env });
    assert.equal(exit, 10);
    assert.match(stderr, /the token till-3 has the role viewer/);
    assert.match(stderr, /fx doctor shows which token is sent, and its role\./);
    const without = await runHere(["rates", "--url", url]);
    assert.deepEqual([without.exit, without.stderr.includes("Set FX_TOKEN")], [10, true]);
  });

  test("fx doctor says whose token it is, where it comes from, and never the token", async (t) => {
    const { url, secret } = await served(t, "teller", "--expires", "90d");
    const env = { FX_TOKEN_FILE: file(secret), FX_URL: url };
    const { stdout, stderr, exit } = await runHere(["doctor"], { env });
    assert.equal(exit, 0, stdout);
    assert.match(stdout, /^setting\ttoken\t\*\*\*\tFX_TOKEN_FILE$/m);
    assert.match(stdout, /^check\ttoken\tok\ttill-3, role teller, until \d{4}-\d\d-\d\dT\S+Z$/m);
    assert.ok(!`${stdout}${stderr}`.includes(secret.slice(4, 20)));
  });

  test("fx doctor says that a token is missing, unknown or not asked for", async (t) => {
    const { url } = await served(t, "teller");
    const missing = await runHere(["doctor", "--url", url]);
    assert.equal(missing.exit, 11);
    assert.match(missing.stdout, /^check\ttoken\twrong\tnone is sent, and the server asks for one/m);
    const unknown = await runHere(["doctor", "--url", url], { env: { FX_TOKEN: token } });
    assert.match(unknown.stdout, /^check\ttoken\twrong\tThe \S.*token/m);
    const open = await serveHere({ FX_RATES: "demo" });
    t.after(() => open.stop());
    const needless = await runHere(["doctor", "--url", open.url], { env: { FX_TOKEN: token } });
    assert.match(needless.stdout, /^check\ttoken\tok\tone is sent, and the server asks for none$/m);
  });
});
