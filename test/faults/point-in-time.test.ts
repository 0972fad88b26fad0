import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chownSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { openPostgres } from "../../src/postgres/store.ts";
import { documented } from "../deploy/package.ts";
import { readHistory } from "../load/history.ts";
import { repeatAll, requireClean, underLoad } from "../load/ledger.ts";
import { newFolder } from "../support/folder.ts";
import {
  createDatabase,
  folderFor,
  runSql,
  startPostgres,
  systemPrograms,
  unprivileged,
  untilRow,
} from "../support/postgres.ts";
import { type Ran, runFx, type Served, startFx } from "../support/run-fx.ts";

/** Tolerance for the clocks of history and database. */
const clockMs = 5;
const programs = systemPrograms() ?? "";
const cannotRestore =
  !existsSync(join(programs, "pg_basebackup")) &&
  "pg_basebackup is not installed beside PostgreSQL (apt-get install postgresql)";

function serve(db: string): Promise<Served> {
  return startFx(["--rates", "demo", "--log-level", "error"], { env: { FX_DB: db } });
}

async function audit(url: string, exit: number, ...args: string[]): Promise<Ran> {
  const ran = await runFx(["audit", "--json", ...args], { env: { FX_URL: url, FX_RATES: "demo" } });
  assert.equal(ran.exit, exit, `${args.join(" ")}\n${ran.stdout.slice(0, 500)}${ran.stderr}`);
  return ran;
}

/**
 * The restore drill of docs/OPERATIONS.md, with the page's settings and commands. A base backup and the WAL archive are
 * made under load, then entries are deleted by hand, and the ledger is restored to a moment before that.
 */
test("A point-in-time restore has all orders answered before, none sent later, and a clean audit", {
  skip: cannotRestore,
}, async (t) => {
  const user = unprivileged();
  const folder = folderFor(user, "fx-drill-");
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const here = (text: string) =>
    text.replaceAll("/mnt/backup/", `${folder}/`).replaceAll("/var/lib/postgresql/15/", `${folder}/`);
  mkdirSync(join(folder, "wal"));
  if (user !== undefined)
    for (const path of [folder, join(folder, "wal")]) chownSync(path, user.uid, user.gid);
  const shell = async (block: string, env: Readonly<Record<string, string>>) => {
    const script = `set -e\n${here(documented("sh", block))}`;
    const PATH = `${programs}:${process.env.PATH}`;
    const options = { ...user, cwd: folder, env: { PATH, LC_ALL: "C", ...env } };
    await promisify(execFile)("bash", ["-c", script], options);
  };

  const lines = here(documented("ini", "drill: archive")).matchAll(/^(\w+) = '?(.*?)'?$/gm);
  const settings = Object.fromEntries([...lines].map(([, name = "", value = ""]) => [name, value]));
  const primary = await startPostgres({ durable: true, settings });
  t.after(() => primary.stop());
  const { url } = await createDatabase(primary.url);
  const served = await serve(url);
  t.after(() => served.stop());
  const [early, late] = [join(folder, "early.checkpoint"), join(folder, "late.checkpoint")];
  let moment: Record<string, unknown> = {};
  const keyed = { order: 80, transfer: 8, bulk: 4, read: 8 };
  const played = await underLoad(newFolder(t), { urls: [served.url], mix: keyed }, async (load) => {
    await load.does(100);
    await shell("drill: base backup", { PRIMARY: primary.url });
    await load.does(100);
    await audit(url, 0, "--checkpoint", early);
    await load.does(100);
    [moment = {}] = await runSql(
      primary.url,
      "with now as (select clock_timestamp() as at) " +
        "select at::text as text, extract(epoch from at)::float8 * 1000 as ms from now",
    );
    await load.does(100);
    await audit(url, 0, "--checkpoint", late);
  });

  await runSql(url, "delete from journal where sequence = 3");
  await audit(url, 11);
  await served.stop();
  // Otherwise the last WAL segment is archived only when full, or after archive_timeout.
  await runSql(primary.url, "select pg_switch_wal()");
  await untilRow(
    primary.url,
    "select where not exists (select from pg_ls_archive_statusdir() where name like '%.ready')",
  );
  await primary.kill();

  await shell("drill: point in time", { MOMENT: String(moment.text) });
  const data = join(folder, "restored");
  const restored = await startPostgres({ durable: true, password: primary.password, data });
  t.after(() => restored.stop());
  await untilRow(restored.url, "select where not pg_is_in_recovery()");
  const restoredUrl = url.replace(`:${primary.port}/`, `:${restored.port}/`);
  await audit(restoredUrl, 0);
  await audit(restoredUrl, 0, "--against", early);
  const { findings } = JSON.parse((await audit(restoredUrl, 11, "--against", late)).stdout);
  assert.deepEqual(findings, []);

  // An order sent just before the moment may be there; one answered before it has to be.
  const at = Number(moment.ms) - played.beganMs;
  const all = [...readHistory(played.file)];
  const before = all.filter((event) => event.at < at + (event.event === "sent" ? clockMs : -clockMs));
  const store = await openPostgres(restoredUrl);
  t.after(() => store.close());
  const { answered } = await requireClean(store, before);
  const orders = all.flatMap((event) =>
    event.event === "sent" && "key" in event.asked ? [event.asked] : [],
  );
  assert.ok(answered > 200 && orders.length > answered + 50, `${answered} of ${orders.length}`);

  const again = await serve(restoredUrl);
  t.after(() => again.stop());
  const repeated = await repeatAll(newFolder(t), { url: again.url, orders, before });
  await requireClean(store, readHistory(repeated.file));
});
