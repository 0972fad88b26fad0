import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chownSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { readJournal } from "../../src/ledger/journal-reader.ts";
import { decodeEntry } from "../../src/ledger/rows.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { documented } from "../deploy/package.ts";
import { adult } from "../support/fixture.ts";
import { send } from "../support/http.ts";
import {
  createDatabase,
  folderFor,
  runSql,
  startPostgres,
  systemPrograms,
  unprivileged,
} from "../support/postgres.ts";
import { type Ran, runFx, type Served, startFx } from "../support/run-fx.ts";
import { until } from "../support/until.ts";
import { assertSettledOnce, centOrder, type Sent, sendOrder, startLoad, untilRow } from "./orders.ts";

const accounts = 50;
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
  for (let index = 0; index < accounts; index += 1) {
    const body = { name: "Jan", surname: "Kowalski", pesel: adult(index), pln: 1_000_000 };
    const { status, text } = await send(served.url, "POST", "/api/user", { body });
    assert.equal(status, 204, text);
  }
  const load = startLoad([served.url], { accounts });
  const untilMore = async () => {
    const { length } = load.sent;
    await until(() => load.sent.length >= length + 100);
  };
  await untilMore();
  await shell("drill: base backup", { PRIMARY: primary.url });
  await untilMore();
  const [early, late] = [join(folder, "early.checkpoint"), join(folder, "late.checkpoint")];
  await audit(url, 0, "--checkpoint", early);
  await untilMore();
  const [{ text: moment, ms } = {}] = await runSql(
    primary.url,
    "with now as (select clock_timestamp() as at) " +
      "select at::text as text, extract(epoch from at)::float8 * 1000 as ms from now",
  );
  await untilMore();
  await audit(url, 0, "--checkpoint", late);
  await load.stop();
  assert.equal(load.settled().length, load.sent.length);

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

  await shell("drill: point in time", { MOMENT: String(moment) });
  const data = join(folder, "restored");
  const restored = await startPostgres({ durable: true, password: primary.password, data });
  t.after(() => restored.stop());
  await untilRow(restored.url, "select where not pg_is_in_recovery()");
  const restoredUrl = url.replace(`:${primary.port}/`, `:${restored.port}/`);
  await audit(restoredUrl, 0);
  await audit(restoredUrl, 0, "--against", early);
  const { findings } = JSON.parse((await audit(restoredUrl, 11, "--against", late)).stdout);
  assert.deepEqual(findings, []);

  const store = await openPostgres(restoredUrl);
  t.after(() => store.close());
  const settled = new Map<string, string>();
  for await (const rows of readJournal(store)) {
    for (const { entry } of rows.map(decodeEntry)) {
      if (entry.kind === "exchange") settled.set(entry.key ?? "", entry.id);
    }
  }
  const before = load.sent.filter(({ answeredMs }) => answeredMs < Number(ms) - 1);
  const after = load.sent.filter(({ sentMs }) => sentMs > Number(ms));
  assert.ok(before.length > 200 && after.length > 50, `${before.length} before, ${after.length} after`);
  for (const { key, receipt } of before)
    assert.equal(settled.get(key), receipt, "answered before the moment");
  for (const { key } of after) assert.equal(settled.has(key), false, "sent after the moment");

  const again = await serve(restoredUrl);
  t.after(() => again.stop());
  const receiptByKey = new Map<string, string>();
  const repeat = async ({ key, pesel }: Sent) => {
    const answer = await sendOrder(again.url, centOrder(pesel, key));
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.replayed, settled.has(key), key);
    receiptByKey.set(key, answer.receipt);
  };
  for (let from = 0; from < load.sent.length; from += 32) {
    await Promise.all(load.sent.slice(from, from + 32).map(repeat));
  }
  await assertSettledOnce(store, receiptByKey);
});
