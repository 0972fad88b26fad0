import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { adult } from "../../../support/fixture.ts";
import { runFx, startFx, until } from "../../../support/run-fx.ts";

const folder = mkdtempSync(join(tmpdir(), "fx-serve-"));
after(() => rmSync(folder, { recursive: true }));

/** Opens a connection with half a request on it, which a graceful stop waits for. */
async function halfRequest(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const body =
    "POST /api/user HTTP/1.1\r\nHost: fx\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
  await new Promise<void>((written) => socket.write(body, () => written()));
  // The probe's answer tells that the server has read what came before.
  assert.equal((await fetch(`${url}/health/live`)).status, 200);
  return socket;
}

describe("fx serve", () => {
  test("says where it listens, to whom, on what store, at which table", async () => {
    const server = await startFx(["--rates", "demo"]);
    const { stdout } = server.output();
    await server.stop();
    assert.match(
      stdout,
      /^listening\thttp:\/\/127\.0\.0\.1:\d+\nopen to\tthis machine only\nstore\tmemory: \(gone when fx stops\)\nrates\tdemo \(recorded\), table 069\/C\/NBP\/2022 of 2022-04-08\ndocs\thttp:\/\/127\.0\.0\.1:\d+\/docs\n/,
    );
  });

  test("says that it is open to others when it listens on all addresses", async () => {
    const server = await startFx(["--rates", "demo", "--host", "0.0.0.0"]);
    await server.stop();
    assert.match(server.output().stdout, /\nopen to\tother machines too, on 0\.0\.0\.0\n/);
  });

  test("answers under a prefix, and refuses one that is the beginning of its own paths", async () => {
    const server = await startFx([], { env: { FX_PREFIX: "/fx", FX_RATES: "demo" } });
    const { status, headers } = await fetch(`${server.url}/fx/`, { redirect: "manual" });
    await server.stop();
    assert.deepEqual([status, headers.get("location")], [302, "/fx/docs"]);
    const { stderr, exit } = await runFx(["serve", "--prefix", "/api"]);
    assert.equal(exit, 2);
    assert.match(
      stderr,
      /^fx: \/api\/user is a path of fx itself\. Name another --prefix than \/api, such as \/fx\.\n/,
    );
  });

  test("logs JSON lines to stderr, and no PESEL in them", async () => {
    const server = await startFx();
    await fetch(`${server.url}/api/user/${adult(0)}`);
    const { stderr } = await server.stop();
    const lines = stderr
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.ok(lines.some(({ status }) => status === 404));
    assert.ok(!stderr.includes(adult(0)));
  });

  test("--log-level warn leaves out the requests", async () => {
    const server = await startFx(["--rates", "demo", "--log-level", "warn"]);
    await fetch(`${server.url}/api/rates`);
    assert.equal((await server.stop()).stderr, "");
  });

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    test(`${signal} stops it gracefully, with exit 0`, async () => {
      const server = await startFx();
      server.signal(signal);
      const { stdout, exit } = await server.ended;
      assert.match(stdout, /\nStopping when what is under way is answered\./);
      assert.equal(exit, 0);
    });
  }

  test("a second signal stops it at once, with what is under way", async () => {
    const server = await startFx();
    const socket = await halfRequest(server.url);
    socket.on("error", () => {});
    server.signal("SIGTERM");
    await until(() => server.output().stdout.includes("Stopping"));
    await pause(350);
    server.signal("SIGINT");
    assert.equal((await server.ended).exit, 130);
    socket.destroy();
  });

  test("one Ctrl-C that npm passes on a second time is one signal", async () => {
    const server = await startFx();
    const socket = await halfRequest(server.url);
    server.signal("SIGINT");
    await until(() => server.output().stdout.includes("Stopping"));
    server.signal("SIGINT");
    socket.end("}");
    assert.equal((await server.ended).exit, 0);
  });

  test("a port in use is told, with exit 2", async () => {
    const server = await startFx();
    const { port } = new URL(server.url);
    const { stderr, exit } = await runFx(["serve", "--port", port, "--rates", "demo"]);
    await server.stop();
    assert.match(stderr, new RegExp(`fx: Port ${port} of 127\\.0\\.0\\.1 is in use, .*--port`));
    assert.equal(exit, 2);
  });

  test("a host that is not of this machine is told, with exit 2", async () => {
    const { stderr, exit } = await runFx(["serve", "--port", "0", "--host", "192.0.2.1", "--rates", "demo"]);
    assert.match(stderr, /fx: 192\.0\.2\.1 is not an address of this machine\./);
    assert.equal(exit, 2);
  });

  test("rates that make no sense are exit 6", async () => {
    const { stderr, exit } = await runFx(["serve", "--port", "0", "--rates", join(folder, "missing.json")]);
    assert.match(stderr, /fx: No rates from .*missing\.json/);
    assert.equal(exit, 6);
  });

  test("a database that cannot be opened is exit 7", async () => {
    const { stderr, exit } = await runFx([
      "serve",
      "--port",
      "0",
      "--db",
      `sqlite:${join(folder, "no/fx.db")}`,
    ]);
    assert.match(stderr, /fx: .*no\/fx\.db cannot be made: the folder .* does not exist\./);
    assert.equal(exit, 7);
  });

  test("--db keeps the accounts, and a command may use the file beside the server", async () => {
    const env = { FX_RATES: "demo", FX_DB: `sqlite:${join(folder, "kept.db")}` };
    const first = await startFx([], { env });
    const create = ["account", "create", adult(0), "--name", "Jan", "--surname", "Kowalski", "--pln", "7"];
    assert.equal((await runFx(create, { env: { FX_URL: env.FX_DB } })).exit, 0);
    assert.equal((await first.stop()).exit, 0);
    const second = await startFx([], { env });
    const { stdout } = await runFx(["account", "show", adult(0)], { env: { FX_URL: second.url } });
    await second.stop();
    assert.match(stdout, /\nPLN\t7\.00\n$/);
  });

  test("--demo has accounts that work, and prints commands to try", async () => {
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

  test("--demo with --db or --rates is a contradiction, exit 2", async () => {
    for (const option of [
      ["--db", "memory:"],
      ["--rates", "demo"],
    ]) {
      const { stderr, exit } = await runFx(["serve", "--demo", ...option]);
      assert.match(stderr, /'--demo' cannot be used with option/);
      assert.equal(exit, 2);
    }
  });
});
