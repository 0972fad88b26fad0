import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import type { FastifyBaseLogger } from "fastify";
import { TokensInForce } from "../../src/cli/tokens/in-force.ts";
import { createToken, isToken } from "../../src/cli/tokens/token.ts";
import { newFolder } from "../support/folder.ts";
import { send } from "../support/http.ts";
import { runFx, startFx } from "../support/run-fx.ts";
import { runHere } from "../support/run-here.ts";
import { until } from "../support/until.ts";

interface Kept {
  readonly name: string;
  readonly role: string;
  readonly created: string;
  readonly expires: string | null;
  readonly sha256: string;
}

/** A path for a file of tokens, and `fx token` on it. */
function folder(t: TestContext) {
  const path = newFolder(t);
  const file = join(path, "tokens.json");
  const token = (line: string) => runHere(["token", ...line.split(" ")], { env: { FX_TOKENS: file } });
  const create = async (line: string) => {
    const { stdout, stderr, exit } = await token(`create ${line}`);
    assert.equal(exit, 0, stderr);
    return stdout.trim();
  };
  const kept = () => (JSON.parse(readFileSync(file, "utf8")) as { tokens: readonly Kept[] }).tokens;
  return { path, file, token, create, kept };
}

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

describe("a token", () => {
  test("A token is fxt_, 43 digits of base 62, and six more that are the first 32 bits of their SHA-256", () => {
    for (let count = 0; count < 1000; count += 1) {
      const [, secret = "", checkSum = ""] = /^fxt_(\w{43})(\w{6})$/.exec(createToken()) ?? [];
      const sum = [...checkSum].reduce((total, digit) => total * 62 + digits.indexOf(digit), 0);
      assert.equal(sum, createHash("sha256").update(secret).digest().readUInt32BE());
    }
  });

  test("A token is known by its form, in which no letter may be another", () => {
    const token = createToken();
    assert.ok(isToken(token));
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(...digits, "_", " "), (place, letter) => {
        const other = token.slice(0, place) + letter + token.slice(place + 1);
        assert.equal(isToken(other), other === token);
      }),
    );
    for (const text of ["", "fxt_", token.slice(0, -1), `${token}0`, `${token}\n`]) assert.ok(!isToken(text));
  });
});

test("An Authorization header is Bearer, in any case and with any spaces, and a whole token of this server", async (t) => {
  const { file, create } = folder(t);
  const token = await create("till-3 --role teller");
  const tokens = await TokensInForce.open(file);
  for (const [header, isTaken] of [
    [`Bearer ${token}`, true],
    [`bEARER ${token}`, true],
    [`Bearer   ${token}`, true],
    [token, false],
    [`Basic ${token}`, false],
    [`Bearer ${token} ${token}`, false],
    [`Bearer ${createToken()}`, false],
    [`Bearer ${token.slice(0, -1)}`, false],
    ["Bearer ", false],
  ] as const) {
    assert.equal(tokens.callerOf(header)?.name, isTaken ? "till-3" : undefined, header);
  }
});

describe("fx token create", () => {
  test("fx token create prints the token alone, and keeps its SHA-256 in a file of mode 600", async (t) => {
    const { file, token, kept } = folder(t);
    const { stdout, stderr, exit } = await token("create till-3 --role teller");
    assert.equal(exit, 0);
    assert.match(stdout, /^fxt_\w{49}\n$/);
    assert.doesNotMatch(stderr, /fxt_/);
    const [{ created: _, ...made }] = kept() as [Kept];
    const sha256 = createHash("sha256").update(stdout.trim()).digest("hex");
    assert.deepEqual(made, { name: "till-3", role: "teller", expires: null, sha256 });
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.doesNotMatch(readFileSync(file, "utf8"), /fxt_/);
  });

  test("A token expires after the time of --expires, and a rotated one after the same time anew", async (t) => {
    const { token, create, kept } = folder(t);
    await create("a --role teller --expires 90d");
    const first = await create("b --role teller --expires 12h");
    const [, before] = kept();
    assert.notEqual((await token("rotate b")).stdout.trim(), first);
    const [a, b] = kept();
    const hours = ({ created, expires }: Kept) =>
      (Date.parse(expires ?? "") - Date.parse(created)) / 3_600_000;
    assert.deepEqual([a && hours(a), b && hours(b)], [90 * 24, 12]);
    assert.notEqual(b?.sha256, before?.sha256);
  });

  test("fx token create makes the file where a link leads, and leaves the link", async (t) => {
    const { path, file, create } = folder(t);
    mkdirSync(join(path, "real"));
    symlinkSync("real/tokens.json", file);
    await create("till-3 --role teller");
    assert.ok(lstatSync(file).isSymbolicLink());
    assert.match(readFileSync(join(path, "real", "tokens.json"), "utf8"), /till-3/);
  });

  for (const { where, target } of [
    {
      where: "into a folder that is not there now, as on a disk that is not mounted",
      target: "away/tokens.json",
    },
    { where: "to itself", target: "tokens.json" },
  ]) {
    test(`fx token create leaves a link ${where}: a new file there would drop all tokens`, async (t) => {
      const { file, token } = folder(t);
      symlinkSync(target, file);
      const { exit, stderr } = await token("create till-4 --role teller");
      assert.equal(exit, 2);
      assert.match(stderr, /cannot be written/);
      assert.ok(lstatSync(file).isSymbolicLink());
    });
  }

  test("fx token create changes nothing where another hard link would keep a revoked token", async (t) => {
    const { path, file, token, create } = folder(t);
    await create("till-3 --role teller");
    linkSync(file, join(path, "other.json"));
    const { exit, stderr } = await token("revoke till-3");
    assert.equal(exit, 2);
    assert.match(stderr.replaceAll(/\s+/g, " "), /has another hard link, .*Remove the other name\./);
    rmSync(join(path, "other.json"));
    assert.equal((await token("revoke till-3")).exit, 0);
  });

  test("fx token create loses no token when several run at once", async (t) => {
    const { file, kept } = folder(t);
    const names = ["a", "b", "c", "d"];
    const runs = names.map((name) => runFx(["token", "create", name, "--role", "viewer", "--tokens", file]));
    for (const { exit, stderr } of await Promise.all(runs)) assert.equal(exit, 0, stderr);
    assert.deepEqual(
      kept()
        .map(({ name }) => name)
        .sort(),
      names,
    );
  });
});

test("a file of tokens that is mounted by itself is refused once it was replaced elsewhere", {
  skip: process.getuid?.() !== 0 && "a bind mount takes root's rights",
}, async (t) => {
  const { path, file, token, create } = folder(t);
  await create("till-3 --role teller");
  const mounted = join(path, "mounted.json");
  writeFileSync(mounted, "");
  try {
    execFileSync("mount", ["--bind", file, mounted], { stdio: "pipe" });
  } catch {
    return t.skip("mounting is not permitted");
  }
  try {
    const tokens = await TokensInForce.open(mounted);
    assert.equal(tokens.count, 1);
    const faults: unknown[] = [];
    const stop = new AbortController();
    const log = { warn: ({ reason }: { reason: string }) => faults.push(reason) };
    void tokens.follow(log as unknown as FastifyBaseLogger, stop.signal);
    assert.equal((await token("revoke till-3")).exit, 0);
    await until(() => faults.length > 0);
    stop.abort();
    assert.match(faults.join(), /mounted by itself, .*Mount the folder/);
    await assert.rejects(TokensInForce.open(mounted), /mounted by itself/);
  } finally {
    execFileSync("umount", [mounted]);
  }
});

test("fx serve follows changes of its token file, and keeps the last good tokens while it is broken or gone, logging each once", async (t) => {
  const { file, create, token } = folder(t);
  const secret = await create("boss --role operator");
  const server = await startFx(["--rates", "demo", "--tokens", file, "--log-level", "info"]);
  t.after(() => server.stop());
  const statusFor = async (bearer: string) => {
    const headers = { authorization: `Bearer ${bearer}` };
    return (await send(server.url, "GET", "/api/position", { headers })).status;
  };
  const becomes = (bearer: string, status: number) => until(async () => (await statusFor(bearer)) === status);
  assert.match(server.output().stdout, /^tokens\t1, of /m);
  assert.equal((await send(server.url, "GET", "/api/position")).status, 401);
  assert.equal(await statusFor(createToken()), 401);
  for (let time = 0; time < 3; time += 1) assert.equal(await statusFor(secret), 200);

  const faults = () => server.output().stderr.match(/tokens not read again/g)?.length ?? 0;
  const content = readFileSync(file, "utf8");
  for (const [index, breakIt] of [
    () => writeFileSync(file, content.slice(0, 20)),
    () => chmodSync(file, 0o644),
    () => renameSync(file, `${file}.away`),
  ].entries()) {
    breakIt();
    await until(() => faults() === index + 1);
    assert.equal(await statusFor(secret), 200);
  }
  // It is looked at twice a second.
  await pause(1200);
  assert.equal(faults(), 3);

  writeFileSync(file, content, { mode: 0o600 });
  const second = await create("second --role operator");
  await becomes(second, 200);
  await token("revoke boss");
  await becomes(secret, 401);
  writeFileSync(file, readFileSync(file, "utf8").replace("operator", "viewer"));
  await becomes(second, 403);
  assert.doesNotMatch(server.output().stderr, /fxt_|sha256/);
});
