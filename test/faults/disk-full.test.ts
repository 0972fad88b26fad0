import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { AuditReport } from "../../src/core/service.ts";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { type Disk, diskRefusal, smallDisk } from "../support/full-disk.ts";
import { isProblem, send } from "../support/http.ts";
import { runFx, startFx } from "../support/run-fx.ts";
import { counted } from "../support/service.ts";

const pesel = adult();
const post = (url: string, path: string, body: object) => send(url, "POST", path, { body });
const open = (url: string) => post(url, "/api/user", { name: "Jan", surname: "Kowalski", pesel, pln: 1000 });
const order = (url: string) =>
  post(url, `/api/exchange/${pesel}`, { pesel, from: "PLN", to: "USD", toBuy: 0.01 });

test("Orders fail while the disk is full, and are settled again when there is room", async (t) => {
  const path = join(newFolder(t), "ledger.db");
  const server = await startFx(["--db", `sqlite:${path}`, "--rates", "demo", "--log-level", "silent"]);
  t.after(() => server.stop());
  assert.equal((await open(server.url)).status, 204);
  // A limit on the size of the server's files acts like a full disk.
  const limit = (bytes: number | "unlimited") =>
    execFileSync("prlimit", ["--pid", String(server.pid), `--fsize=${bytes}:unlimited`]);
  limit(300_000);
  let settled = 0;
  let answer = await order(server.url);
  for (; answer.status === 200 && settled < 5000; answer = await order(server.url)) settled += 1;
  isProblem(answer, "storage-unavailable");
  isProblem(await order(server.url), "storage-unavailable");
  assert.equal((await fetch(`${server.url}/api/user/${pesel}`)).status, 200);

  limit("unlimited");
  assert.equal((await order(server.url)).status, 200);
  const audit = await (await fetch(`${server.url}/api/audit`)).json();
  assert.deepEqual(counted(audit as AuditReport), {
    ok: true,
    accounts: 1,
    entries: settled + 2,
    findings: [],
    findingsTotal: 0,
  });
});

describe("A full disk", { skip: diskRefusal() ?? false }, () => {
  const serve = ({ path }: Disk) =>
    startFx(["--db", `sqlite:${join(path, "ledger.db")}`, "--rates", "demo", "--log-level", "silent"]);

  test("On a full disk, a server starts after SIGKILL, commands read, and orders are refused until there is room", async (t) => {
    const disk = smallDisk(t);
    const killed = await serve(disk);
    assert.equal((await open(killed.url)).status, 204);
    assert.equal((await order(killed.url)).status, 200);
    killed.signal("SIGKILL");
    await killed.ended;
    disk.fill();
    const read = await runFx(["audit", "--url", `sqlite:${join(disk.path, "ledger.db")}`, "--json"]);
    assert.equal(read.exit, 0, read.stderr);
    assert.equal(JSON.parse(read.stdout).entries, 2);

    const server = await serve(disk);
    t.after(() => server.stop());
    assert.equal((await fetch(`${server.url}/api/user/${pesel}`)).status, 200);
    isProblem(await order(server.url), "storage-unavailable");
    disk.makeRoom();
    assert.equal((await order(server.url)).status, 200);
    const audit = await (await fetch(`${server.url}/api/audit`)).json();
    const clean = { ok: true, accounts: 1, entries: 3, findings: [], findingsTotal: 0 };
    assert.deepEqual(counted(audit as AuditReport), clean);
  });
});
