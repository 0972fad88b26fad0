import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { canMakeNamespaces, Network } from "../cluster/network.ts";
import { until } from "../support/run-fx.ts";

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "fx-hosts-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

for (const namespaces of [true, false]) {
  describe(`a host of the cluster ${namespaces ? "in namespaces of its own" : "on loopback"}`, {
    skip: namespaces && !canMakeNamespaces ? "namespaces take root and iproute2" : false,
  }, () => {
    test("finds all processes of a program, stops, kills and starts them, and no others", async (t) => {
      const network = await Network.create(folderOf(t), namespaces);
      t.after(() => network.stop());
      assert.equal(network.hasNamespaces, namespaces);
      const host = await network.addHost("one", { number: 11 });
      const command = ["sh", "-c", "sleep 1000 & sleep 1000 & wait"];
      const [first, second] = [
        await host.start("first", { command }),
        await host.start("second", { command }),
      ];
      while ((await first.pids()).length < 3 || (await second.pids()).length < 3);
      await first.signal("SIGKILL");
      await until(() => !first.isRunning());
      assert.equal((await second.pids()).length, 3);
      await first.start();
      assert.ok(first.isRunning());
      assert.equal((await host.exec("echo", "it's")).trim(), "it's");
      await assert.rejects(host.exec("false"));
    });

    test("reaches another by its address, and leaves nothing when it is stopped", async (t) => {
      const network = await Network.create(folderOf(t), namespaces);
      const hosts = [
        await network.addHost("one", { number: 11 }),
        await network.addHost("two", { number: 12 }),
      ];
      const [one, two] = hosts;
      assert.ok(one && two);
      const serve = `require("http").createServer((q, a) => a.end("two")).listen(8080, "${two.address}")`;
      const server = await two.start("server", { command: [process.execPath, "-e", serve] });
      const ask = `fetch("http://${two.address}:8080").then((a) => a.text()).then(console.log)`;
      const answer = () => one.exec(process.execPath, "-e", ask).catch(() => "");
      let answered = "";
      for (let tries = 0; tries < 100 && answered === ""; tries += 1) answered = await answer();
      assert.equal(answered.trim(), "two");
      assert.equal(await (await fetch(`http://${two.address}:8080`)).text(), "two");
      const pids = await server.pids();
      await network.stop();
      assert.deepEqual(pids.filter(isAlive), []);
      assert.equal(server.isRunning(), false);
    });

    test("ends when the process that made it is killed with SIGKILL", async (t) => {
      const module = fileURLToPath(new URL("../cluster/network.ts", import.meta.url));
      const script = `
        const { Network } = await import(${JSON.stringify(module)});
        const network = await Network.create(${JSON.stringify(folderOf(t))}, ${namespaces});
        const host = await network.addHost("one", { number: 11 });
        const program = await host.start("program", { command: ["sleep", "1000"] });
        console.log((await program.pids()).join(" "));
        setInterval(() => {}, 1000);`;
      const args = ["--import", "tsx", "--input-type=module", "-e", script];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      t.after(() => child.kill("SIGKILL"));
      const [line] = (await once(createInterface(child.stdout), "line")) as [string];
      const pids = line.split(" ").map(Number);
      assert.ok(pids.length > 0 && pids.every(isAlive));
      child.kill("SIGKILL");
      await until(() => !pids.some(isAlive), 20_000);
    });
  });
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}/cwd`);
}
