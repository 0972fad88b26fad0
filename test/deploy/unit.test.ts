import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import packageJson from "../../package.json" with { type: "json" };
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { send } from "../support/http.ts";
import { createDatabase, freePort, type PostgresServer, startPostgres } from "../support/postgres.ts";
import type { Ran } from "../support/run-fx.ts";
import { until } from "../support/until.ts";
import { bootMachine, cannotBoot, type Machine } from "./machine.ts";
import { documented, pack } from "./package.ts";

const unit = fileURLToPath(new URL("../../deploy/fx@.service", import.meta.url));
const version = packageJson.version;

describe("deploy/fx@.service", {
  skip:
    spawnSync("systemd-analyze", ["--version"]).error &&
    "systemd-analyze is not installed (apt-get install systemd)",
}, () => {
  const folder = newFolder();
  const instance = join(folder, "fx@8080.service");
  copyFileSync(unit, instance);

  test("The systemd unit has an exposure of at most 2.0 of 10", () => {
    const { stdout } = spawnSync("systemd-analyze", ["security", "--offline=true", instance], {
      encoding: "utf8",
    });
    const [, exposure] = /Overall exposure level for fx@8080\.service: ([\d.]+)/.exec(stdout) ?? [];
    assert.ok(Number(exposure) <= 2, stdout);
  });

  test("The systemd unit has no line that systemd rejects", () => {
    copyFileSync(unit, join(folder, "fx@.service"));
    const { stdout, stderr } = spawnSync("systemd-analyze", ["verify", instance], { encoding: "utf8" });
    // The output also has errors of this machine's other units.
    assert.doesNotMatch(stdout + stderr, /fx@.*(Unknown|Failed|Invalid|ignoring)/i);
  });
});

describe("fx under systemd, installed as docs/OPERATIONS.md has it", { skip: cannotBoot() }, () => {
  let machine: Machine;
  let database: PostgresServer;
  let ports: [number, number];
  let token: string;
  const pesel = adult(3);
  const urlOf = (port: number) => `http://127.0.0.1:${port}`;
  const ask = (port: number, method: string, path: string, body?: object) =>
    send(urlOf(port), method, path, {
      headers: { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) },
      ...(body && { body }),
    });
  const order = (port: number, key: string) =>
    send(urlOf(port), "POST", `/api/exchange/${pesel}`, {
      headers: {
        authorization: `Bearer ${token}`,
        "idempotency-key": key,
        "content-type": "application/json",
      },
      body: { pesel, from: "PLN", to: "USD", toBuy: 0.01 },
    });
  const done = async (script: string): Promise<string> => {
    const ran: Ran = await machine.run(`set -e; ${script}`);
    assert.equal(ran.exit, 0, `${script}\n${ran.stdout}${ran.stderr}`);
    return ran.stdout.trim();
  };
  const pidOf = (port: number) => done(`systemctl show --property MainPID --value fx@${port}`);
  const isReady = async (port: number) => {
    try {
      return (await ask(port, "GET", "/health/ready")).status === 200;
    } catch {
      return false;
    }
  };
  const untilReady = async (port: number) => {
    try {
      await until(() => isReady(port));
    } catch (error) {
      const { stdout } = await machine.run(`systemctl status fx@${port}; journalctl -u fx@${port}`);
      throw new Error(stdout, { cause: error });
    }
  };
  /** A block of OPERATIONS, with the ports of this test. */
  const asDocumented = (block: string) =>
    documented("sh", block)
      .replaceAll("8080", String(ports[0]))
      .replaceAll("8081", String(ports[1]))
      .replaceAll(/(?<=fx-)0\.1\.0/g, version);

  before(
    async () => {
      ports = [await freePort(), await freePort()];
      database = await startPostgres();
      const { url } = await createDatabase(database.url);
      machine = await bootMachine();
      const packed = pack(join(machine.root, "root"));
      copyFileSync(packed, join(machine.root, "root/fx-0.2.0.tgz"));
      const config = JSON.parse(documented("json", "systemd: settings")) as Record<string, unknown>;
      assert.match(String(config.db), /^postgres:/);
      writeFileSync(
        join(machine.root, "root/config.json"),
        JSON.stringify({ ...config, db: url, rates: "demo" }),
      );
      await done("mkdir /usr/local/bin");
      await done(`umask 077; ${asDocumented("systemd: install")}`);
      token = readFileSync(join(machine.root, "root/till-1.token"), "utf8").trim();
      for (const port of ports) await untilReady(port);
      const opened = await ask(ports[0], "POST", "/api/user", {
        name: "Jan",
        surname: "Kowalski",
        pesel,
        pln: 1_000_000,
      });
      assert.equal(opened.status, 204, opened.text);
    },
    { timeout: 600_000 },
  );
  after(async () => {
    await machine?.stop();
    await database?.stop();
  });

  test("fx under systemd settles orders on each port", async () => {
    for (const port of ports) assert.equal((await order(port, `on-${port}`)).status, 200);
  });

  test("The install, run again, leaves the tokens as they are", async () => {
    const tokens = () => done("cat /etc/fx/operator.token operator.token till-1.token");
    const before = await tokens();
    await machine.run(asDocumented("systemd: install"));
    assert.equal(await tokens(), before);
  });

  test("fx under systemd can start a worker thread", async () => {
    const { stdout } = await machine.run(
      `FX_URL=${urlOf(ports[0])} FX_TOKEN=$(cat operator.token) fx audit --json`,
    );
    assert.equal(JSON.parse(stdout || "{}").ok, true, stdout);
  });

  test("The checkpoint timer makes a checkpoint when installed, and another the next night", async () => {
    const settings = "/run/systemd/system/fx-checkpoint.service.d";
    const url = `Environment=FX_URL=${urlOf(ports[0])}`;
    await done(`mkdir -p ${settings} && printf '[Service]\\n${url}\\n' > ${settings}/port.conf`);
    await done(asDocumented("systemd: checkpoint"));
    await done("sleep 1; systemctl start fx-checkpoint");
    const made = (await done("ls /mnt/checkpoints")).split("\n");
    assert.equal(made.length, 2);
    const log = () => machine.run("journalctl --no-pager --output cat --unit fx-checkpoint");
    await until(async () => /compared\t1\n/.test((await log()).stdout));
    assert.equal(await done("systemctl is-enabled fx-checkpoint.timer"), "enabled");
  });

  test("fx under systemd has no capabilities", async () => {
    const status = readFileSync(`/proc/${await hostPidOf(ports[0])}/status`, "utf8");
    const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1];
    assert.deepEqual(["CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp"].map(field), [
      "0000000000000000",
      "0000000000000000",
      "0000000000000000",
      "1",
      "2",
    ]);
    assert.equal(field("Uid"), await done("id -u fx"));
  });

  test("fx under systemd can write to its own folder only", async () => {
    const inside = `nsenter --target ${await pidOf(ports[0])} --mount`;
    await done(`${inside} sh -c 'echo > /var/lib/fx/probe && rm /var/lib/fx/probe'`);
    for (const path of ["/etc/fx/probe", "/opt/fx/probe", "/probe", "/var/probe", "/usr/local/probe"]) {
      const { stderr } = await machine.run(`${inside} sh -c 'echo > ${path}'`);
      assert.match(stderr, /Read-only file system|Permission denied|nonexistent/, path);
    }
    // Without root's rights, ProtectProc hides everything but the own process.
    const seen = await done(`nsenter --target ${await pidOf(ports[0])} --mount ls /proc`);
    assert.doesNotMatch(seen, /meminfo/);
  });

  test("fx under systemd restarts after SIGKILL with all answered orders", async () => {
    const first = await order(ports[0], "before-the-kill");
    const pid = await pidOf(ports[0]);
    await done(`kill -9 ${pid}`);
    await until(async () => (await pidOf(ports[0])) !== pid && isReady(ports[0]));
    const again = await order(ports[0], "before-the-kill");
    assert.equal(again.headers.get("fx-receipt"), first.headers.get("fx-receipt"));
    assert.ok(again.headers.has("idempotency-replayed"));
  });

  test("fx under systemd reads its settings again on reload", async () => {
    await done(`systemctl reload fx@${ports[0]}`);
    const log = () => machine.run(`journalctl --no-pager --unit fx@${ports[0]}`);
    await until(async () => /HUP/.test((await log()).stdout));
    assert.ok(await isReady(ports[0]));
  });

  test("A rolling upgrade under systemd leaves one process answering at any time", async () => {
    let stopping = false;
    let failed = 0;
    const orders = (async () => {
      for (let count = 0; !stopping; count += 1) {
        const answers = await Promise.allSettled(ports.map((port) => order(port, `upgrade-${count}`)));
        if (!answers.some((answer) => answer.status === "fulfilled" && answer.value.status === 200))
          failed += 1;
        await pause(20);
      }
      return failed;
    })();
    const before = await Promise.all(ports.map(pidOf));
    await done(`umask 077; ${asDocumented("systemd: upgrade")}`);
    stopping = true;
    assert.equal(await orders, 0);
    assert.equal(await done("readlink /opt/fx"), "fx-0.2.0");
    const pids = await Promise.all(ports.map(pidOf));
    for (const [index, pid] of pids.entries()) assert.notEqual(pid, before[index]);
  });

  test("fx under systemd is not restarted with a wrong setting", async () => {
    const port = await freePort();
    await done(
      `mkdir -p /run/systemd/system/fx@${port}.service.d && ` +
        `printf '[Service]\\nEnvironment=FX_STOP_TIMEOUT=never\\n' > /run/systemd/system/fx@${port}.service.d/wrong.conf && ` +
        `systemctl daemon-reload && systemctl start fx@${port} || true`,
    );
    const state = () => done(`systemctl show --property ActiveState,ExecMainStatus,NRestarts fx@${port}`);
    await until(async () => /ActiveState=failed/.test(await state()));
    assert.match(await state(), /NRestarts=0/);
    assert.match(await state(), /ExecMainStatus=2/);
  });

  test("fx under systemd stops at once and successfully", async () => {
    await done(`systemctl stop fx@${ports[1]}`);
    assert.equal(
      await done(`systemctl show --property ActiveState,Result,ExecMainStatus fx@${ports[1]}`),
      "Result=success\nExecMainStatus=0\nActiveState=inactive",
    );
  });

  /** The id of the process in this machine's namespace. */
  async function hostPidOf(port: number): Promise<string> {
    const pids = execFileSync("pgrep", ["-f", `/opt/fx/bin/fx\\.js serve --port ${port}$`], {
      encoding: "utf8",
    });
    return pids.trim().split("\n").at(-1) ?? "";
  }
});
