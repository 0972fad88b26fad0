import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { AuditReport } from "../../src/core/service.ts";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { isProblem } from "../support/http.ts";
import { cannotMount, smallDisk } from "../support/mounts.ts";
import { runFx, type Served } from "../support/run-fx.ts";
import { counted } from "../support/service.ts";
import { centOrder, openAccount, sendOrder, serveFile } from "./orders.ts";

const pesel = adult();
const order = ({ url }: Served) => sendOrder(url, centOrder(pesel, randomUUID()));

test("Orders fail while the disk is full, and are settled again when there is room", async (t) => {
  const server = await serveFile(t, join(newFolder(t), "ledger.db"));
  assert.equal(await openAccount(server), 204);
  // A limit on the size of the server's files acts like a full disk.
  const limit = (bytes: number | "unlimited") =>
    execFileSync("prlimit", ["--pid", String(server.pid), `--fsize=${bytes}:unlimited`]);
  limit(300_000);
  let settled = 0;
  let answer = await order(server);
  for (; answer.status === 200 && settled < 5000; answer = await order(server)) settled += 1;
  isProblem(answer, "storage-unavailable");
  isProblem(await order(server), "storage-unavailable");
  assert.equal((await fetch(`${server.url}/api/user/${pesel}`)).status, 200);

  limit("unlimited");
  assert.equal((await order(server)).status, 200);
  const audit = await (await fetch(`${server.url}/api/audit`)).json();
  assert.deepEqual(counted(audit as AuditReport), {
    ok: true,
    accounts: 1,
    entries: settled + 2,
    findings: [],
    findingsTotal: 0,
  });
});

describe("A full disk", { skip: cannotMount }, () => {
  test("On a full disk, a server starts after SIGKILL, commands read, and orders are refused until there is room", async (t) => {
    const disk = smallDisk(t);
    const ledger = join(disk.path, "ledger.db");
    const killed = await serveFile(t, ledger);
    assert.equal(await openAccount(killed), 204);
    assert.equal((await order(killed)).status, 200);
    killed.signal("SIGKILL");
    await killed.ended;
    disk.fill();
    const read = await runFx(["audit", "--url", `sqlite:${ledger}`, "--json"]);
    assert.equal(read.exit, 0, read.stderr);
    assert.equal(JSON.parse(read.stdout).entries, 2);

    const server = await serveFile(t, ledger);
    assert.equal((await fetch(`${server.url}/api/user/${pesel}`)).status, 200);
    isProblem(await order(server), "storage-unavailable");
    disk.makeRoom();
    assert.equal((await order(server)).status, 200);
    const audit = await (await fetch(`${server.url}/api/audit`)).json();
    const clean = { ok: true, accounts: 1, entries: 3, findings: [], findingsTotal: 0 };
    assert.deepEqual(counted(audit as AuditReport), clean);
  });
});
