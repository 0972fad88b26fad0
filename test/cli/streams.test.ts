import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adult, fixedRates, opening } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { runFx, spawnFx } from "../support/run-fx.ts";
import { openHere, runHere } from "../support/run-here.ts";

const folder = newFolder();
const env = { FX_URL: `sqlite:${join(folder, "fx.db")}`, FX_RATES: "demo" };
const count = 2500;

describe("streams", () => {
  before(async () => {
    const service = new LedgerService(openSqlite(join(folder, "fx.db")), fixedRates());
    await Promise.all(Array.from({ length: count }, (_, index) => service.createAccount(opening({ index }))));
    await service.close();
  });

  test("a long list comes whole through a pipe, page after page", async () => {
    const { stdout } = await runFx(["account", "list"], { env });
    assert.ok(stdout.length > 64 * 1024);
    assert.equal(stdout.split("\n").length - 1, count);
  });

  test("an export comes whole through a pipe", async () => {
    const { stdout } = await runFx(["export", "--format", "hledger"], { env });
    assert.ok(stdout.endsWith(`\n; end of export: ${count} entries\n`));
  });

  test("A list with --limit ends in the middle of a page, and is one JSON array", async () => {
    const { stdout } = await runHere(["account", "list", "--limit", "1500", "--json"], { env });
    assert.equal(JSON.parse(stdout).length, 1500);
  });
});

describe("output that cannot be written", () => {
  const full = {
    env: { FX_URL: `sqlite:${join(folder, "full.db")}`, FX_RATES: "demo" },
    stdout: "/dev/full",
  };
  const exchange = ["exchange", adult(), "--from", "PLN", "--to", "USD", "--to-buy", "1", "--yes"];
  const entries = async () => {
    const { stdout } = await runHere(["account", "history", adult(), "--json"], { env: full.env });
    return (JSON.parse(stdout) as { entries: { key: string }[] }).entries;
  };

  before(() => openHere(full.env.FX_URL));

  const failed = "The output cannot be written (no space left on device).";
  const again =
    "The request was carried out. The same command with --key <key> shows it, and does nothing twice.";
  const document = { code: "output-failed", message: failed, hint: again, exit: 12, key: "<key>" };
  const tokens = ["--tokens", join(folder, "tokens")];
  const once = "The token is shown only this once: the file keeps a hash of it.";
  const made = "The token till was made, and nobody has its secret. fx token rotate till makes another.";
  /** Commands, and what each prints on stderr, where `<key>` is that of the newest entry. */
  for (const [what, args, exit, told] of [
    ["is reported", ["account", "list"], 12, `fx: ${failed}`],
    [
      ...["is not reported by a command that fails and has no output", ["account", "show", adult(3)], 4],
      "fx: There is no account for this PESEL.\nfx account create opens one.",
    ],
    ["is reported with the key by fx exchange", exchange, 12, `fx: ${failed}\n${again}`],
    ["is reported with the key by fx exchange --json", [...exchange, "--json"], 12, JSON.stringify(document)],
    [
      ...["is reported without a key where nothing was moved", [...exchange, "--dry-run", "--json"], 12],
      JSON.stringify({ ...document, hint: null, key: undefined }),
    ],
    [
      ...["is reported by fx token create", ["token", "create", "till", "--role", "teller", ...tokens], 12],
      `${once}\nfx: ${failed}\n${made}`,
    ],
    [
      "is reported by fx token rotate",
      ["token", "rotate", "till", ...tokens],
      12,
      `${once}\nfx: ${failed}\n${made}`,
    ],
    [
      ...["is reported by fx token revoke", ["token", "revoke", "till", ...tokens], 12],
      `fx: ${failed}\nThe token till was revoked.`,
    ],
  ] as [what: string, args: string[], exit: number, told: string][]) {
    test(`Output that cannot be written ${what}, with exit ${exit}`, async () => {
      const ran = await runFx(args, full);
      const [newest] = await entries();
      assert.deepEqual([ran.stderr, ran.exit], [`${told.replaceAll("<key>", newest?.key ?? "")}\n`, exit]);
    });
  }

  // A line that is refused does not hide it behind its own exit.
  const stdin = `pesel,from,to,toBuy,toSell\n${adult()},PLN,PLN,1,\n${adult()},PLN,USD,1,\n`;

  test("Output that cannot be written ends fx batch with exit 12, and the same batch again does the rest", async () => {
    const { stderr, exit } = await runFx(["batch", "-", "--id", "b"], { ...full, stdin });
    assert.match(stderr, /\nTo do the rest, run it again with --id b\. Nothing is done twice\.\n/);
    assert.match(stderr, /\nfx: The output cannot be written \(no space left on device\)\.\n$/);
    assert.equal(exit, 12);
    const again = await runHere(["batch", "-", "--id", "b"], { env: full.env, stdin });
    assert.match(again.stdout, /^\{"line":2,"ok":false.*\n\{"line":3,"ok":true/);
    assert.equal((await entries()).filter(({ key }) => /^b[\w-]{19}$/.test(key)).length, 1);
  });

  test("Output that cannot be written ends fx batch --json with exit 12, in documents", async () => {
    const { stderr, exit } = await runFx(["batch", "-", "--id", "c", "--json"], { ...full, stdin });
    const documents = stderr
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const failed = documents.find(({ code }) => code === "output-failed");
    const summary = documents.find(({ id }) => id === "c");
    assert.deepEqual([failed.exit, summary.complete, summary.exit, exit], [12, false, 12, 12]);
  });
});

describe("a reader that has had enough", () => {
  const piped = { env: { FX_URL: `sqlite:${join(folder, "piped.db")}`, FX_RATES: "demo" } };
  before(async () => {
    await openHere(piped.env.FX_URL);
  });

  test("A reader that closes its end of the pipe ends a long list quietly, with exit 141", async () => {
    const { child, ended } = spawnFx(["account", "list"], { env });
    child.stdout.once("data", () => child.stdout.destroy());
    const { stderr, exit } = await ended;
    assert.deepEqual([stderr, exit], ["", 141]);
  });

  test("A closed pipe does not make fx entries say that there are none", async () => {
    const { child, ended } = spawnFx(["entries"], piped);
    child.stdout.destroy();
    const { stderr, exit } = await ended;
    assert.deepEqual([stderr, exit], ["", 141]);
  });

  test("a closed pipe after an exchange is exit 141, with the key on stderr", async () => {
    const exchange = ["exchange", adult(), "--from", "PLN", "--to", "USD", "--to-buy", "1", "--key", "k-1"];
    const { child, ended } = spawnFx(exchange, piped);
    child.stdout.destroy();
    const { stderr, exit } = await ended;
    assert.match(stderr, /\nThe request was carried out\. The same command with --key k-1 shows it, /);
    assert.equal(exit, 141);
  });

  test("A reader that closes its end of the pipe stops a batch with exit 141, and the same batch again does the rest", async () => {
    const stdin = `pesel,from,to,toBuy,toSell\n${`${adult()},PLN,USD,0.01,\n`.repeat(9000)}`;
    const { child, ended } = spawnFx(["batch", "-", "--id", "p", "--json"], piped);
    child.stdin.end(stdin);
    child.stdout.once("data", () => child.stdout.destroy());
    const { stderr, exit } = await ended;
    const { complete, exit: told } = JSON.parse(stderr);
    assert.deepEqual([complete, told, exit], [false, 141, 141]);
    const again = await runHere(["batch", "-", "--id", "p", "--json"], { ...piped, stdin });
    const { done, replayed } = JSON.parse(again.stderr.trimEnd().split("\n").at(-1) as string);
    assert.deepEqual([done + replayed, replayed > 0, again.exit], [9000, true, 0]);
  });
});
