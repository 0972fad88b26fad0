import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import packageJson from "../../../../package.json" with { type: "json" };
import { addDays, warsawDate } from "../../../../src/core/date.ts";
import type { RatesJson } from "../../../../src/wire/rates.ts";
import { adult } from "../../../support/fixture.ts";
import { newFolder } from "../../../support/folder.ts";
import { startNbpStandIn } from "../../../support/nbp-stand-in.ts";
import { publishedOf } from "../../../support/rates.ts";
import { headOf, openConnection } from "../../../support/raw-connection.ts";
import { runFx, spawnFx, startFx } from "../../../support/run-fx.ts";
import { openHere, runHere } from "../../../support/run-here.ts";
import { fxInShell, quoted } from "../../../support/shell.ts";
import { openStandIn } from "../../../support/stand-in.ts";
import { until } from "../../../support/until.ts";

const folder = newFolder();

/** Opens a connection with half a request on it, which a graceful stop waits for. */
async function halfRequest(url: string): Promise<Socket> {
  const { socket } = await openConnection(url);
  const head = headOf("POST /api/user", "Content-Type: application/json", "Content-Length: 9");
  await new Promise<void>((written) => socket.write(`${head}{`, () => written()));
  // The probe's answer tells that the server has read what came before.
  assert.equal((await fetch(`${url}/health/live`)).status, 200);
  return socket;
}

/** The lines of a log, which are all JSON. There may be none yet. */
function linesOf(stderr: string): Record<string, unknown>[] {
  return stderr
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

const messagesOf = (stderr: string) => linesOf(stderr).map(({ msg }) => msg);

describe("fx serve", () => {
  test("fx serve says on stdout where it listens, and logs JSON lines from its start to its end to stderr, without a PESEL or name", async () => {
    const server = await startFx(["--rates", "demo"]);
    await fetch(`${server.url}/api/user/${adult(0)}`);
    await fetch(`${server.url}/api/users?name=Kowalska`);
    await fetch(`${server.url}/api/users?name=Kowalska&name=Nowak`);
    for (const signal of ["SIGUSR1", "SIGUSR2"] as const) {
      server.signal(signal);
      await until(() => server.output().stderr.includes(signal));
    }
    assert.equal((await fetch(`${server.url}/health/ready`)).status, 200);
    const { stdout, stderr, exit } = await server.stop();
    assert.deepEqual(stdout.split("\n"), [
      ...[`page\t${server.url}/`, `listening\t${server.url}`, "open to\tthis machine only"],
      ...[
        "store\tmemory: (gone when fx stops)",
        "rates\tdemo (recorded), table 069/C/NBP/2022 of 2022-04-08",
      ],
      `docs\t${server.url}/docs`,
      "Stopping once the requests under way are answered. A second signal stops at once.",
      "",
    ]);
    const lines = linesOf(stderr);
    const { msg, version, store, rates } = lines[0] ?? {};
    assert.deepEqual([msg, version, store, rates], ["starting", packageJson.version, "memory", "demo"]);
    const warnings = lines.filter(({ level }) => level === 40).map((line) => line.msg);
    assert.match(`${warnings}`, /^database: in memory, and lost when this server ends[^,]*$/);
    assert.ok(lines.some(({ status, route }) => status === 404 && route === "/api/user/{pesel}"));
    assert.ok(lines.some(({ route }) => route === "/api/users"));
    for (const text of [adult(0), "Kowalska", "kowalska"]) assert.ok(!stderr.includes(text));
    const signals = lines.flatMap(({ signal, msg }) => (signal === undefined ? [] : [`${signal} ${msg}`]));
    assert.deepEqual(signals.slice(0, 2), ["SIGUSR1 signal ignored", "SIGUSR2 signal ignored"]);
    assert.match(signals[2] ?? "", /^SIGTERM/);
    assert.deepEqual([lines.at(-1)?.msg, exit], ["stopped", 0]);
  });

  test("fx serve answers under a prefix, and with --log-level warn logs neither requests nor a store in a file", async () => {
    const settings = { FX_PREFIX: "/fx", FX_RATES: "demo", FX_LOG_LEVEL: "warn" };
    const server = await startFx([], { env: { ...settings, FX_DB: `sqlite:${join(folder, "warned.db")}` } });
    const page = await fetch(`${server.url}/fx/`);
    const { stdout, stderr } = await server.stop();
    assert.match(stdout, /^page\thttp:\/\/127\.0\.0\.1:\d+\/fx\/\n/);
    assert.match(await page.text(), /<base href="\/fx\/">/);
    assert.equal(stderr, "");
  });

  test("a password or key in an address is nowhere in the log, the probe and the metrics", async () => {
    const rates = "http://hidden:hidden@127.0.0.1:1/api?key=hidden";
    const server = await startFx([], { env: { FX_RATES: rates, FX_LOG_LEVEL: "debug" } });
    const told = await Promise.all(
      ["/health/ready", "/metrics"].map(async (path) => (await fetch(`${server.url}${path}`)).text()),
    );
    const { stderr } = await server.stop();
    for (const text of [...told, stderr]) {
      assert.match(text, /http:\/\/127\.0\.0\.1:1\/api/);
      assert.doesNotMatch(text, /hidden/);
    }
  });

  test("a signal that comes while it starts waits until it runs", async () => {
    const bank = await startNbpStandIn();
    await bank.mode("hangs");
    const asked = bank.asked();
    const { child, ended } = spawnFx(["serve", "--port", "0", "--rates", bank.url]);
    await asked;
    for (const signal of ["SIGUSR1", "SIGUSR2", "SIGHUP", "SIGTERM"] as const) child.kill(signal);
    await bank.close();
    const { stderr, exit } = await ended;
    const told = linesOf(stderr).flatMap(({ signal = [] }) => signal);
    assert.deepEqual(told.sort(), ["SIGHUP", "SIGTERM", "SIGUSR1", "SIGUSR2"]);
    assert.equal(messagesOf(stderr).at(-1), "stopped");
    assert.equal(exit, 0);
  });

  test("SIGHUP has fx serve read a file of rates again", async () => {
    const path = join(folder, "rates.json");
    writeFileSync(path, JSON.stringify([publishedOf("108/C/NBP/2026", "2026-06-08")]));
    const server = await startFx(["--rates", path]);
    writeFileSync(path, JSON.stringify([publishedOf("109/C/NBP/2026", "2026-06-09")]));
    server.signal("SIGHUP");
    await until(() => server.output().stderr.includes("read again"));
    const { table } = (await (await fetch(`${server.url}/api/rates`)).json()) as RatesJson;
    assert.equal(table, "109/C/NBP/2026");
    assert.equal((await server.stop()).exit, 0);
  });

  test("SIGHUP has fx serve ask the bank at once, and read the config file again unless it makes no sense", async () => {
    const day = warsawDate(new Date());
    const bank = await startNbpStandIn([JSON.stringify(publishedOf("108/C/NBP/2026", addDays(day, -1)))]);
    const home = mkdtempSync(join(folder, "config-"));
    mkdirSync(join(home, "fx"));
    const configure = (content: string) => writeFileSync(join(home, "fx", "config.json"), content);
    configure('{"logLevel": "info"}');
    const server = await startFx(["--rates", bank.url], { env: { XDG_CONFIG_HOME: home } });
    const reloaded = async (told: string) => {
      server.signal("SIGHUP");
      await until(() => server.output().stderr.includes(told));
    };
    bank.tables = [JSON.stringify(publishedOf("109/C/NBP/2026", day, { USD: [7, 7.1] }))];
    await reloaded("rates: refused");
    configure("{");
    await reloaded("not read again");
    assert.match(server.output().stderr, /"reason":"The config file .+ is not JSON\."/);
    configure('{"acceptTable": "109/C/NBP/2026"}');
    await reloaded('"table":"109/C/NBP/2026","msg":"rate table in force"');
    configure('{"logLevel": "warn", "host": "0.0.0.0"}');
    await reloaded("at the next start");
    assert.match(server.output().stderr, /"settings":\["host"\]/);
    const { length } = server.output().stderr;
    const { stderr, exit } = await server.stop();
    await bank.close();
    assert.deepEqual([stderr.slice(length), exit], ["", 0]);
  });

  test("SIGHUP stops fx serve where the terminal at which it was started is closed", async () => {
    const log = join(folder, "closed.log");
    const command = `exec ${fxInShell} serve --port 0 --rates demo 2>${quoted(log)}`;
    const terminal = spawn("script", ["-qfec", command, "/dev/null"], {
      env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent", TERM: "xterm", SHELL: "/bin/sh" },
    });
    let shown = "";
    terminal.stdout.setEncoding("utf8").on("data", (text) => {
      shown += text;
    });
    const logged = () => (existsSync(log) ? readFileSync(log, "utf8") : "");
    await until(() => shown.includes("/docs"));
    const [url = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(shown) ?? [];
    assert.equal((await fetch(`${url}/health/live`)).status, 200);
    terminal.kill("SIGKILL");
    await until(() => messagesOf(logged()).includes("stopped"));
    assert.ok(linesOf(logged()).some(({ signal }) => signal === "SIGHUP"));
  });

  test("a second signal stops it at once, with what is under way", async () => {
    const server = await startFx();
    const socket = await halfRequest(server.url);
    server.signal("SIGTERM");
    await until(() => server.output().stdout.includes("Stopping"));
    server.signal("SIGHUP");
    await pause(350);
    server.signal("SIGINT");
    const { stderr, exit } = await server.ended;
    assert.deepEqual(
      linesOf(stderr).flatMap(({ signal = [] }) => signal),
      ["SIGTERM", "SIGHUP", "SIGINT"],
    );
    assert.ok(messagesOf(stderr).includes("signal ignored"));
    assert.equal(exit, 130);
    socket.destroy();
  });

  test("a stop ends after --stop-timeout, with what is under way, and the log says how much that was", async () => {
    const server = await startFx(["--rates", "demo", "--stop-timeout", "1"]);
    await halfRequest(server.url);
    const { stderr, exit } = await server.stop();
    const cut = linesOf(stderr).find(({ msg }) => msg === "connections closed at the time limit of the stop");
    assert.deepEqual([cut?.connections, messagesOf(stderr).at(-1)], [1, "stopped"]);
    assert.equal(exit, 0);
  });

  test("A log that nobody reads blocks neither answers nor the stop of fx serve, and lost lines are counted", async (t) => {
    const { child, output } = spawnFx(["serve", "--port", "0", "--rates", "demo"]);
    t.after(() => child.kill("SIGKILL"));
    await until(() => output().stdout.includes("/docs\n"));
    const [, url] = /listening\s+(http:\S+)/.exec(output().stdout) ?? [];
    const headers = { "x-request-id": "r".repeat(128) };
    const flood = async (requests: number) => {
      child.stderr.pause();
      const atOnce = 16;
      for (let left = requests; left > 0; left -= atOnce) {
        const asked = Array.from({ length: atOnce }, () => fetch(`${url}/api/rates/USD`, { headers }));
        for (const answer of await Promise.all(asked)) await answer.arrayBuffer();
      }
    };
    // More lines than a pipe and fx hold.
    const requests = 6000;
    await flood(requests);
    child.stderr.resume();
    await until(() => output().stderr.includes("log lines dropped"));
    await until(() => {
      const { stderr } = output();
      const lines = linesOf(stderr.slice(0, stderr.lastIndexOf("\n") + 1));
      const dropped = lines.find(({ msg }) => `${msg}`.startsWith("log lines dropped"));
      return Number(dropped?.lines) + lines.filter(({ route }) => route !== undefined).length === requests;
    });
    await flood(800);
    child.kill("SIGTERM");
    assert.deepEqual(await once(child, "exit"), [0, null]);
    child.stderr.resume();
  });

  test("One Ctrl-C that npm passes on a second time is one signal, and stops fx serve with exit 0", async () => {
    const server = await startFx();
    const socket = await halfRequest(server.url);
    server.signal("SIGINT");
    // The system may deliver two equal pending signals as one.
    server.signal("SIGTERM");
    await until(() => server.output().stdout.includes("Stopping"));
    socket.end("}");
    assert.equal((await server.ended).exit, 0);
  });

  for (const [option, hint] of [
    ["--port", "--port"],
    ["--admin-port", "--admin-port"],
  ] as const) {
    test(`${option} in use ends fx serve with exit 7, so that systemd starts it again, and ${hint} is named`, async () => {
      const { url } = await openStandIn("hang");
      const { port } = new URL(url);
      const other = option === "--port" ? [] : ["--port", "0"];
      const { stderr, exit } = await runHere(["serve", ...other, option, port, "--rates", "demo"], {
        env: { FX_LOG_LEVEL: "silent" },
      });
      assert.match(
        stderr,
        new RegExp(
          `fx: Port ${port} of 127\\.0\\.0\\.1 cannot be listened on \\(address already in use\\)\\.\n[^]*${hint}`,
        ),
      );
      assert.equal(exit, 7);
    });
  }

  test("fx serve --db keeps the accounts, and a command may use the file beside the server", async () => {
    const env = { FX_RATES: "demo", FX_DB: `sqlite:${join(folder, "kept.db")}` };
    const first = await startFx([], { env });
    await openHere(env.FX_DB, { pln: "7" });
    assert.equal((await first.stop()).exit, 0);
    const second = await startFx([], { env });
    const { stdout } = await runFx(["account", "show", adult(0)], { env: { FX_URL: second.url } });
    await second.stop();
    assert.match(stdout, /\nPLN\t7\.00\n$/);
  });

  test("fx serve --demo has accounts that work, and prints commands to try", async () => {
    const server = await startFx(["--demo"], { env: { FX_DB: "postgres://nowhere/fx", FX_RATES: "nbp" } });
    await until(() => server.output().stdout.includes("Ctrl-C"));
    const { stdout } = server.output();
    const pesels = [...stdout.matchAll(/^ {2}(\d{11}) {2}\S+ \S+$/gm)].map(([, pesel]) => pesel);
    assert.equal(pesels.length, 3);
    for (const pesel of pesels) assert.equal((await fetch(`${server.url}/api/user/${pesel}`)).status, 200);
    assert.ok(
      stdout.includes(`  fx exchange ${pesels[0]} --from PLN --to USD --to-buy 100 --url ${server.url}\n`),
    );
    await server.stop();
  });
});
