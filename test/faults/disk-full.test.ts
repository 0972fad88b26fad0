import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { AuditReport } from "../../src/core/service.ts";
import { adult } from "../support/fixture.ts";
import { type Disk, diskRefusal, smallDisk } from "../support/full-disk.ts";
import { runFx, startFx } from "../support/run-fx.ts";
import { counted } from "../support/service.ts";

function ledgerPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "fx-disk-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "ledger.db");
}

async function post(url: string, body: unknown): Promise<{ status: number; code: string | undefined }> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, code: response.ok ? undefined : JSON.parse(text).code };
}

test("a disk that takes no more fails the orders it failed, and the service goes on when it does", async (t) => {
  const path = ledgerPath(t);
  const server = await startFx(["--db", `sqlite:${path}`, "--rates", "demo", "--log-level", "silent"]);
  t.after(() => server.stop());
  const pesel = adult();
  const account = { name: "Jan", surname: "Kowalski", pesel, pln: 1000 };
  assert.equal((await post(`${server.url}/api/user`, account)).status, 204);
  const order = () =>
    post(`${server.url}/api/exchange/${pesel}`, { pesel, from: "PLN", to: "USD", toBuy: 0.01 });

  // A limit on the size of the server's files, as a disk has one.
  const limit = (bytes: number | "unlimited") =>
    execFileSync("prlimit", ["--pid", String(server.pid), `--fsize=${bytes}:unlimited`]);
  limit(300_000);
  let settled = 0;
  let answer = await order();
  for (; answer.status === 200 && settled < 5000; answer = await order()) settled += 1;
  assert.deepEqual(answer, { status: 500, code: "storage-unavailable" });
  assert.deepEqual(await order(), { status: 500, code: "storage-unavailable" });
  assert.equal((await fetch(`${server.url}/api/user/${pesel}`)).status, 200);

  limit("unlimited");
  assert.equal((await order()).status, 200);
  const audit = await (await fetch(`${server.url}/api/audit`)).json();
  assert.deepEqual(counted(audit as AuditReport), {
    ok: true,
    accounts: 1,
    entries: settled + 2,
    findings: [],
    findingsTotal: 0,
  });
});

test("a server does not start on a truncated database, and says so", async (t) => {
  const path = ledgerPath(t);
  const place = `sqlite:${path}`;
  const created = await runFx(
    ["account", "create", adult(), "--name", "Jan", "--surname", "K", "--pln", "5", "--url", place],
    { env: { FX_RATES: "demo" } },
  );
  assert.equal(created.exit, 0, created.stderr);
  truncateSync(path, 5000);
  const { exit, stderr } = await runFx(["serve", "--db", place, "--port", "0", "--rates", "demo"]);
  assert.equal(exit, 7);
  assert.match(stderr, /ledger\.db.* is damaged.*estore it from a backup/);
});

describe("on a disk that is full", { skip: diskRefusal() ?? false }, () => {
  const pesel = adult();
  const account = { name: "Jan", surname: "Kowalski", pesel, pln: 1000 };
  const order = { pesel, from: "PLN", to: "USD", toBuy: 0.01 };
  const serve = ({ path }: Disk) =>
    startFx(["--db", `sqlite:${join(path, "ledger.db")}`, "--rates", "demo", "--log-level", "silent"]);

  /** Has an account and an order, and stops the server in some way before the disk is full. */
  async function fullDisk(t: TestContext, signal: "SIGKILL" | "SIGTERM"): Promise<Disk> {
    const disk = smallDisk(t);
    const server = await serve(disk);
    assert.equal((await post(`${server.url}/api/user`, account)).status, 204);
    assert.equal((await post(`${server.url}/api/exchange/${pesel}`, order)).status, 200);
    server.signal(signal);
    await server.ended;
    disk.fill();
    return disk;
  }

  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    test(`a server starts after ${signal}, reads, refuses orders, and takes them when there is room`, async (t) => {
      const disk = await fullDisk(t, signal);
      const server = await serve(disk);
      t.after(() => server.stop());
      assert.equal((await fetch(`${server.url}/api/user/${pesel}`)).status, 200);
      const settle = () => post(`${server.url}/api/exchange/${pesel}`, order);
      assert.deepEqual(await settle(), { status: 500, code: "storage-unavailable" });
      disk.makeRoom();
      assert.equal((await settle()).status, 200);
      const audit = await (await fetch(`${server.url}/api/audit`)).json();
      assert.deepEqual(counted(audit as AuditReport), {
        ok: true,
        accounts: 1,
        entries: 3,
        findings: [],
        findingsTotal: 0,
      });
    });

    test(`a command reads after ${signal}`, async (t) => {
      const { path } = await fullDisk(t, signal);
      const { exit, stdout, stderr } = await runFx([
        "audit",
        "--url",
        `sqlite:${join(path, "ledger.db")}`,
        "--json",
      ]);
      assert.equal(exit, 0, stderr);
      assert.equal(JSON.parse(stdout).entries, 2);
    });
  }
});
