import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import { parse } from "csv-parse/sync";
import { FxError } from "../../../../src/core/errors.ts";
import { newEntryId } from "../../../../src/ledger/ids.ts";
import { adult } from "../../../support/fixture.ts";
import { newFolder } from "../../../support/folder.ts";
import { type Ran, spawnFx } from "../../../support/run-fx.ts";
import { openHere, runHere, serveHere } from "../../../support/run-here.ts";
import { startServer } from "../../../support/server.ts";
import { openHttpStandIn } from "../../../support/stand-in.ts";
import { runAtTerminal } from "../../../support/terminal.ts";
import { until } from "../../../support/until.ts";

/** A store of its own with one account of 1000 PLN, and a way to write files and run commands there. */
async function desk(t: TestContext) {
  const folder = newFolder(t);
  const env = { FX_URL: `sqlite:${join(folder, "fx.db")}`, FX_RATES: "demo" };
  const fx = (args: string, stdin = ""): Promise<Ran> =>
    runHere(args.split(" "), { env, cwd: folder, stdin });
  const opened = await fx(`account create ${adult()} --name Jan --surname Kowalski --pln 1000`);
  assert.equal(opened.exit, 0, opened.stderr);
  return {
    env,
    fx,
    write: (name: string, lines: readonly string[]) =>
      writeFileSync(join(folder, name), `${lines.join("\n")}\n`),
    path: (name: string) => join(folder, name),
  };
}

const header = "pesel,from,to,toBuy,toSell";

test("fx batch stopped by Ctrl-C at its progress bar answers what is under way, and run again does the rest", async (t) => {
  const { env, fx, write, path } = await desk(t);
  const lines = 4000;
  write("orders.csv", [header, ...Array.from({ length: lines }, () => `${adult()},PLN,USD,0.01,`)]);
  const batch = ["batch", path("orders.csv"), "--yes", "--stop-on-error"];
  const stopped = await runAtTerminal(batch, { env, replies: [["] 0 %", "\u0003"]] });
  assert.match(stopped.text, /\nStopping once the lines under way are answered\./);
  const [, done] = /\ndone +(\d+)\ntook +\d:\d\d\nstopped +before the end\n/.exec(stopped.text) ?? [];
  assert.ok(Number(done) > 0 && Number(done) < lines, `${done} were done`);
  assert.equal(stopped.exit, 130);
  const again = await fx("batch orders.csv");
  assert.match(again.stderr, new RegExp(`\ndone\t${lines - Number(done)}\ndone before\t${done}\n`));
  assert.equal(again.exit, 0);
  assert.equal(JSON.parse((await fx("audit --json")).stdout).entries, lines + 1);
});

test("fx batch that gets a signal after its last line was sent is complete, and exits with the signal's exit", async (t) => {
  const server = await openHttpStandIn(t, (response) => {
    child.kill("SIGINT");
    const done = '{"line":1,"status":204,"receipt":"r","replayed":false}\n';
    void until(() => output().stderr.includes("Stopping once")).then(() => response.end(done));
  });
  const { child, output, ended } = spawnFx(["batch", "-", "--id", "b", "--json", "--url", server.url]);
  child.stdin.end(`name,surname,pesel,pln\nJan,Nowak,${adult()},1\n`);
  const { exit, stderr } = await ended;
  const { done, complete, hint } = JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "");
  assert.deepEqual([done, complete, hint, exit], [1, true, null, 130]);
});

test("fx batch that is interrupted at its question says that nothing was done", async (t) => {
  const { env, write, path } = await desk(t);
  write("orders.csv", [header, `${adult()},PLN,USD,1,`]);
  const replies = [["Carry it out? [y/N] ", "\u0003"]] as const;
  const { text, exit } = await runAtTerminal(["batch", path("orders.csv")], { env, replies });
  assert.match(text, /\nfx: Interrupted before anything was sent: nothing was done\./);
  assert.equal(exit, 130);
});

test("fx batch whose terminal is closed answers what is under way, keeps its rejects and exits with 129", async (t) => {
  const { env, write, path } = await desk(t);
  const orders = Array.from(
    { length: 10_000 },
    (_, index) => `${adult()},PLN,USD,${index > 0 ? 0.01 : 9999},`,
  );
  write("orders.csv", [header, ...orders]);
  const hangUp = (pid: number) => {
    process.kill(pid, "SIGHUP");
    return "";
  };
  const batch = ["batch", path("orders.csv"), "--yes", "--rejects", path("rejects.csv")];
  const { text, exit } = await runAtTerminal(batch, { env, replies: [[" lines, ", hangUp]] });
  assert.match(text, /\nstopped +before the end\n/);
  assert.match(readFileSync(path("rejects.csv"), "utf8"), /^.*\n.*,9999,,again:.*\n$/);
  assert.equal(exit, 129);
});

test("fx batch that has no terminal, as under nohup, goes on after a SIGHUP", async (t) => {
  const { env, write, path } = await desk(t);
  const line = `${adult()},PLN,USD,0.01,`;
  write("orders.csv", [header, ...Array.from({ length: 1000 }, () => line)]);
  const { child, output, ended } = spawnFx(["batch", path("orders.csv"), "--stop-on-error"], { env });
  await until(() => output().stdout.includes("\n"));
  child.kill("SIGHUP");
  assert.equal((await ended).exit, 0);
  assert.match(output().stderr, /\ndone\t1000\n/);
});

test("Dry runs and runs of 200 accounts pass a server with a limit of 100 requests a second", async (t) => {
  const { fx, write, path } = await desk(t);
  const server = await startServer({}, "", { rateLimit: 100 });
  t.after(() => server.close());
  const accounts = Array.from({ length: 200 }, (_, index) => `Jan,Nowak,${adult(index)},10`);
  write("accounts.csv", ["name,surname,pesel,pln", ...accounts]);
  const orders = accounts.map((_, index) => `${adult(index)},PLN,USD,1,`);
  write("orders.csv", [header, ...orders, ...orders]);
  const at = ` --url ${server.url}`;
  for (const file of ["accounts.csv", "orders.csv"]) {
    const dry = await fx(`batch ${path(file)} --dry-run${at}`);
    assert.equal(dry.exit, 0, dry.stderr.slice(0, 500));
    assert.equal((await fx(`batch ${path(file)}${at}`)).exit, 0);
  }
  assert.equal(
    (await fx(`batch ${path("orders.csv")} --dry-run${at}`)).stdout.trim().split("\n").length,
    400,
  );
});

for (const place of ["a store", "a server"]) {
  test(`fx batch at ${place} with a line of a damaged account does all lines of others, and no later one of it, with and without an id`, async (t) => {
    const { env, fx, write, path } = await desk(t);
    await openHere(env.FX_URL, { index: 1 });
    const ledger = new DatabaseSync(path("fx.db"));
    ledger.exec(`update account set name = 'Eve' where pesel = ${adult(1)}`);
    ledger.close();
    // A store takes 16 groups of 512 lines at once, a server two.
    const count = place === "a store" ? 9000 : 2000;
    const deposits = Array.from(
      { length: count },
      (_, nth) => `deposit,${adult(nth === 3 || nth === count - 1 ? 1 : 0)},1,PLN`,
    );
    write("cash.csv", ["kind,pesel,amount,currency", ...deposits]);
    const server = place === "a store" ? undefined : await serveHere({ FX_DB: env.FX_URL, FX_RATES: "demo" });
    t.after(() => server?.stop());
    const at = server === undefined ? "" : ` --url ${server.url}`;
    for (const [id, done, replayed, failed, unknown, exit] of [
      ["", count - 2, 0, 0, 1, 8],
      [" --id b", count - 2, 0, 0, 1, 8],
      [" --id b", 0, count - 2, 0, 1, 8],
      [" --id c --dry-run", count - 2, 0, 2, 0, 7],
    ] as const) {
      const ran = await fx(`batch cash.csv --json${id}${at}`);
      const told = JSON.parse(ran.stderr);
      const counts = [told.done, told.replayed, told.failed, told.unknown, told.complete, ran.exit];
      assert.deepEqual(counts, [done, replayed, failed, unknown, false, exit], id);
    }
  });
}

test("fx batch at a server whose store fails from some line on stops, and sends no further lines", async (t) => {
  const { fx, write } = await desk(t);
  let asked = 0;
  const { url, close } = await startServer({
    bulk: async function* (chunks) {
      for await (const chunk of chunks) {
        yield chunk.map(() => {
          asked += 1;
          return asked > 512
            ? new FxError("storage-unavailable", "For the test.")
            : { receiptId: newEntryId(), replayed: false };
        });
      }
    },
  });
  t.after(close);
  const people = Array.from({ length: 2500 }, (_, nth) => `Jan,Nowak,${adult(nth)},1`);
  write("people.csv", ["name,surname,pesel,pln", ...people]);
  const { exit, stderr } = await fx(`batch people.csv --json --url ${url}`);
  const { done, complete } = JSON.parse(stderr);
  assert.deepEqual([done, complete, exit], [512, false, 8]);
  // A request with the lines after those that failed may be under way.
  assert.ok(asked <= 3 * 512, `${asked} lines were sent`);
});

test("fx batch warns of lines that another batch has done, although most of the accounts are damaged", async (t) => {
  const { env, fx, write, path } = await desk(t);
  const people = Array.from({ length: 20 }, (_, nth) => nth + 1);
  for (const index of people) await openHere(env.FX_URL, { index });
  const rows = people.map((index) => `deposit,${adult(index)},1,PLN`);
  write("cash.csv", ["kind,pesel,amount,currency", ...rows]);
  assert.equal((await fx("batch cash.csv")).exit, 0);
  const ledger = new DatabaseSync(path("fx.db"));
  for (const index of people.slice(0, 11)) {
    ledger.exec(`update account set name = 'Eve' where pesel = ${adult(index)}`);
  }
  ledger.close();
  write("longer.csv", ["kind,pesel,amount,currency", ...rows, `deposit,${adult()},1,PLN`]);
  const [warning] = (await fx("batch longer.csv --json")).stderr.split("\n");
  assert.deepEqual({ ...JSON.parse(warning ?? "").overlap, last: "" }, { lines: 9, among: 10, last: "" });
});

for (const separator of [",", ";"]) {
  test(`fx batch with refused lines writes no cell that a spreadsheet would run, and reads all of them back, between "${separator}"`, async (t) => {
    const { fx, write, path } = await desk(t);
    const cells = ["=cmd|'/C calc'!A0", "+1", "-1", "@a", "'=1", "a;=1", "a,=1", "O'Brien"];
    const columns = cells.map((_, index) => `=${index}`);
    const row = (...texts: string[]) => texts.map((text) => `"${text}"`).join(separator);
    write("orders.csv", [
      row(...header.split(","), ...columns),
      row(adult(), "PLN", "USD", "", "-5", ...cells.map((cell) => cell.replace(/^'/, "''"))),
    ]);
    const extras: unknown[] = [];
    const files: string[] = [];
    for (const [from, to] of [
      ["orders", "first"],
      ["first", "second"],
      ["second", "third"],
    ]) {
      const ran = await fx(`batch ${from}.csv --rejects ${to}.csv`);
      assert.equal(ran.exit, 3, ran.stderr);
      extras.push(JSON.parse(ran.stdout).extra);
      files.push(readFileSync(path(`${to}.csv`), "utf8"));
    }
    const extra = Object.fromEntries(columns.map((column, index) => [column, cells[index]]));
    assert.deepEqual(extras, [extra, extra, extra]);
    for (const cell of files.flatMap((file) => parse(file, { delimiter: separator }) as string[][]).flat()) {
      assert.doesNotMatch(cell, /^([=+@]|-(?!\d+$))/);
    }
  });
}

test("A file that changes while it runs is carried out as it was read, and run again under its id does the rest", async (t) => {
  const { env, fx, write, path } = await desk(t);
  const line = `${adult()},PLN,PLN,1,`;
  write("orders.csv", [header, ...Array.from({ length: 50_000 }, () => line)]);
  const { child, output, ended } = spawnFx(["batch", path("orders.csv"), "--json"], { env });
  await until(() => output().stdout.includes("\n"));
  appendFileSync(path("orders.csv"), `${line}\n`);
  await ended;
  const summary = JSON.parse(output().stderr.trimEnd().split("\n").at(-1) ?? "");
  assert.deepEqual([summary.complete, summary.refused, child.exitCode], [true, 50_000, 3]);
  const again = await fx(`batch orders.csv --id ${summary.id} --json`);
  assert.equal(JSON.parse(again.stderr).refused, 50_001);
});
