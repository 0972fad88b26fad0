import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { adult } from "../support/fixture.ts";
import { send } from "../support/http.ts";
import { freePort } from "../support/postgres.ts";
import { documented, pack } from "./package.ts";

// Run by `npm run try-container`, and not with the tests: it takes minutes, root's rights, debootstrap, buildah, podman
// and access to Debian's archive.
describe("The image of deploy/Containerfile, on a base made by debootstrap", () => {
  const folder = mkdtempSync(join(tmpdir(), "fx-container-"));
  const context = join(folder, "context");
  const settings = join(folder, "settings");
  const pesel = adult(5);
  const base = "localhost/fx-base";
  let port: number;
  let url: string;
  let startMs: number;
  let token: string;

  /** The containers' storage is in the test's folder. They share this network, and their limits need no rights. */
  const env = {
    ...process.env,
    BUILDAH_ISOLATION: "chroot",
    CONTAINERS_STORAGE_CONF: join(folder, "storage.conf"),
    CONTAINERS_CONF: join(folder, "containers.conf"),
  };
  const run = (command: string, ...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd: context,
      env,
      encoding: "utf8",
      maxBuffer: 1e8,
    });
    assert.equal(status, 0, `${command} ${args.join(" ")}\n${stdout.slice(-4000)}${stderr.slice(-4000)}`);
    return stdout.trim();
  };

  before(async () => {
    port = await freePort();
    url = `http://127.0.0.1:${port}`;
    for (const path of [context, settings]) mkdirSync(path);
    const storage = `[storage]\ndriver = "vfs"\ngraphroot = "${folder}/storage"\nrunroot = "${folder}/run"\n`;
    writeFileSync(join(folder, "storage.conf"), storage);
    writeFileSync(
      join(folder, "containers.conf"),
      `[containers]\nnetns = "host"\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n` +
        `[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\nruntime = "runc"\nvolume_path = "${folder}/volumes"\nstatic_dir = "${folder}/libpod"\ntmp_dir = "${folder}/tmp"\n`,
    );
    const root = join(folder, "base");
    run("debootstrap", "--variant=minbase", "trixie", root);
    const container = run("buildah", "from", "scratch");
    run("buildah", "add", container, root, "/");
    run("buildah", "commit", "--rm", container, base);
    rmSync(root, { recursive: true });

    pack(context);
    cpSync(fileURLToPath(new URL("../../deploy", import.meta.url)), join(context, "deploy"), {
      recursive: true,
    });
    const config = { db: "sqlite:/var/lib/fx/fx.db", rates: "demo", tokens: "/var/lib/fx/tokens", port };
    writeFileSync(join(settings, "config.json"), JSON.stringify(config), { mode: 0o644 });
    run("bash", "-ec", commands().slice(0, 1).join(""));
    const create = "token create till-1 --role operator --tokens /var/lib/fx/tokens".split(" ");
    token = run("podman", "run", "--rm", "--volume", "fx-data:/var/lib/fx", "fx", ...create);
    await start();
    const opened = await ask("POST", "/api/user", { name: "Jan", surname: "Kowalski", pesel, pln: 1000 });
    assert.equal(opened.status, 204, opened.text);
  });
  after(() => {
    spawnSync("podman", ["rm", "--force", "--all", "--time", "5"], { env });
    rmSync(folder, { recursive: true, force: true });
  });

  /** The documented commands: one that builds the image, then one that starts it. */
  function commands(): string[] {
    return documented("sh", "container")
      .replace("npm pack\n", "")
      .replace("buildah build", `buildah build --build-arg BASE=${base}`)
      .replace(" --publish 8080:8080", "")
      .replace("/etc/fx:", `${settings}:`)
      .split(/(?=podman run)/);
  }

  async function start(): Promise<void> {
    run("bash", "-ec", commands().slice(1).join(""));
    for (let ready = false; !ready; await pause(10)) {
      const state = run("podman", "inspect", "--format", "{{.State.Status}}", "fx");
      assert.equal(state, "running", spawnSync("podman", ["logs", "fx"], { env, encoding: "utf8" }).stderr);
      ready = await ask("GET", "/health/ready").then(
        ({ status }) => status === 200,
        () => false,
      );
    }
    const [{ State }] = JSON.parse(run("podman", "inspect", "fx")) as [{ State: { StartedAt: string } }];
    startMs = Date.now() - Date.parse(State.StartedAt);
  }

  const ask = (method: string, path: string, body?: object) =>
    send(url, method, path, {
      headers: { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) },
      ...(body && { body }),
    });

  test("The container settles orders and audits them", async (t) => {
    const order = { pesel, from: "PLN", to: "USD", toBuy: 1 };
    assert.equal((await ask("POST", `/api/exchange/${pesel}`, order)).status, 200);
    assert.equal(((await ask("GET", "/api/audit")).json as { ok: boolean }).ok, true);
    const bytes = Number(run("podman", "image", "inspect", "--format", "{{.Size}}", "fx"));
    const ofBase = Number(run("podman", "image", "inspect", "--format", "{{.Size}}", base));
    t.diagnostic(`image ${Math.round(bytes / 1e6)} MB, of which its base ${Math.round(ofBase / 1e6)} MB`);
    t.diagnostic(`from the start of its process until it was ready: ${Math.round(startMs)} ms`);
  });

  test("The container has no capabilities", () => {
    const pid = run("podman", "inspect", "--format", "{{.State.Pid}}", "fx");
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1];
    assert.deepEqual(["Uid", "Gid", "CapEff", "CapBnd", "NoNewPrivs"].map(field), [
      "10001",
      "10001",
      "0000000000000000",
      "0000000000000000",
      "1",
    ]);
  });

  test("The container can write to its data folder only", () => {
    const touch = (path: string) =>
      spawnSync("podman", ["exec", "fx", "touch", path], { env, encoding: "utf8" });
    assert.equal(touch("/var/lib/fx/probe").status, 0);
    for (const path of ["/probe", "/opt/fx/probe", "/etc/fx/probe", "/var/probe"])
      assert.match(touch(path).stderr, /Read-only file system/, path);
  });

  test("The container ends at SIGTERM and keeps its accounts when started again", async () => {
    run("podman", "stop", "--time", "12", "fx");
    assert.equal(run("podman", "inspect", "--format", "{{.State.ExitCode}}", "fx"), "0");
    run("podman", "rm", "fx");
    await start();
    const { json } = await ask("GET", `/api/user/${pesel}`);
    assert.equal((json as { name: string }).name, "Jan");
  });
});
