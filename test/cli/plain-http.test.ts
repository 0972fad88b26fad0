import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { runFx } from "../support/run-fx.ts";
import { runHere } from "../support/run-here.ts";
import { openStandIn, rawAnswer } from "../support/stand-in.ts";

const folder = newFolder();
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  return join(folder, name);
};

const token = "fxt_hidden123";
const pesel = adult(0);
/** Commands of each kind that asks a server: one that reads, one that changes, a stream, and a file. */
const asking: readonly (readonly string[])[] = [
  ["rates"],
  ["trading", "suspend", "--reason", "a check"],
  ["house"],
  ["exchange", pesel, "--from", "PLN", "--to", "USD", "--to-buy", "1", "--yes"],
  ["batch", file("orders.csv", `pesel,from,to,toBuy,toSell\n${pesel},PLN,USD,1,\n`)],
  ["audit", "--checkpoint", join(folder, "new.checkpoint")],
  ["export", "--format", "hledger"],
  ["account", "export", pesel],
  ["entries"],
  ["receipt", "proof", "019e9a70"],
];

/** 0.0.0.0 leads to this machine, but is no loopback address to fx. */
const elsewhere = (url: string) => url.replace("127.0.0.1", "0.0.0.0");

describe("a token is sent in clear text to no other machine, without a word, by", () => {
  for (const args of asking) {
    test(`fx ${args.slice(0, 2).join(" ").replaceAll(pesel, "<pesel>").replaceAll(folder, "")}`, async () => {
      const server = await openStandIn(rawAnswer(404));
      const env = { FX_TOKEN: token, FX_URL: elsewhere(server.url) };
      const { stdout, stderr, exit } = await runHere(args, { env });
      assert.deepEqual([stdout, exit, server.requests], ["", 2, []], stderr);
      assert.match(
        stderr.replaceAll(/\s+/g, " "),
        /fx: Refusing to send a token to http:\/\/0\.0\.0\.0:\d+ over plain HTTP, .* Nothing was sent\. Use https:/,
      );
      assert.ok(!stderr.includes("hidden"));
      await runHere([...args, "--allow-plain-http"], { env });
      assert.match(server.requests[0] ?? "", /^authorization: Bearer fxt_hidden123\r$/im);
    });
  }
});

test("FX_ALLOW_PLAIN_HTTP allows a token in clear text, unless it is false", async () => {
  const xdg = mkdtempSync(join(folder, "xdg-"));
  const server = await openStandIn(rawAnswer(404));
  const env = { FX_TOKEN_FILE: file("token", token), FX_URL: elsewhere(server.url), XDG_CONFIG_HOME: xdg };
  await runHere(["rates"], { env: { ...env, FX_ALLOW_PLAIN_HTTP: "true" } });
  assert.equal(server.requests.length, 1);
  assert.equal((await runHere(["rates"], { env: { ...env, FX_ALLOW_PLAIN_HTTP: "false" } })).exit, 2);
  assert.equal(server.requests.length, 1);
});

test("fx doctor finds that a token would go in clear text, and sends none", async () => {
  const server = await openStandIn(rawAnswer(404));
  const env = { FX_TOKEN: token, FX_URL: elsewhere(server.url) };
  const { stdout, exit } = await runHere(["doctor"], { env });
  assert.match(stdout, /^check\tserver\twrong\tRefusing to send a token to http:/m);
  assert.deepEqual([exit, server.requests], [11, []]);
});

test("a token for this machine goes past the proxy of the environment", async () => {
  const proxy = await openStandIn(rawAnswer(200, "{}", "Content-Type: application/json"));
  const server = await openStandIn(rawAnswer(404));
  const names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
  const env = Object.fromEntries([...names.map((name) => [name, proxy.url]), ["NODE_USE_ENV_PROXY", "1"]]);
  await runFx(["rates"], { env: { ...env, FX_TOKEN: token, FX_URL: server.url } });
  assert.equal(server.requests.length, 1);
  assert.deepEqual(proxy.requests, []);
});
