import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { until } from "../support/until.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const [, first = ""] = /```sh\n(.*)\n```/.exec(readme) ?? [];
// Any free port, as 8080 may be taken.
const command = `${first} -- --port 0`;

const listening = /^listening\s+(http:\S+)\n/m;

async function isListening(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

describe("The first command of the README", () => {
  for (const [signal, how, script] of [
    ["SIGTERM", "bash -c", command],
    ["SIGINT", "bash -c", command],
    ["SIGTERM", "kill $! in a script", `${command} & read -r _; kill $!; wait $!`],
  ] as const) {
    test(`README's first command, run as ${how}, starts a server that stops on ${signal}`, async () => {
      const child = spawn("bash", ["-c", script], { cwd: root, detached: true });
      try {
        let shown = "";
        for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (shown += text));
        await until(() => listening.test(shown));
        const [, url = ""] = listening.exec(shown) ?? [];
        assert.equal(await isListening(url), true);
        if (script === command) child.kill(signal);
        else child.stdin.write("\n");
        await until(async () => !(await isListening(url)));
      } finally {
        // Ends the rest of its process group.
        try {
          process.kill(-(child.pid as number), "SIGKILL");
        } catch {}
      }
    });
  }
});
