import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { newFolder } from "./folder.ts";
import type { Ran } from "./run-fx.ts";
import { runHere, serveHere } from "./run-here.ts";

/** Runs `fx …` with this standard input, or at a terminal of this width where nobody types. */
export type Fx = (command: string, stdin?: string, columns?: number) => Promise<Ran>;

/** Opens an empty ledger for one test, at the demo's rates, and returns a function that runs commands on it. */
type OpenLedger = (t: TestContext) => Promise<Fx>;

export const places: Readonly<Record<string, OpenLedger>> = {
  embedded: async (t) => {
    const folder = newFolder(t);
    return commandsAt(`sqlite:${join(folder, "fx.db")}`);
  },
  remote: async (t) => {
    const server = await serveHere({ FX_RATES: "demo" });
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

/** Standard output of a command that exits with 0 and an empty stderr. */
export async function result(ran: Promise<Ran>): Promise<string> {
  const { stdout, stderr, exit } = await ran;
  assert.deepEqual([stderr, exit], ["", 0]);
  return stdout;
}

/** The JSON document that a command prints. */
export const documentOf = async (ran: Promise<Ran>) => JSON.parse(await result(ran));
