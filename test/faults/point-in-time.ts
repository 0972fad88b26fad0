import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { readJournal } from "../../src/ledger/journal-reader.ts";
import { decodeEntry } from "../../src/ledger/rows.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { documented } from "../deploy/package.ts";
import { adult } from "../support/fixture.ts";
import { send } from "../support/http.ts";
import {
  createDatabase,
  folderFor,
  type PostgresServer,
  runSql,
  startPostgres,
  systemPrograms,
  unprivileged,
} from "../support/postgres.ts";
import { type Ran, runFx, type Served, startFx } from "../support/run-fx.ts";
import { assertSettledOnce, centOrder, sendOrder } from "./orders.ts";

const accounts = 50;
const clients = 16;

export interface PointInTimeReport {
  /** Orders that were answered, before the moment and after it. */
  readonly answered: { readonly before: number; readonly after: number };
  /** Of those that were under way at the moment, how many the restored ledger has. */
  readonly underWay: { readonly all: number; readonly there: number };
  readonly backupMegabytes: number;
  /** Files of the archive, 16 MB each. */
  readonly archived: number;
  /** From the start of PostgreSQL on the backup until it took writes. */
  readonly recoverySeconds: number;
  /** Accounts that lack what the later checkpoint saw, and the entries that they lack. */
  readonly lost: { readonly accounts: number; readonly entries: number };
  /** Keys that clients sent again afterwards: answered as before, and settled anew. */
  readonly again: { readonly replayed: number; readonly settled: number };
}

/** Where PostgreSQL's programs are: beside the server that is run, whatever links lead there. */
function programs(): string {
  const found = systemPrograms();
  return found === undefined ? "" : dirname(realpathSync(join(found, "postgres")));
}

/** Why the drill cannot be done here, or false. */
export function cannotRestore(): string | false {
  const isThere = existsSync(join(programs(), "pg_basebackup"));
  return !isThere && "pg_basebackup is not installed beside PostgreSQL (apt-get install postgresql)";
}

/**
 * The restore drill of docs/OPERATIONS.md for PostgreSQL, with the settings and the commands that stand there: a base
 * backup and the archive of the log, both made while orders go on; then somebody deletes entries by hand. The ledger is
 * restored to a moment before that. It must have all that was answered until then and nothing that was sent later, have
 * a clean audit and agree with a checkpoint from before the moment, and not with one from after it. Clients send all
 * their keys again, and each must then be there once.
 */
export async function pointInTime({ seconds }: { readonly seconds: number }): Promise<PointInTimeReport> {
  const folder = folderFor(unprivileged(), "fx-drill-");
  const here = (text: string) =>
    text.replaceAll("/mnt/backup/", `${folder}/`).replaceAll("/var/lib/postgresql/15/", `${folder}/`);
  mkdirSync(join(folder, "wal"));
  const user = unprivileged();
  if (user !== undefined)
    for (const path of [folder, join(folder, "wal")]) chownSync(path, user.uid, user.gid);
  const servers: PostgresServer[] = [];
  const services: Served[] = [];
  const shell = (block: string, env: Readonly<Record<string, string>>) => {
    const script = `set -e\n${here(documented("sh", block))}`;
    const PATH = `${programs()}:${process.env.PATH}`;
    const ran = spawnSync("bash", ["-c", script], {
      ...user,
      cwd: folder,
      env: { PATH, LC_ALL: "C", ...env },
      encoding: "utf8",
    });
    assert.equal(ran.status, 0, `${script}\n${ran.stdout}${ran.stderr}`);
  };
  try {
    const settings = here(documented("ini", "drill: archive")).matchAll(/^(\w+) = '?(.*?)'?$/gm);
    const primary = await startPostgres({
      durable: true,
      settings: Object.fromEntries([...settings].map(([, name = "", value = ""]) => [name, value])),
    });
    servers.push(primary);
    const { url } = await createDatabase(primary.url);
    const served = await serve(url);
    services.push(served);
    for (let index = 0; index < accounts; index += 1) {
      const body = { name: "Jan", surname: "Kowalski", pesel: adult(index), pln: 1_000_000 };
      const { status, text } = await send(served.url, "POST", "/api/user", { body });
      assert.equal(status, 204, text);
    }
    const load = startLoad(served.url);
    await pause(seconds * 1000);
    shell("drill: base backup", { PRIMARY: primary.url });
    await pause(seconds * 1000);
    const [early, late] = [join(folder, "early.checkpoint"), join(folder, "late.checkpoint")];
    await audit(url, 0, "--checkpoint", early);
    await pause(seconds * 1000);
    const [{ text: moment, ms } = {}] = await runSql(
      primary.url,
      "with now as (select clock_timestamp() as at) " +
        "select at::text as text, extract(epoch from at)::float8 * 1000 as ms from now",
    );
    const momentMs = Number(ms);
    await pause(seconds * 1000);
    await audit(url, 0, "--checkpoint", late);
    await load.stop();

    await runSql(url, "delete from journal where sequence = 3");
    const found = await audit(url, 1);
    assert.match(found.stdout, /"findings":/);
    await served.stop();
    // Else the end of the log is archived when its file is full, or after archive_timeout.
    await runSql(primary.url, "select pg_switch_wal()");
    await until(
      primary.url,
      "select where not exists (select from pg_ls_archive_statusdir() where name like '%.ready')",
    );
    await primary.kill();

    shell("drill: point in time", { MOMENT: String(moment) });
    const startedMs = performance.now();
    const restored = await startPostgres({
      durable: true,
      password: primary.password,
      data: join(folder, "restored"),
    });
    servers.push(restored);
    await until(restored.url, "select where not pg_is_in_recovery()");
    const recoverySeconds = (performance.now() - startedMs) / 1000;

    const restoredUrl = url.replace(`:${primary.port}/`, `:${restored.port}/`);
    await audit(restoredUrl, 0);
    await audit(restoredUrl, 0, "--against", early);
    const { stdout } = await audit(restoredUrl, 1, "--against", late);
    const { findings, against } = JSON.parse(stdout) as {
      findings: unknown[];
      against: { lost: { entries: number; entriesNow: number }[] };
    };
    assert.deepEqual(findings, []);

    const store = await openPostgres(restoredUrl);
    try {
      const settled = new Map<string, string>();
      for await (const rows of readJournal(store)) {
        for (const { entry } of rows.map(decodeEntry)) {
          if (load.orders.has(entry.key ?? "")) settled.set(entry.key as string, entry.id);
        }
      }
      const all = [...load.orders];
      const before = all.filter(([, { answeredMs }]) => answeredMs < momentMs - 1);
      const after = all.filter(([, { sentMs }]) => sentMs > momentMs);
      for (const [key, { receipt }] of before)
        assert.equal(settled.get(key), receipt, "what was answered before the moment is there");
      for (const [key] of after)
        assert.equal(settled.has(key), false, "what was sent after the moment is not");

      const again = await serve(restoredUrl);
      services.push(again);
      const receiptByKey = new Map<string, string>();
      let replayed = 0;
      const unsent = load.orders.entries();
      const client = async (): Promise<void> => {
        for (const [key, { pesel }] of unsent) {
          const answer = await sendOrder(again.url, centOrder(pesel, key));
          assert.equal(answer.status, 200, answer.text);
          assert.equal(answer.replayed, settled.has(key), key);
          if (answer.replayed) replayed += 1;
          receiptByKey.set(key, answer.receipt);
        }
      };
      await Promise.all(Array.from({ length: clients }, client));
      await assertSettledOnce(store, receiptByKey);
      const underWay = all.length - before.length - after.length;
      return {
        answered: { before: before.length, after: all.length - before.length },
        underWay: { all: underWay, there: settled.size - before.length },
        backupMegabytes: Math.round(sizeOf(join(folder, "base")) / 1_048_576),
        archived: readdirSync(join(folder, "wal")).filter((name) => /^[0-9A-F]{24}$/.test(name)).length,
        recoverySeconds: Number(recoverySeconds.toFixed(1)),
        lost: {
          accounts: against.lost.length,
          entries: against.lost.reduce((sum, { entries, entriesNow }) => sum + entries - entriesNow, 0),
        },
        again: { replayed, settled: all.length - replayed },
      };
    } finally {
      await store.close();
    }
  } finally {
    await Promise.all(services.map((service) => service.stop()));
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

function serve(db: string): Promise<Served> {
  return startFx(["--rates", "demo", "--log-level", "error"], { env: { FX_DB: db } });
}

async function audit(url: string, exit: number, ...args: string[]): Promise<Ran> {
  const ran = await runFx(["audit", "--json", ...args], { env: { FX_URL: url, FX_RATES: "demo" } });
  assert.equal(ran.exit, exit, `${args.join(" ")}\n${ran.stdout.slice(0, 500)}${ran.stderr}`);
  return ran;
}

interface Sent {
  readonly pesel: ReturnType<typeof adult>;
  readonly sentMs: number;
  readonly answeredMs: number;
  readonly receipt: string;
}

/** Clients that order under a new key as soon as the order before is answered. */
function startLoad(url: string) {
  const orders = new Map<string, Sent>();
  let stopping = false;
  const client = async (index: number): Promise<void> => {
    for (let count = 0; !stopping; count += 1) {
      const pesel = adult((index + count) % accounts);
      const key = `${index}-${count}`;
      const sentMs = Date.now();
      const { status, receipt, text } = await sendOrder(url, centOrder(pesel, key));
      assert.equal(status, 200, text);
      orders.set(key, { pesel, sentMs, answeredMs: Date.now(), receipt });
      await pause(10);
    }
  };
  const running = Promise.all(Array.from({ length: clients }, (_, index) => client(index)));
  running.catch(() => {});
  return {
    orders,
    stop: async () => {
      stopping = true;
      await running;
    },
  };
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => statSync(join(folder, name)))
    .reduce((sum, found) => sum + (found.isFile() ? found.size : 0), 0);
}

/** Waits until a query has a row. */
async function until(url: string, query: string): Promise<void> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await pause(20))
    if ((await runSql(url, query)).length > 0) return;
  throw new Error(`This stayed without a row: ${query}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { seconds } = parseArgs({ options: { seconds: { type: "string", default: "3" } } }).values;
  const missing = cannotRestore();
  if (missing) throw new Error(missing);
  process.stdout.write(`${JSON.stringify(await pointInTime({ seconds: Number(seconds) }), null, 2)}\n`);
}
