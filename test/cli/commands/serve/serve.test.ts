import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import packageJson from "../../../../package.json" with { type: "json" };
import { addDays, warsawDate } from "../../../../src/core/date.ts";
import type { RatesJson } from "../../../../src/wire/rates.ts";
import { adult } from "../../../support/fixture.ts";
import { newFolder } from "../../../support/folder.ts";
import { type NbpStandIn, startNbpStandIn } from "../../../support/nbp-stand-in.ts";
import { publishedOf } from "../../../support/rates.ts";
import { headOf, openConnection } from "../../../support/raw-connection.ts";
import { runFx, spawnFx, startFx } from "../../../support/run-fx.ts";
import { openHere } from "../../../support/run-here.ts";
import { fxInShell, quoted } from "../../../support/shell.ts";
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
  test("fx serve says where it listens, to whom, on what store, at which table", async () => {
    const server = await startFx(["--rates", "demo"]);
    const { stdout } = server.output();
    await server.stop();
    assert.match(
      stdout,
      /^page\thttp:\/\/127\.0\.0\.1:\d+\/\nlistening\thttp:\/\/127\.0\.0\.1:\d+\nopen to\tthis machine only\nstore\tmemory: \(gone when fx stops\)\nrates\tdemo \(recorded\), table 069\/C\/NBP\/2022 of 2022-04-08\ndocs\thttp:\/\/127\.0\.0\.1:\d+\/docs\n/,
    );
  });

  test("fx serve answers under a prefix, and refuses one that is the beginning of its own paths", async () => {
    const server = await startFx([], { env: { FX_PREFIX: "/fx", FX_RATES: "demo" } });
    const page = await fetch(`${server.url}/fx/`);
    await server.stop();
    assert.match(server.output().stdout, /^page\thttp:\/\/127\.0\.0\.1:\d+\/fx\/\n/);
    assert.match(await page.text(), /<base href="\/fx\/">/);
    const { stderr, exit } = await runFx(["serve", "--prefix", "/api"]);
    assert.equal(exit, 2);
    assert.match(
      stderr,
      /^fx: The prefix cannot be \/api, because \/api\/user is a path of fx itself\. Name another, such as --prefix \/fx\.\n/,
    );
  });

  test("fx serve logs JSON lines to stderr, and no PESEL and no name that is looked for in them", async () => {
    const server = await startFx();
    await fetch(`${server.url}/api/user/${adult(0)}`);
    await fetch(`${server.url}/api/users?name=Kowalska`);
    await fetch(`${server.url}/api/users?name=Kowalska&name=Nowak`);
    const { stderr } = await server.stop();
    const lines = linesOf(stderr);
    assert.ok(lines.some(({ status }) => status === 404));
    assert.ok(lines.some(({ route }) => route === "/api/users"));
    for (const text of [adult(0), "Kowalska", "kowalska"]) assert.ok(!stderr.includes(text));
  });

  test("fx serve --log-level warn leaves out the requests", async () => {
    const server = await startFx(["--rates", "demo", "--log-level", "warn"]);
    await fetch(`${server.url}/api/rates`);
    const { stderr } = await server.stop();
    assert.deepEqual(
      linesOf(stderr).filter(({ level }) => Number(level) < 40),
      [],
    );
  });

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    test(`${signal} stops fx serve gracefully, with exit 0`, async () => {
      const server = await startFx();
      server.signal(signal);
      const { stdout, exit } = await server.ended;
      assert.match(stdout, /\nStopping once the requests under way are answered\./);
      assert.equal(exit, 0);
    });
  }

  test("a store in memory is one warning in the log, and one in a file is none", async () => {
    const warnings = async (db: string) => {
      const server = await startFx(["--rates", "demo", "--db", db]);
      return linesOf((await server.stop()).stderr).filter(({ level }) => level === 40);
    };
    const [warning, ...others] = await warnings("memory:");
    assert.match(String(warning?.msg), /^database: in memory, and lost when this server ends/);
    assert.deepEqual([others, await warnings(`sqlite:${join(folder, "warned.db")}`)], [[], []]);
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

  test("The start of fx serve with its version, store and source, a signal and its end are lines in the log", async () => {
    const server = await startFx();
    const lines = linesOf((await server.stop()).stderr);
    const [signal, end] = lines.slice(-2);
    const { msg, version, store, rates } = lines[0] ?? {};
    assert.deepEqual([msg, version, store, rates], ["starting", packageJson.version, "memory", "demo"]);
    assert.deepEqual([signal?.signal, end?.msg], ["SIGTERM", "stopped"]);
  });

  for (const signal of ["SIGUSR1", "SIGUSR2"] as const) {
    test(`${signal} does nothing but a line in the log`, async () => {
      const server = await startFx();
      server.signal(signal);
      await until(() => server.output().stderr.includes(signal));
      assert.equal((await fetch(`${server.url}/health/ready`)).status, 200);
      const { stderr, exit } = await server.stop();
      assert.ok(messagesOf(stderr).includes("signal ignored"));
      assert.equal(exit, 0);
    });
  }

  test("a signal that comes while it starts waits until it runs", async () => {
    const bank = await startNbpStandIn();
    await bank.mode("hangs");
    const asked = bank.asked();
    const { child, ended } = spawnFx(["serve", "--port", "0", "--rates", bank.url]);
    await asked;
    for (const signal of ["SIGUSR1", "SIGUSR2", "SIGHUP", "SIGTERM"] as const) child.kill(signal);
    const { stderr, exit } = await ended;
    await bank.close();
    const told = linesOf(stderr).flatMap(({ signal = [] }) => signal);
    assert.deepEqual(told.sort(), ["SIGHUP", "SIGTERM", "SIGUSR1", "SIGUSR2"]);
    assert.equal(messagesOf(stderr).at(-1), "stopped");
    assert.equal(exit, 0);
  });

  describe("SIGHUP", () => {
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

    /** A server with this config file, at the rates of a bank. */
    async function configured(bank: NbpStandIn, config: object) {
      const home = mkdtempSync(join(folder, "config-"));
      mkdirSync(join(home, "fx"));
      const configure = (content: object | string) =>
        writeFileSync(
          join(home, "fx", "config.json"),
          typeof content === "string" ? content : JSON.stringify(content),
        );
      configure(config);
      const server = await startFx(["--rates", bank.url], { env: { XDG_CONFIG_HOME: home } });
      return { server, configure };
    }

    test("SIGHUP has fx serve ask the bank at once, with the table that the config file now accepts", async () => {
      const day = warsawDate(new Date());
      const bank = await startNbpStandIn([JSON.stringify(publishedOf("108/C/NBP/2026", addDays(day, -1)))]);
      const { server, configure } = await configured(bank, {});
      bank.tables = [JSON.stringify(publishedOf("109/C/NBP/2026", day, { USD: [7, 7.1] }))];
      server.signal("SIGHUP");
      await until(() => server.output().stderr.includes("rates: refused"));
      configure({ acceptTable: "109/C/NBP/2026" });
      server.signal("SIGHUP");
      await until(() =>
        server.output().stderr.includes('"table":"109/C/NBP/2026","msg":"rate table in force"'),
      );
      await server.stop();
      await bank.close();
    });

    test("SIGHUP changes the log's level, and says which settings wait for the next start", async () => {
      const bank = await startNbpStandIn();
      const { server, configure } = await configured(bank, { logLevel: "info" });
      configure({ logLevel: "warn", host: "0.0.0.0" });
      server.signal("SIGHUP");
      await until(() => server.output().stderr.includes("at the next start"));
      const { length } = server.output().stderr;
      const { stderr } = await server.stop();
      await bank.close();
      assert.match(stderr, /"settings":\["host"\]/);
      assert.equal(stderr.slice(length), "");
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

    test("SIGHUP leaves everything as it was where the config file makes no sense, and logs why", async () => {
      const bank = await startNbpStandIn();
      const { server, configure } = await configured(bank, {});
      configure("{");
      server.signal("SIGHUP");
      await until(() => server.output().stderr.includes("not read again"));
      const { stderr, exit } = await server.stop();
      await bank.close();
      assert.match(stderr, /"reason":"The config file .+ is not JSON\."/);
      assert.equal(exit, 0);
    });
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

  const floodedRequests = 6000;

  /** A server whose log is not read, after more requests than a pipe and fx hold lines of. */
  async function flooded(t: TestContext) {
    const { child, output, ended } = spawnFx(["serve", "--port", "0", "--rates", "demo"]);
    t.after(() => child.kill("SIGKILL"));
    child.stderr.pause();
    await until(() => output().stdout.includes("/docs\n"));
    const [, url] = /listening\s+(http:\S+)/.exec(output().stdout) ?? [];
    const headers = { "x-request-id": "r".repeat(128) };
    const atOnce = 16;
    for (let left = floodedRequests; left > 0; left -= atOnce) {
      const asked = Array.from({ length: atOnce }, () => fetch(`${url}/api/rates/USD`, { headers }));
      for (const answer of await Promise.all(asked)) await answer.arrayBuffer();
    }
    return { child, output, ended };
  }

  test("a log that nobody reads keeps it neither from answering nor from ending", async (t) => {
    const { child, ended } = await flooded(t);
    child.kill("SIGTERM");
    assert.deepEqual(await once(child, "exit"), [0, null]);
    child.stderr.resume();
    await ended;
  });

  test("log lines that nobody read in time are counted in the log once there is room again", async (t) => {
    const { child, output, ended } = await flooded(t);
    child.stderr.resume();
    await until(() => output().stderr.includes("log lines dropped"));
    child.kill("SIGTERM");
    const { stderr } = await ended;
    const dropped = linesOf(stderr).find(({ msg }) => `${msg}`.startsWith("log lines dropped"));
    const told = linesOf(stderr).filter(({ route }) => route !== undefined).length;
    assert.equal(Number(dropped?.lines) + told, floodedRequests);
  });

  test("one Ctrl-C that npm passes on a second time is one signal", async () => {
    const server = await startFx();
    const socket = await halfRequest(server.url);
    server.signal("SIGINT");
    // The system may deliver two equal pending signals as one.
    server.signal("SIGTERM");
    await until(() => server.output().stdout.includes("Stopping"));
    socket.end("}");
    assert.equal((await server.ended).exit, 0);
  });

  test("a port in use ends fx serve with exit 7, so that systemd starts it again", async () => {
    const server = await startFx();
    const { port } = new URL(server.url);
    const { stderr, exit } = await runFx(["serve", "--port", port, "--rates", "demo"]);
    await server.stop();
    assert.match(stderr, new RegExp(`fx: Port ${port} of 127\\.0\\.0\\.1 is in use, [\\s\\S]*--port`));
    assert.equal(exit, 7);
  });

  test("an address that this machine does not have yet ends fx serve with exit 7", async () => {
    const elsewhere = ["--host", "192.0.2.1", "--allow-anonymous"];
    const { stderr, exit } = await runFx(["serve", "--port", "0", "--rates", "demo", ...elsewhere]);
    assert.match(stderr, /fx: 192\.0\.2\.1 is no address of this machine now\./);
    assert.equal(exit, 7);
  });

  test("fx serve at rates that make no sense is exit 6", async () => {
    const { stderr, exit } = await runFx(["serve", "--port", "0", "--rates", join(folder, "missing.json")]);
    assert.match(stderr, /fx: No rates from .*missing\.json/);
    assert.equal(exit, 6);
  });

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
