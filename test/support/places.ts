import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { startServer } from "../../src/cli/commands/serve/server.ts";
import { loadConfig } from "../../src/cli/config.ts";
import type { Ran } from "./run-fx.ts";
import { runHere } from "./run-here.ts";

/** Runs the command line `fx …`: with this on standard input, or at a terminal of so many columns where nobody types. */
export type Fx = (command: string, stdin?: string, columns?: number) => Promise<Ran>;

/** Runs commands on an empty ledger of the test's own, at the demo's rates. */
export type OpenLedger = (t: TestContext) => Promise<Fx>;

export const places: Readonly<Record<string, OpenLedger>> = {
  embedded: async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "fx-commands-"));
    t.after(() => rmSync(folder, { recursive: true }));
    return commandsAt(`sqlite:${join(folder, "fx.db")}`);
  },
  remote: async (t) => {
    const { settings } = loadConfig({ port: "0", rates: "demo" }, { HOME: "/nonexistent" });
    const start = { logLevel: "silent", version: "0.0.0", prepare: async () => {} } as const;
    const server = await startServer(settings, start);
    t.after(() => server.stop());
    return commandsAt(server.url);
  },
};

function commandsAt(FX_URL: string): Fx {
  return (command, stdin = "", columns?) =>
    runHere(command.split(" "), {
      env: { FX_URL, FX_RATES: "demo" },
      stdin,
      ...(columns !== undefined && { columns }),
    });
}

/** What a command printed, once it has ended with exit 0 and nothing on stderr. */
export async function result(ran: Promise<Ran>): Promise<string> {
  const { stdout, stderr, exit } = await ran;
  assert.deepEqual([stderr, exit], ["", 0]);
  return stdout;
}

/** The document that a command printed. */
export const documentOf = async (ran: Promise<Ran>) => JSON.parse(await result(ran));
