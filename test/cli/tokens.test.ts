import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
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
import { TokensInForce } from "../../src/cli/tokens/in-force.ts";
import { createToken, isToken } from "../../src/cli/tokens/token.ts";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { send } from "../support/http.ts";
import { runFx, startFx } from "../support/run-fx.ts";
import { runHere, serveHere } from "../support/run-here.ts";
import { until } from "../support/until.ts";

interface Kept {
  readonly name: string;
  readonly role: string;
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

async function refusesToServe(file: string, message: RegExp): Promise<void> {
  const started = startFx(["--rates", "demo", "--tokens", file]).then((server) => server.stop());
  await assert.rejects(started, (error: Error) => {
    assert.match(error.message.replaceAll("\n", " "), /ended with 2/);
    assert.match(error.message.replaceAll("\n", " "), message);
    return true;
  });
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

describe("the header Authorization", () => {
  for (const [what, headerOf, isTaken] of [
    ["Bearer and a token", (token) => `Bearer ${token}`, true],
    ["bearer in any case", (token) => `bEARER ${token}`, true],
    ["more than one space", (token) => `Bearer   ${token}`, true],
    ["a token alone", (token) => token, false],
    ["another scheme", (token) => `Basic ${token}`, false],
    ["two tokens", (token) => `Bearer ${token} ${token}`, false],
    ["a token of another server", () => `Bearer ${createToken()}`, false],
    ["a token without its last letter", (token) => `Bearer ${token.slice(0, -1)}`, false],
    ["no token", () => "Bearer ", false],
  ] as readonly (readonly [string, (token: string) => string, boolean])[]) {
    test(`An Authorization header with ${what} is ${isTaken ? "accepted" : "refused"}`, async (t) => {
      const { file, create } = folder(t);
      const token = await create("till-3 --role teller");
      const tokens = await TokensInForce.open(file);
      assert.equal(tokens.callerOf(headerOf(token))?.name, isTaken ? "till-3" : undefined);
    });
  }
});

describe("fx token create", () => {
  test("fx token create prints the token alone, and keeps its SHA-256 in a file of mode 600", async (t) => {
    const { file, token, kept } = folder(t);
    const { stdout, stderr, exit } = await token("create till-3 --role teller");
    assert.equal(exit, 0);
    assert.match(stdout, /^fxt_\w{49}\n$/);
    assert.doesNotMatch(stderr, /fxt_/);
    const [{ created: _, ...made }] = kept() as [Kept & { created: string }];
    const sha256 = createHash("sha256").update(stdout.trim()).digest("hex");
    assert.deepEqual(made, { name: "till-3", role: "teller", expires: null, sha256 });
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.doesNotMatch(readFileSync(file, "utf8"), /fxt_/);
  });

  for (const [expires, ms] of [
    ["90d", 90 * 86_400_000],
    ["12h", 12 * 3_600_000],
  ] as const) {
    test(`fx token create with --expires ${expires} makes one that expires then`, async (t) => {
      const { create, kept } = folder(t);
      await create(`till-3 --role teller --expires ${expires}`);
      const [{ created, expires: until }] = kept() as [Kept & { created: string }];
      assert.equal(Date.parse(until ?? "") - Date.parse(created), ms);
    });
  }

  test("fx token create with a name in use is exit 2, and changes nothing", async (t) => {
    const { file, token, create } = folder(t);
    await create("till-3 --role teller");
    const before = readFileSync(file, "utf8");
    const { stdout, stderr, exit } = await token("create till-3 --role operator");
    assert.deepEqual([stdout, exit], ["", 2]);
    assert.match(stderr, /There is a token till-3 .*fx token revoke till-3/s);
    assert.equal(readFileSync(file, "utf8"), before);
    assert.ok(!existsSync(`${file}.next`));
  });

  for (const [what, line] of [
    ["without a role", "create till-3"],
    ["of a role that there is not", "create till-3 --role admin"],
    ["with a time to live that is none", "create till-3 --role teller --expires 90"],
    ["with a time to live of nothing", "create till-3 --role teller --expires 0d"],
    ["of a name with a slash", "create a/b --role teller"],
    ["of a name that is too long", `create ${"a".repeat(65)} --role teller`],
    ["of a name that is a PESEL", "create till-44051401359 --role teller"],
    ["of a name that is a token", `create ${createToken()} --role teller`],
  ] as const) {
    test(`${what} is exit 2, and makes no file`, async (t) => {
      const { file, token } = folder(t);
      assert.equal((await token(line)).exit, 2);
      assert.ok(!existsSync(file));
    });
  }

  test("fx token create without a file says how to name one", async () => {
    const { stderr, exit } = await runHere(["token", "create", "a", "--role", "viewer"]);
    assert.equal(exit, 2);
    assert.match(stderr, /--tokens or FX_TOKENS/);
  });

  test("fx token create in a folder that does not exist says so", async (t) => {
    const { path } = folder(t);
    const file = join(path, "none", "tokens.json");
    const { stderr, exit } = await runHere(["token", "create", "a", "--role", "viewer", "--tokens", file]);
    assert.equal(exit, 2);
    assert.match(stderr, /cannot be written \(no such file or directory\)/);
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
    const faults: string[] = [];
    const stop = new AbortController();
    void tokens.follow({ onRead: () => {}, onFault: (reason) => faults.push(reason) }, stop.signal);
    assert.equal((await token("revoke till-3")).exit, 0);
    await until(() => faults.length > 0);
    stop.abort();
    assert.match(faults.join(), /mounted by itself, .*Mount the folder/);
    await assert.rejects(TokensInForce.open(mounted), /mounted by itself/);
  } finally {
    execFileSync("umount", [mounted]);
  }
});

describe("fx token list", () => {
  test("fx token list shows name, role, times and state, and neither token nor hash", async (t) => {
    const { file, token, create, kept } = folder(t);
    const secret = await create("till-3 --role teller --expires 90d");
    await create("old --role viewer --expires 1h");
    const [till, old] = kept() as [Kept, Kept];
    const past = { ...old, expires: "2026-01-01T00:00:00.000Z" };
    writeFileSync(file, JSON.stringify({ tokens: [till, past] }));
    const { stdout } = await token("list");
    const rows = stdout
      .trim()
      .split("\n")
      .map((row) => row.split("\t"));
    assert.deepEqual(
      rows.map(([name, role, , expires, state]) => [name, role, expires, state]),
      [
        ["till-3", "teller", till.expires, "in force"],
        ["old", "viewer", past.expires, "expired"],
      ],
    );
    const { stdout: json } = await token("list --json");
    assert.deepEqual(
      (JSON.parse(json) as Kept[]).map((listed) => Object.keys(listed)),
      Array(2).fill(["name", "role", "created", "expires"]),
    );
    for (const text of [stdout, json]) assert.ok(!text.includes(secret) && !text.includes(till.sha256));
  });
});

describe("fx token revoke", () => {
  test("fx token revoke takes the token out of the file, and leaves the others", async (t) => {
    const { token, create, kept } = folder(t);
    await create("a --role viewer");
    await create("b --role viewer");
    const { stdout, exit } = await token("revoke a");
    assert.deepEqual([stdout, exit], ["revoked\ta\n", 0]);
    assert.deepEqual(
      kept().map(({ name }) => name),
      ["b"],
    );
  });

  test("fx token revoke with an unknown name is exit 2, and makes no file", async (t) => {
    const { file, token, create } = folder(t);
    assert.equal((await token("revoke a")).exit, 2);
    assert.ok(!existsSync(file));
    await create("b --role viewer");
    assert.match((await token("revoke a")).stderr, /There is no token a/);
  });
});

describe("fx token rotate", () => {
  test("fx token rotate replaces the secret, and keeps name, role and lifetime", async (t) => {
    const { token, create, kept } = folder(t);
    const first = await create("a --role teller --expires 12h");
    await create("b --role viewer");
    const [before] = kept() as [Kept];
    const { stdout, exit } = await token("rotate a");
    const [after, other] = kept() as [Kept & { created: string }, Kept];
    assert.equal(exit, 0);
    assert.match(stdout, /^fxt_\w{49}\n$/);
    assert.notEqual(stdout.trim(), first);
    assert.deepEqual([after.name, after.role, other.name], ["a", "teller", "b"]);
    assert.notEqual(after.sha256, before.sha256);
    assert.equal(Date.parse(after.expires ?? "") - Date.parse(after.created), 12 * 3_600_000);
    assert.equal((await token("rotate a --expires 1h")).exit, 0);
    assert.match((await token("rotate none")).stderr, /^fx: There is no token none/);
  });

  test("an idempotency key belongs to the token's name: a retry under the rotated secret is replayed", async (t) => {
    const { file, token, create } = folder(t);
    const first = await create("till --role teller");
    const server = await serveHere({ FX_TOKENS: file, FX_RATES: "demo" });
    t.after(() => server.stop());
    const opening = ["account", "create", adult(), "--name", "Jan", "--surname", "K", "--pln", "5", "--json"];
    const open = (FX_TOKEN: string) =>
      runHere([...opening, "--key", "k-1"], { env: { FX_TOKEN, FX_URL: server.url } });
    assert.equal((await open(first)).exit, 0);
    const second = (await token("rotate till")).stdout.trim();
    await until(async () => (await open(first)).exit === 10);
    const { stdout, exit } = await open(second);
    assert.deepEqual([JSON.parse(stdout).replayed, exit], [true, 0]);
  });
});

describe("a file of tokens is refused", () => {
  const entry = { name: "a", role: "viewer", created: "2026-06-08T12:00:00.000Z", expires: null };
  const whole = { ...entry, sha256: "0".repeat(64) };
  for (const [what, content, message, mode] of [
    ["if its group may read it", { tokens: [] }, /chmod 600/, 0o640],
    ["if others may read it", { tokens: [] }, /chmod 600/, 0o604],
    ["if others may write it", { tokens: [] }, /chmod 600/, 0o602],
    ["if it is not JSON", "tokens", /is not JSON/, 0o600],
    ["if a role is none", { tokens: [{ ...whole, role: "admin" }] }, /at tokens\.0\.role/, 0o600],
    ["if a hash is missing", { tokens: [entry] }, /at tokens\.0\.sha256/, 0o600],
    ["if it has more", { tokens: [{ ...whole, roles: [] }] }, /at tokens\.0/, 0o600],
    [
      "if it has two of one name",
      { tokens: [whole, { ...whole, sha256: "1".repeat(64) }] },
      /two tokens of one name/,
      0o600,
    ],
    [
      "if it has one token twice",
      { tokens: [whole, { ...whole, name: "b" }] },
      /two tokens of one sha256/,
      0o600,
    ],
  ] as const) {
    test(what, async (t) => {
      const { file, token } = folder(t);
      writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
      chmodSync(file, mode);
      for (const { stderr, exit } of [await token("list"), await token("create c --role viewer")]) {
        assert.equal(exit, 2, stderr);
        assert.match(stderr.replaceAll("\n", " "), message);
      }
      assert.ok(!existsSync(`${file}.next`));
    });
  }
});

test("fx doctor counts the tokens of the file that the settings name, or says what is wrong with it", async (t) => {
  const { file, create } = folder(t);
  await create("a --role viewer");
  const lines = async () => {
    const env = { FX_TOKENS: file, FX_URL: "sqlite:none.db", FX_RATES: "demo" };
    const { stdout } = await runHere(["doctor"], { env });
    return stdout.split("\n").filter((line) => line.startsWith("check\ttokens"));
  };
  assert.deepEqual(await lines(), [`check\ttokens\tok\t1 in ${file}`]);
  chmodSync(file, 0o644);
  assert.match((await lines()).join(), /^check\ttokens\twrong\t.*Run chmod 600/);
});

test("fx serve with a file of tokens that is not there says how to make it", async (t) => {
  const { file } = folder(t);
  await refusesToServe(file, /fx token create NAME --role operator/);
});

describe("fx serve --tokens", () => {
  /** A server over a file with one token of an operator. */
  async function served(t: TestContext) {
    const tokens = folder(t);
    const secret = await tokens.create("boss --role operator");
    const server = await startFx(["--rates", "demo", "--tokens", tokens.file, "--log-level", "info"]);
    t.after(() => server.stop());
    const statusFor = async (token: string) =>
      (await send(server.url, "GET", "/api/position", { headers: { authorization: `Bearer ${token}` } }))
        .status;
    const becomes = (token: string, status: number) => until(async () => (await statusFor(token)) === status);
    return { ...tokens, server, secret, statusFor, becomes };
  }

  test("fx serve --tokens asks for a token, and takes those of the file", async (t) => {
    const { server, secret, statusFor } = await served(t);
    assert.equal((await send(server.url, "GET", "/api/position")).status, 401);
    assert.equal(await statusFor(createToken()), 401);
    for (let time = 0; time < 3; time += 1) assert.equal(await statusFor(secret), 200);
    assert.match(server.output().stdout, /^tokens\t1, of /m);
  });

  test("fx serve --tokens takes a new token, and no more a revoked one, while it runs", async (t) => {
    const { create, token, becomes, secret } = await served(t);
    const second = await create("second --role operator");
    await becomes(second, 200);
    await token("revoke boss");
    await becomes(secret, 401);
    await becomes(second, 200);
  });

  test("fx serve --tokens takes a role that was changed in the file", async (t) => {
    const { file, secret, statusFor, becomes } = await served(t);
    assert.equal(await statusFor(secret), 200);
    writeFileSync(file, readFileSync(file, "utf8").replace("operator", "viewer"));
    await becomes(secret, 403);
  });

  test("fx serve --tokens keeps the last tokens while the file is broken or gone, and says so once for each", async (t) => {
    const { file, server, secret, statusFor, create, becomes } = await served(t);
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
    await becomes(await create("second --role operator"), 200);
    assert.doesNotMatch(server.output().stderr, /fxt_|sha256/);
  });
});

test("After a killed fx token, the next says what to delete, and changes nothing", async (t) => {
  const { file, create, token } = folder(t);
  await create("a --role viewer");
  const before = readFileSync(file, "utf8");
  writeFileSync(`${file}.next`, "{");
  const { stderr, exit } = await token("create b --role viewer");
  assert.equal(exit, 2);
  assert.match(stderr.replaceAll("\n", " "), /tokens\.json\.next is there: .*delete it/);
  assert.equal(readFileSync(file, "utf8"), before);
});
