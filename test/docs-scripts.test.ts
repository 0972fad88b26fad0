import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { documented } from "./deploy/package.ts";
import { adult } from "./support/fixture.ts";
import { send } from "./support/http.ts";
import { freePort, runSql, startPostgres, systemPrograms } from "./support/postgres.ts";
import { type Ran, runFx, type Served, startFx } from "./support/run-fx.ts";
import { fxInShell, quoted } from "./support/shell.ts";
import { until } from "./support/until.ts";

// The scripts of the documents as they stand there, beside a server that asks for tokens. Only paths, ports and names
// of this machine are put in their place.
const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** A folder with the built `fx` in `bin`, a file of tokens, and what runs a script there as an operator would. */
class Desk {
  readonly folder = mkdtempSync(join(tmpdir(), "fx-scripts-"));
  readonly tokens = join(this.folder, "tokens");
  readonly env: Record<string, string> = {
    HOME: this.folder,
    PATH: [join(this.folder, "bin"), ...programs, process.env.PATH].join(delimiter),
    LC_ALL: "C.UTF-8",
    FX_RATES: "demo",
  };

  constructor() {
    mkdirSync(join(this.folder, "bin"));
    writeFileSync(join(this.folder, "bin/fx"), `#!/bin/sh\nexec ${fxInShell} "$@"\n`, { mode: 0o755 });
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** The token's file is what FX_TOKEN_FILE names. */
  async createToken(name: string, role: string): Promise<string> {
    const file = this.path(`${name}.token`);
    const { stdout } = await runFx(["token", "create", name, "--role", role, "--tokens", this.tokens]);
    writeFileSync(file, stdout, { mode: 0o600 });
    return file;
  }

  /** Runs it as `sh -e` does: the exit is that of the first command that fails. */
  run(script: string, env: Readonly<Record<string, string>> = {}): Promise<Ran> {
    return new Promise((resolve) => {
      const options = { cwd: this.folder, env: { ...this.env, ...env } };
      execFile("sh", ["-ec", script], options, (error, stdout, stderr) =>
        resolve({ stdout, stderr, exit: error === null ? 0 : Number(error.code) }),
      );
    });
  }

  /** Runs a script that must succeed, and returns its output. */
  async done(script: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const { stdout, stderr, exit } = await this.run(script, env);
    assert.equal(exit, 0, `${script}\n${stdout}${stderr}`);
    return stdout;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}

const system = process.env.FX_TEST_POSTGRES === "embedded" ? undefined : systemPrograms();
const programs = system === undefined ? [] : [system];
const pesel = adult(3);
const exitOfLast = (script: string) => Number(/# exit (\d+)\n$/.exec(script)?.[1] ?? 0);

describe("The scripts of docs/OPERATIONS.md for SQLite, beside a server that asks for tokens", () => {
  const desk = new Desk();
  const ledger = desk.path("fx.db");
  let server: Served;
  const here = (name: string) => documented("sh", name).replaceAll("/var/lib/fx/", `${desk.folder}/`);

  before(async () => {
    desk.env.FX_TOKEN_FILE = await desk.createToken("office", "operator");
    server = await startFx(["--rates", "demo", "--tokens", desk.tokens], {
      env: { FX_DB: `sqlite:${ledger}` },
    });
    desk.env.FX_URL = server.url;
    desk.env.PESEL = pesel;
    await desk.done(`fx account create ${pesel} --name Jan --surname Kowalski --pln 900`);
  });
  after(async () => {
    await server?.stop();
    desk.remove();
  });

  test("The backup is a copy with the day in its name", async () => {
    await desk.done(here("script: sqlite backup"));
    assert.ok(readdirSync(desk.folder).some((name) => /^fx-\d{4}-\d\d-\d\d\.db$/.test(name)));
  });

  test("The restore drill ends with the exit that the page names, and names the account", async () => {
    const script = here("script: sqlite drill");
    const { stdout, exit } = await desk.run(script);
    assert.equal(exitOfLast(script), 11);
    assert.equal(exit, 11, stdout);
    assert.match(stdout, /missing entries/);
    assert.match(stdout, /\nlost\t1\n/);
  });

  describe("fx-checkpoint", () => {
    const folder = desk.path("checkpoints");
    const made = () => readdirSync(folder).filter((name) => name.endsWith(".checkpoint"));
    /** The names of checkpoints have seconds, so that each run waits for the next one. */
    const nightly = async () => {
      const second = Math.floor(Date.now() / 1000);
      await until(() => Math.floor(Date.now() / 1000) > second);
      return desk.run(`sh ${quoted(join(root, "deploy/fx-checkpoint"))} ${folder}`);
    };
    before(() => mkdirSync(folder));

    test("Without a folder it does nothing, and says what to name", async () => {
      const { stderr, exit } = await desk.run(`sh ${quoted(join(root, "deploy/fx-checkpoint"))}`);
      assert.equal(
        stderr,
        "fx-checkpoint: name the folder of the checkpoints, as in fx-checkpoint /mnt/checkpoints\n",
      );
      assert.deepEqual([exit, made()], [2, []]);
    });

    test("Its first night makes a checkpoint, and a second run in the same day another", async () => {
      for (const count of [1, 2]) {
        const { stdout, stderr, exit } = await nightly();
        assert.equal(exit, 0, stdout + stderr);
        assert.equal(made().length, count);
        assert.equal(/\ncompared\t1\n/.test(stdout), count === 2);
      }
    });

    test("A file whose name the script does not give is not taken for the newest checkpoint", async () => {
      for (const name of ["after-backup", "9999-01-01"]) {
        writeFileSync(join(folder, `${name}.checkpoint`), "not read");
      }
      const { stdout, stderr, exit } = await nightly();
      assert.equal(exit, 0, stderr);
      assert.match(stdout, /\ncompared\t1\n/);
    });

    test("A checkpoint later than now, or a folder that cannot be listed, ends it before the audit", async (t) => {
      const before = made();
      const late = join(folder, "2999-01-01T000000Z.checkpoint");
      writeFileSync(late, "");
      const ran = await nightly();
      assert.match(ran.stderr, /^fx-checkpoint: 2999-01-01T000000Z\.checkpoint is later than now/);
      rmSync(late);
      writeFileSync(desk.path("bin/ls"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
      t.after(() => rmSync(desk.path("bin/ls")));
      assert.deepEqual([ran.exit, (await nightly()).exit, made()], [2, 1, before]);
    });

    test("A ledger that lacks entries exits with 11 and gets no checkpoint, on each night again", async () => {
      const copy = desk.path("copy.db");
      const before = made();
      assert.equal(existsSync(copy), true, "the drill has made it");
      await desk.done(`fx exchange ${pesel} --from PLN --to USD --to-buy 1 --yes`);
      await nightly();
      desk.env.FX_URL = `sqlite:${copy}`;
      const token = desk.env.FX_TOKEN_FILE as string;
      delete desk.env.FX_TOKEN_FILE;
      const kept = made();
      for (const _night of [1, 2]) assert.equal((await nightly()).exit, 11);
      assert.deepEqual(made(), kept);
      assert.equal(kept.length, before.length + 1);
      desk.env.FX_URL = server.url;
      desk.env.FX_TOKEN_FILE = token;
    });
  });
});

describe("The scripts of docs/OPERATIONS.md for PostgreSQL, as a role that may not create databases", {
  skip: system === undefined && "pg_dump is not installed (apt-get install postgresql-client)",
}, () => {
  test("A dump is restored into an empty database, and only the checkpoint shows what it lacks", async (t) => {
    const desk = new Desk();
    t.after(() => desk.remove());
    const database = await startPostgres();
    t.after(() => database.stop());
    const page = read("docs/OPERATIONS.md");
    const [administrators = "none"] = /(?<=`)createdb --owner fx [^`]+/.exec(page) ?? [];
    const at = { PGHOST: "127.0.0.1", PGPORT: String(database.port), PGPASSWORD: database.password };
    await runSql(database.url, `create role exchange login password '${database.password}'`);
    await runSql(database.url, "create database fx owner exchange encoding 'UTF8' template template0");
    await desk.done(administrators.replace("--owner fx", "--owner exchange"), { ...at, PGUSER: "fx" });

    const asRole = { ...at, PGUSER: "exchange" };
    const token = await desk.createToken("office", "operator");
    const settings = ["--rates", "demo", "--tokens", desk.tokens];
    const server = await startFx(settings, { env: { ...asRole, FX_DB: "postgres:///fx" } });
    t.after(() => server.stop());
    const env = { ...asRole, FX_URL: server.url, FX_TOKEN_FILE: token, PESEL: pesel };
    await desk.done(`fx account create ${pesel} --name Jan --surname Kowalski --pln 900`, env);
    await desk.done(documented("sh", "script: postgres backup"), { ...env, PGDATABASE: "fx" });

    const script = documented("sh", "script: postgres drill");
    const { stdout, stderr, exit } = await desk.run(script, env);
    assert.equal(exitOfLast(script), 11);
    assert.equal(exit, 11, stdout + stderr);
    assert.match(stdout, /\nlost\t1\n/);
  });
});

/** Starts the server of a script, and ends it when `work` is done with it. */
async function serving(desk: Desk, script: string, work: (url: string) => Promise<void>): Promise<void> {
  const child = spawn("sh", ["-ec", script], { cwd: desk.folder, env: desk.env, detached: true });
  let shown = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (shown += text));
  try {
    await until(() => /listening\s+https?:\S+[\s\S]*\/docs\n/.test(shown) || child.exitCode !== null);
    const [, url] = /listening\s+(https?:\S+)/.exec(shown) ?? [];
    assert.ok(url, shown);
    await work(url);
  } finally {
    if (child.exitCode === null) process.kill(-(child.pid as number), "SIGTERM");
    await until(() => child.exitCode !== null || child.signalCode !== null);
  }
}

describe("The servers of docs/OPERATIONS.md", () => {
  const desk = new Desk();
  after(() => desk.remove());
  const fixture = (name: string) => readFileSync(join(root, "test/fixtures/tls", name), "utf8");

  test("The address of the database comes from a file", async () => {
    writeFileSync(desk.path("fx-db"), `sqlite:${desk.path("settings.db")}\n`, { mode: 0o600 });
    const script = documented("sh", "script: settings")
      .replace("/run/secrets/", `${desk.folder}/`)
      .replace("--port 8080", "--port 0");
    await serving(desk, script, async (url) => {
      assert.equal((await send(url, "GET", "/health/ready")).text.includes(`"store":"sqlite"`), true);
    });
  });

  test("A server on the network asks for tokens over TLS, and its admin port for none", async () => {
    await desk.createToken("office", "operator");
    for (const [name, from] of [
      ["tls.crt", "server.crt"],
      ["tls.key", "server.key"],
    ] as const) {
      writeFileSync(desk.path(name), fixture(from), { mode: 0o600 });
    }
    const adminPort = await freePort();
    const script = documented("sh", "script: network")
      .replaceAll("/etc/fx/", `${desk.folder}/`)
      .replace("--port 8443", "--port 0")
      .replace("9464", String(adminPort));
    await serving(desk, script, async (url) => {
      const port = new URL(url).port;
      const curl = (...args: string[]) =>
        spawnSync("curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", ...args], { encoding: "utf8" })
          .stdout;
      const authority = join(root, "test/fixtures/tls/server.crt");
      assert.equal(curl("--cacert", authority, `https://localhost:${port}/api/rates`), "401");
      assert.equal(curl(`http://127.0.0.1:${adminPort}/metrics`), "200");
    });
  });

  const logrotate = spawnSync("logrotate", ["--version"]).error === undefined;
  test("logrotate rotates the log of a running server, which goes on writing", {
    skip: !logrotate && "logrotate is not installed (apt-get install logrotate)",
  }, async () => {
    const here = (text: string) => text.replaceAll(/\/var\/(log|lib)\/fx\//g, `${desk.folder}/`);
    writeFileSync(desk.path("rotate"), here(documented("", "script: logrotate")), { mode: 0o644 });
    desk.env.FX_PORT = "0";
    await serving(desk, here(documented("sh", "script: log")), async (url) => {
      const logged = (name: string) => readFileSync(desk.path(name), "utf8");
      await send(url, "GET", "/api/rates");
      await until(() => logged("fx.log").includes("/api/rates"));
      assert.equal(statSync(desk.path("fx.log")).mode & 0o777, 0o600);
      const { exit, stderr } = await desk.run("logrotate --force --state rotate.state rotate");
      assert.equal(exit, 0, stderr);
      assert.match(logged("fx.log.1"), /"starting"[\s\S]*\/api\/rates/);
      await send(url, "GET", "/api/quote?from=PLN&to=USD&toBuy=1");
      await until(() => logged("fx.log").includes("/api/quote"));
      for (const line of logged("fx.log").trimEnd().split("\n")) assert.ok(JSON.parse(line));
    });
    delete desk.env.FX_PORT;
  });

  test("Prometheus can read its configuration", {
    skip:
      spawnSync("promtool", ["--version"]).error && "promtool is not installed (apt-get install prometheus)",
  }, async () => {
    for (const name of ["alerts.yml", "token"]) copyFileSync(join(root, "docs/alerts.yml"), desk.path(name));
    const text = documented("yaml", "script: prometheus").replace(
      "/etc/prometheus/fx-token",
      desk.path("token"),
    );
    writeFileSync(desk.path("prometheus.yml"), text);
    const { exit, stdout, stderr } = await desk.run("promtool check config prometheus.yml");
    assert.equal(exit, 0, stdout + stderr);
  });
});

for (const [page, expected] of [
  ["README.md", /^HTTP\/1.1 204[\s\S]*^HTTP\/1.1 200[\s\S]*"symbol":"USD","amount":100/m],
  ["docs/ACCESS.md", /"name":"till-3","role":"teller"[\s\S]*PLN\t500\.00/],
] as const) {
  test(`The commands of ${page} start a server that asks for tokens, and a client has one`, async (t) => {
    const desk = new Desk();
    t.after(() => desk.remove());
    const port = String(await freePort());
    desk.env.FX_PORT = port;
    await serving(desk, documented("sh", "script: serve", page), async () => {
      const client = documented("sh", "script: api", page).replaceAll("localhost:8080", `127.0.0.1:${port}`);
      const { stdout, stderr } = await desk.run(client, { FX_URL: `http://127.0.0.1:${port}` });
      assert.match(stdout, expected, stderr);
    });
  });
}

test("The journal is read, and its hashes are computed, without fx as docs/LEDGER.md has it", {
  skip: spawnSync("sqlite3", ["--version"]).error && "sqlite3 is not installed (apt-get install sqlite3)",
}, async (t) => {
  const desk = new Desk();
  t.after(() => desk.remove());
  const done = async (script: string, env = {}) => (await desk.done(script, env)).trimEnd();
  desk.env.FX_URL = "sqlite:fx.db";
  const page = read("docs/LEDGER.md");
  await done("fx account create 80010112340 --name Anna --surname Nowak --pln 900");
  await done("fx exchange 80010112340 --from PLN --to USD --to-buy 100 --yes");
  const [, query = "none", shown] = /^\$ (sqlite3 .*)\n(.*)$/m.exec(page) ?? [];
  assert.equal(await done(query), shown);
  const [hash1 = "", hash2 = ""] = (
    await done("sqlite3 fx.db 'select hash from journal order by sequence'")
  ).split("\n");
  const entry = await done("sqlite3 fx.db 'select entry from journal where sequence = 2'");
  const hashing = documented("sh", "script: hash", "docs/LEDGER.md");
  assert.equal(await done(hashing, { hash_of_entry_1: hash1, entry_2: entry }), `${hash2}  -`);
  const audit = await done("fx audit --checkpoint day.checkpoint");
  const [, digesting = "none"] = /`(sed '1d;\$d' FILE \| sha256sum)`/.exec(page) ?? [];
  const [digest] = (await done(digesting.replace("FILE", "day.checkpoint"))).split(" ");
  assert.match(audit, new RegExp(`^digest\t${digest}$`, "m"));
});

/** Prints a checkpoint with two lines of each account, and a digest and counts that fit it. */
const twice = `
  const lines = require("fs").readFileSync(process.argv[1], "utf8").split(/(?<=\\n)/);
  const [start, ...heads] = lines.slice(0, -1);
  const end = JSON.parse(lines.at(-1));
  heads.push(...heads.map((line) => line.replace(/[0-9a-f]{64}/, "0".repeat(64))));
  end.accounts *= 2;
  end.entries *= 2;
  end.digest = require("crypto").createHash("sha256").update(heads.join("")).digest("hex");
  process.stdout.write(start + heads.join("") + JSON.stringify(end) + "\\n");`;

test("docs/clients/verify.py checks a receipt's proof without fx, and refuses what fx receipt verify refuses", {
  skip: spawnSync("python3", ["--version"]).error && "python3 is not installed (apt-get install python3)",
}, async (t) => {
  const desk = new Desk();
  t.after(() => desk.remove());
  desk.env.FX_URL = "sqlite:fx.db";
  copyFileSync(join(root, "docs/clients/verify.py"), desk.path("verify.py"));
  await desk.done(
    [
      `fx account create ${adult(4)} --name Ewa --surname Nowak --pln 9`,
      "fx audit --checkpoint unopened.checkpoint",
      `fx account create ${pesel} --name Żaneta --surname Nowak --pln 900`,
      "fx audit --checkpoint before.checkpoint",
      `fx exchange ${pesel} --from PLN --to USD --to-buy 100 --key k --yes`,
      "fx audit --checkpoint then.checkpoint",
      `fx account deposit ${pesel} --amount 1 --currency PLN --yes`,
      `fx receipt proof $(fx receipt --pesel ${pesel} --key k | sed -n 's/^receipt.//p') > p.proof`,
      "fx audit --checkpoint now.checkpoint",
      `fx account deposit ${pesel} --amount 1 --currency PLN --yes`,
      "fx audit --checkpoint later.checkpoint",
      "sed 's/42963/42964/' p.proof > changed.proof",
      'sed \'s/"entries":2/"entries":3/\' then.checkpoint > edited.checkpoint',
      'sed \'s/"ok":true/"ok":false/\' then.checkpoint > findings.checkpoint',
      "sed '$d' then.checkpoint > cut.checkpoint",
      'sed \'s/"findingsTotal":0/"findingsTotal":3/\' then.checkpoint > three.checkpoint',
      'sed \'s/"accounts":2/"accounts":3/\' then.checkpoint > miscounted.checkpoint',
      'sed \'1s/"checkpoint":1/"checkpoint":2/\' then.checkpoint > newer.checkpoint',
      `node -e '${twice}' then.checkpoint > twice.checkpoint`,
      "for file in p.proof then.checkpoint; do printf '\\357\\273\\277' | cat - $file > marked.$file; done",
      "sed 's/\"proof\":1,//' p.proof > unnumbered.proof",
      'sed \'s/{/{"entry":"42964 PLN",/\' p.proof > doubled.proof',
    ].join("\n"),
  );
  const notProof = "PROOF is not a proof";
  const notCheckpoint = "CHECKPOINT is not a whole checkpoint";
  for (const [files, verdict] of [
    ["p.proof then.checkpoint", "proven"],
    ["p.proof now.checkpoint", "proven"],
    ["changed.proof now.checkpoint", "the proof does not match its own hashes"],
    ["p.proof unopened.checkpoint", "CHECKPOINT does not contain this entry"],
    ["p.proof before.checkpoint", "CHECKPOINT does not contain this entry"],
    ["p.proof later.checkpoint", "CHECKPOINT does not contain this entry"],
    ["p.proof edited.checkpoint", notCheckpoint],
    ["p.proof findings.checkpoint", notCheckpoint],
    ["p.proof cut.checkpoint", notCheckpoint],
    ["p.proof three.checkpoint", notCheckpoint],
    ["p.proof miscounted.checkpoint", notCheckpoint],
    ["p.proof newer.checkpoint", notCheckpoint],
    ["p.proof twice.checkpoint", notCheckpoint],
    ["p.proof p.proof", notCheckpoint],
    ["marked.p.proof marked.then.checkpoint", "proven"],
    ["unnumbered.proof then.checkpoint", notProof],
    ["doubled.proof then.checkpoint", notProof],
    ["then.checkpoint then.checkpoint", notProof],
  ] as const) {
    const { stdout, stderr } = await desk.run(`python3 -O verify.py ${files}`);
    const isProven = stdout.includes("'debited': '42963 PLN'");
    assert.equal(isProven ? "proven" : stderr.trim().split("\n").at(-1), verdict, files);
    const [proof, checkpoint] = files.split(" ");
    const { exit } = await desk.run(`fx receipt verify ${proof} --checkpoint ${checkpoint}`);
    assert.equal(exit, verdict === "proven" ? 0 : verdict.includes(" is not a ") ? 2 : 11, `fx: ${files}`);
  }
});

test("Every script and configuration of the documents has a name by which a test takes it", () => {
  const pages = ["OPERATIONS", "ACCESS", "HTTP", "LEDGER"].map((name) => read(`docs/${name}.md`)).join("\n");
  const languages = "sh|yaml|ini|nginx|haproxy|python|ts";
  const blocks = [...pages.matchAll(new RegExp(`(?:<!-- (.+) -->|.*)\n\`\`\`(?:${languages})\n(.*)`, "g"))];
  assert.ok(blocks.length > 20);
  const tests = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => read(join("test", file)))
    .join("\n");
  const isTaken = (name: string) =>
    [`"${name}"`, `"${name.replace(/^.*: /, "")}"`, `<!-- ${name} -->`].some((text) => tests.includes(text));
  assert.deepEqual(
    blocks.filter(([, name]) => name === undefined || !isTaken(name)).map(([, name, first]) => name ?? first),
    [],
  );
});
