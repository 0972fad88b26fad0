import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Served, startFx, until } from "./support/run-fx.ts";

const readme = new URL("../README.md", import.meta.url);
const launcher = fileURLToPath(new URL("../bin/fx.js", import.meta.url));
const serve = "npx fx serve --demo";
/** A block that is part of the tour: after a comment that begins with "tour". */
const tourBlock = /(?<=<!-- tour\b[^\n]*-->\n)```console\n([\s\S]*?)```/g;

/** A folder with `fx`, and with an `npx` that runs it without looking for it. */
const commands = mkdtempSync(join(tmpdir(), "fx-readme-"));
after(() => rmSync(commands, { recursive: true }));
for (const [name, shift] of [
  ["fx", ""],
  ["npx", "shift; "],
] as const) {
  writeFileSync(join(commands, name), `#!/bin/sh\n${shift}exec "${process.execPath}" "${launcher}" "$@"\n`);
  chmodSync(join(commands, name), 0o755);
}

/** What differs from run to run: ids, times and the port. */
function settled(output: string): string {
  return output
    .replaceAll(/ --url http:\/\/127\.0\.0\.1:\d+/g, "")
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}\b/g, "<id>")
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{21}\b/g, "<key>")
    .replaceAll(/\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+Z)?/g, "<time>")
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:<port>")
    .trimEnd();
}

async function runLine(line: string, url: string): Promise<string> {
  const path = `${commands}${delimiter}${process.env.PATH}`;
  const shell = spawn("sh", ["-c", `{ ${line}\n} 2>&1`], {
    env: { PATH: path, HOME: "/nonexistent", FX_URL: url, FX_FORCE_TTY: "80", NO_COLOR: "1", TZ: "UTC" },
  });
  let output = "";
  shell.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  await once(shell, "close");
  return output;
}

async function startDemo(): Promise<Served> {
  const env = { FX_FORCE_TTY: "80", NO_COLOR: "1", npm_command: "exec" };
  const server = await startFx(["--demo"], { env });
  await until(() => server.output().stdout.includes("Ctrl-C"));
  return server;
}

test("the README's tour is what fx does", async () => {
  const text = readFileSync(readme, "utf8");
  const server = await startDemo();
  let written = text;
  let lines = 0;
  for (const [block, content = ""] of text.matchAll(tourBlock)) {
    let now = "";
    for (const step of content.split(/^\$ /m).slice(1)) {
      const [line = ""] = step.split("\n");
      const expected = step.slice(line.length + 1);
      const output = line === serve ? server.output().stdout : await runLine(line, server.url);
      const shown = output
        .replaceAll(server.url, "http://127.0.0.1:8080")
        .replaceAll(" --url http://127.0.0.1:8080", "");
      now += `$ ${line}\n${shown}`;
      lines += 1;
      if (!process.env.README_WRITE) assert.equal(settled(expected), settled(shown), line);
    }
    written = written.replace(block, () => `\`\`\`console\n${now}\`\`\``);
  }
  await server.stop();
  assert.ok(lines > 5);
  if (process.env.README_WRITE) writeFileSync(readme, written);
});
