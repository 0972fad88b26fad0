import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { adult } from "../support/fixture.ts";
import { send } from "../support/http.ts";
import { cannotMount, folderForMounts, mount } from "../support/mounts.ts";
import { runFx, type Served, spawnFx } from "../support/run-fx.ts";
import { runHere } from "../support/run-here.ts";
import { until } from "../support/until.ts";
import { openAccount, serveFile } from "./orders.ts";

const pesel = adult();
/** A folder with the ledger `data/fx.db` of a running server; its one account with 1,000 PLN is only in the log. */
async function servedLedger(t: TestContext): Promise<{ folder: string; server: Served }> {
  const folder = folderOfData(t);
  mkdirSync(join(folder, "deep", "er"), { recursive: true });
  const server = await serveFile(t, "data/fx.db", folder);
  assert.equal(await openAccount(server), 204);
  return { folder, server };
}

function folderOfData(t: TestContext): string {
  const folder = folderForMounts(t);
  mkdirSync(join(folder, "data"));
  return folder;
}

async function payOut({ url }: Served, amount: number): Promise<number> {
  const body = { amount, currency: "PLN" };
  return (await send(url, "POST", `/api/user/${pesel}/withdrawals`, { body })).status;
}

function plnOf(account: { currencies: { symbol: string; amount: number }[] }): number | undefined {
  return account.currencies.find(({ symbol }) => symbol === "PLN")?.amount;
}

/** Commands on the ledger of this name: two that read, one that writes, and a backup. */
const commands = (name: string): Record<string, readonly string[]> => {
  const at = ["--url", `sqlite:${name}`];
  return {
    show: ["account", "show", pesel, ...at, "--json"],
    audit: ["audit", ...at, "--json"],
    withdraw: ["account", "withdraw", pesel, "--amount", "1", "--currency", "PLN", ...at, "--json"],
    backup: ["backup", "copy.db", "--db", `sqlite:${name}`, "--json"],
  };
};

interface Name {
  readonly name: string;
  readonly make?: (folder: string) => void;
}

/** Names of `data/fx.db` relative to the parent of its folder. */
const names: Record<string, Name> = {
  "a symbolic link": {
    name: "link.db",
    make: (folder) => symlinkSync("data/fx.db", join(folder, "link.db")),
  },
  "a chain of symbolic links": {
    name: "deep/first.db",
    make: (folder) => {
      symlinkSync("er/second.db", join(folder, "deep/first.db"));
      symlinkSync("../../folder/fx.db", join(folder, "deep/er/second.db"));
      symlinkSync("data", join(folder, "folder"));
    },
  },
  ".. behind a symbolic link, which leaves the folder that the link leads to": {
    name: "elsewhere/../../data/./fx.db",
    make: (folder) => symlinkSync("deep/er", join(folder, "elsewhere")),
  },
  "another mount of its folder": {
    name: "mounted/fx.db",
    make: (folder) => {
      mkdirSync(join(folder, "mounted"));
      mount(join(folder, "mounted"), "--bind", join(folder, "data"));
    },
  },
};

const isMounted = (what: string) => /mount/.test(what);

describe("Other names of a ledger", () => {
  for (const [what, other] of Object.entries(names)) {
    const skip = isMounted(what) && cannotMount;
    test(`Commands and servers under ${what} see and change the running server's ledger`, {
      skip,
    }, async (t) => {
      const { folder, server } = await servedLedger(t);
      other.make?.(folder);
      const run = (args: readonly string[]) => runHere(args, { cwd: folder, env: { FX_RATES: "demo" } });
      const { show, audit, withdraw, backup } = commands(other.name) as Record<string, readonly string[]>;
      const result = async (args: readonly string[] = []) => {
        const { exit, stdout, stderr } = await run(args);
        assert.equal(exit, 0, stderr);
        return JSON.parse(stdout);
      };
      assert.equal(plnOf(await result(show)), 1000);
      await result(withdraw);
      const account = await (await fetch(`${server.url}/api/user/${pesel}`)).json();
      assert.equal(plnOf(account as Parameters<typeof plnOf>[0]), 999);
      assert.equal((await result(audit)).entries, 2);
      assert.equal((await result(backup)).entries, 2);
      const onto = await run(["backup", other.name, "--db", "sqlite:data/fx.db"]);
      assert.match(onto.stderr, /exists\. Name a new file/);
      assert.equal(onto.exit, 2);
      assert.equal((await result(show)).pesel, pesel);
      const second = await serveFile(t, other.name, folder);
      const answers = await Promise.all([payOut(server, 999), payOut(second, 999)]);
      assert.deepEqual(answers.sort(), [200, 400]);
      assert.deepEqual(logsIn(folder), ["data/fx.db-shm", "data/fx.db-wal"]);
    });
  }

  test("A new ledger is made at the target of a dangling symbolic link", async (t) => {
    const folder = folderOfData(t);
    symlinkSync("data/fx.db", join(folder, "link.db"));
    const servers = await Promise.all([serveFile(t, "link.db", folder), serveFile(t, "data/fx.db", folder)]);
    const [first, second] = servers as [Served, Served];
    assert.equal(await openAccount(first), 204);
    assert.equal(await openAccount(second), 409);
    assert.deepEqual(readdirSync(folder).sort(), ["data", "link.db"]);
    assert.deepEqual(readdirSync(join(folder, "data")).sort(), ["fx.db", "fx.db-shm", "fx.db-wal"]);
  });
});

function logsIn(folder: string): string[] {
  const names = ["-wal", "-shm", "-journal"].flatMap((ending) => ["-o", "-name", `*${ending}`]).slice(1);
  const found = execFileSync(
    "find",
    [".", "-path", "./mounted", "-prune", "-o", "-type", "f", "(", ...names, ")", "-print"],
    {
      cwd: folder,
      encoding: "utf8",
    },
  );
  return found
    .split("\n")
    .filter(Boolean)
    .map((name) => name.slice(2))
    .sort();
}

/** Ways to a name at which the ledger's log is missing, with the reason of the refusal. */
const refused: Record<string, Name & { readonly reason: RegExp }> = {
  "another hard link in another folder": {
    name: "other.db",
    make: (folder) => linkSync(join(folder, "data/fx.db"), join(folder, "other.db")),
    reason: /has another hard link, .*remove the other name.* has \.new- in it/,
  },
  "the name that it had, beside another hard link": {
    name: "data/fx.db",
    make: (folder) => linkSync(join(folder, "data/fx.db"), join(folder, "other.db")),
    reason: /has another hard link, .*remove the other name/,
  },
  "a mount of the file alone, with a space and a backslash in its name": {
    name: "al one\\.db",
    make: (folder) => {
      writeFileSync(join(folder, "al one\\.db"), "");
      mount(join(folder, "al one\\.db"), "--bind", join(folder, "data/fx.db"));
    },
    reason: /is mounted by itself.*Mount the folder/,
  },
  "the name to which it was renamed while a server has it open": {
    name: "data/renamed.db",
    make: (folder) => renameSync(join(folder, "data/fx.db"), join(folder, "data/renamed.db")),
    reason: /Another process has .*renamed\.db open.*give the file its earlier name back/,
  },
};

describe("Names under which a ledger is refused", () => {
  for (const [what, other] of Object.entries(refused)) {
    const skip = isMounted(what) && cannotMount;
    test(`A ledger is refused for reading and writing under ${what}`, { skip }, async (t) => {
      const { folder } = await servedLedger(t);
      other.make?.(folder);
      for (const [command, args] of Object.entries(commands(other.name))) {
        const ran = await runHere(args, { cwd: folder, env: { FX_RATES: "demo" } });
        assert.equal(ran.exit, 7, `${command}: ${ran.stdout}`);
        assert.match(ran.stderr.replaceAll(/\s+/g, " "), other.reason, command);
      }
      const doctor = ["doctor", "--url", `sqlite:${other.name}`, "--json"];
      await assert.rejects(serveFile(t, other.name, folder), /ended with 7/);
      const { stdout } = await runHere(doctor, { cwd: folder, env: { FX_RATES: "demo" } });
      assert.match(stdout, other.reason);
      assert.deepEqual(logsIn(folder), ["data/fx.db-shm", "data/fx.db-wal"]);
      assert.ok(!existsSync(join(folder, "copy.db")));
    });
  }

  test("A ledger is refused until its other hard link is removed", async (t) => {
    const { folder } = await servedLedger(t);
    linkSync(join(folder, "data/fx.db"), join(folder, "other.db"));
    const { show = [] } = commands("data/fx.db");
    assert.equal((await runFx(show, { cwd: folder })).exit, 7);
    rmSync(join(folder, "other.db"));
    const { stdout, exit } = await runFx(show, { cwd: folder });
    assert.deepEqual([exit, plnOf(JSON.parse(stdout))], [0, 1000]);
  });
});

test("The draft left by a killed process beside a new ledger is not another name of it", async (t) => {
  const { folder, server } = await servedLedger(t);
  await server.stop();
  const draft = join(folder, "data/fx.db.new-0b0f2f3c-7a6b-4a3e-9d54-3f3b1f6b8f10");
  linkSync(join(folder, "data/fx.db"), draft);
  const { show = [] } = commands("data/fx.db");
  const { stdout, exit } = await runFx(show, { cwd: folder });
  assert.deepEqual([exit, plnOf(JSON.parse(stdout))], [0, 1000]);
});

/** Makes an older copy of the folder's ledger and a link to the ledger, and returns what leads the link elsewhere. */
function leader(folder: string): (to: string) => void {
  cpSync(join(folder, "data"), join(folder, "older"), { recursive: true });
  symlinkSync("data", join(folder, "current"));
  return (to) => {
    symlinkSync(to, join(folder, "next"));
    renameSync(join(folder, "next"), join(folder, "current"));
  };
}

/** The balance of the ledger, and of its older copy. */
function balancesIn(folder: string): Promise<(number | undefined)[]> {
  return Promise.all(
    ["data/fx.db", "older/fx.db"].map(async (name) => {
      const { show = [] } = commands(name);
      return plnOf(JSON.parse((await runFx(show, { cwd: folder })).stdout));
    }),
  );
}

test("A server refuses everything while a link in its path leads elsewhere, and settles no order there", async (t) => {
  const { folder, server: first } = await servedLedger(t);
  await first.stop();
  const lead = leader(folder);
  const server = await serveFile(t, "current/fx.db", folder);
  assert.equal(await payOut(server, 1), 200);
  lead("older");
  assert.equal(await payOut(server, 1), 500);
  assert.equal((await fetch(`${server.url}/api/user/${pesel}`)).status, 500);
  assert.equal((await fetch(`${server.url}/health/ready`)).status, 503);
  lead("data");
  assert.equal(await payOut(server, 1), 200);
  lead("older");
  await server.stop();
  assert.deepEqual(await balancesIn(folder), [998, 1000]);
  assert.deepEqual(logsIn(folder), []);
});

test("A batch whose ledger's link is switched meanwhile does nothing elsewhere, and the rest once the link leads back", async (t) => {
  const { folder, server } = await servedLedger(t);
  await server.stop();
  const lead = leader(folder);
  const lines = 9000;
  const batch = () => {
    const args = ["batch", "-", "--id", "b", "--url", "sqlite:current/fx.db", "--yes", "--json"];
    const spawned = spawnFx(args, { cwd: folder, env: { FX_RATES: "demo" } });
    spawned.child.stdin.end(`kind,pesel,amount,currency\n${`deposit,${pesel},1,PLN\n`.repeat(lines)}`);
    return spawned;
  };
  const { output, ended } = batch();
  await until(() => output().stdout.includes("\n"));
  lead("older");
  assert.equal((await ended).exit, 8);
  lead("data");
  assert.equal((await batch().ended).exit, 0);
  assert.deepEqual(await balancesIn(folder), [1000 + lines, 1000]);
});
