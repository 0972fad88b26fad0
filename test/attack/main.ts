/**
 * Attacks servers on loopback as a hostile client could, and prints what came of it: `npm run attack`, or of the
 * attacks only those that are named. FX_ATTACK_COMMAND is another build of fx to attack. Fails if a row does not hold.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { printTable, row } from "../../bench/report.ts";
import type { Attack } from "./attack.ts";
import * as connections from "./connections.ts";
import * as load from "./load.ts";

const attacks: Readonly<Record<string, Attack>> = { ...connections, ...load };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: "string", default: "8" } },
});
const unknown = positionals.find((name) => !(name in attacks));
if (unknown !== undefined) {
  throw new Error(`There is no attack ${unknown}. There are ${Object.keys(attacks).join(", ")}.`);
}

const folder = mkdtempSync(join(tmpdir(), "fx-attack-"));
let failed = 0;
try {
  printTable(["tried", "must be", "seen", ""]);
  for (const [name, attack] of Object.entries(attacks)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    try {
      for await (const { tried, mustBe, seen, holds } of attack({
        folder,
        seconds: Number(values.seconds),
      })) {
        row(tried, mustBe, seen, holds ? "holds" : "**fails**");
        if (!holds) failed += 1;
      }
    } catch (error) {
      row(name, "runs to its end", String(error), "**fails**");
      failed += 1;
    }
  }
} finally {
  rmSync(folder, { recursive: true });
}
// What an attack has left open would keep the process.
process.exit(failed === 0 ? 0 : 1);
