import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import { type Fx, places, result } from "../support/places.ts";
import { maskVolatile } from "../support/volatile.ts";

/**
 * The output of commands in a pipe, the same on a store in the command's process and on a server. commands.txt has each
 * case on an empty ledger: commands with % prepare it, those with $ are shown. `<id 1>` is the first id of the case,
 * `<id 1:8>` its first 8 characters and `<ID 1:8>` those in capitals. TRANSCRIPTS_WRITE=1 writes the file anew, to be
 * read before it is kept.
 */
const file = new URL("commands.txt", import.meta.url);
const cases = readFileSync(file, "utf8").split(/^(?=# )/m);
/** The days that an export has beside the times. */
const days = /(?<=<time>(,|","date":"))\d{4}-\d\d-\d\d/g;
const idsIn = (text: string) => text.match(/\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}\b/g) ?? [];

/** The case, played anew. */
async function played(fx: Fx, recorded: string): Promise<string> {
  const ids: string[] = [];
  const numbered = (text: string) => {
    ids.push(...new Set(idsIn(text).filter((id) => !ids.includes(id))));
    return ids.reduce((told, id, index) => told.replaceAll(id, `<id ${index + 1}>`), text);
  };
  let transcript = recorded.slice(0, recorded.indexOf("\n") + 1);
  for (const [shown, how = "", line = ""] of recorded.matchAll(/^([$%]) (.*)$/gm)) {
    const asked = line.replace(/<(id) (\d+)(?::(\d+))?>/i, (_, name: string, nth: string, length = "36") => {
      const id = (ids[Number(nth) - 1] ?? assert.fail(shown)).slice(0, Number(length));
      return name === "ID" ? id.toUpperCase() : id;
    });
    const [, stdin, command = "", isSorted] = /^(?:echo (\S+) \| )?fx ?(.*?)( \| sort)?$/.exec(asked) ?? [];
    const ran = await fx(command, stdin);
    transcript += `${shown}\n`;
    if (how === "%") {
      assert.equal(ran.exit, 0, ran.stderr);
      continue;
    }
    const stdout = isSorted
      ? ran.stdout
          .split(/(?<=\n)/)
          .sort()
          .join("")
      : ran.stdout;
    const stderr = ran.stderr.replace(/^(?=.)/gm, "! ");
    const told = maskVolatile(numbered(stdout + stderr)).replaceAll(days, "<date>");
    transcript += `${told}[exit ${ran.exit}]\n`;
  }
  return `${transcript}\n`;
}

for (const [place, openLedger] of Object.entries(places)) {
  describe(`commands, ${place}`, () => {
    for (const recorded of cases) {
      test(recorded.slice(2, recorded.indexOf("\n")), async (t) => {
        const now = await played(await openLedger(t), recorded);
        if (process.env.TRANSCRIPTS_WRITE) {
          writeFileSync(
            file,
            readFileSync(file, "utf8").replace(recorded, () => now),
          );
        } else {
          assert.equal(now, recorded);
        }
      });
    }

    test("A terminal asks nothing about what was done with the key before, even if it is not possible again", async (t) => {
      const fx = await openLedger(t);
      await result(fx("account create 80010112340 --name Jan --surname Kowalski --pln 1000"));
      const withdraw = "account withdraw 80010112340 --amount 1000 --currency PLN --key w-1";
      await result(fx(withdraw));
      const { stdout, exit } = await fx(withdraw, "", 80);
      assert.match(stdout, /^This key was used before\. .* nothing was done again\.\n/);
      assert.ok(!stdout.includes("[y/N]"));
      assert.equal(exit, 0);
    });
  });
}
