import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import { openBatch } from "../../../../src/cli/commands/batch/file.ts";
import { Rejects } from "../../../../src/cli/commands/batch/rejects.ts";
import { BatchRunner } from "../../../../src/cli/commands/batch/runner.ts";
import { formatMoney } from "../../../../src/core/money.ts";
import { LedgerService } from "../../../../src/ledger/service.ts";
import { openSqlite } from "../../../../src/sqlite/store.ts";
import { adult, opening, today, tradedRates } from "../../../support/fixture.ts";
import { newFolder } from "../../../support/folder.ts";

/** A line of a file: its account, and the US cents that it buys. There is not enough money for more than 90. */
interface Order {
  readonly account: number;
  readonly cents: number;
}

const accounts = 3;
const order: fc.Arbitrary<Order> = fc.record({
  account: fc.integer({ min: 0, max: accounts - 1 }),
  cents: fc.integer({ min: 1, max: 4 }),
});
const form = fc.constantFrom("csv" as const, "ndjson" as const);
type Form = "csv" | "ndjson";

/** The same orders written otherwise: spaces, zeros, cases, and a column that fx does not know. */
function written(form: Form, orders: readonly Order[], spelling = 0): string {
  const [from, usd] = spelling % 2 === 0 ? ["PLN", "USD"] : ["pln", "usd"];
  const lines = orders.map(({ account, cents }, index) => {
    const amount = `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}${spelling > 1 ? "00" : ""}`;
    const pesel = adult(account);
    if (form === "csv") return `${pesel}, ${from},${usd},${amount},${spelling > 0 ? `remark ${index}` : ""}`;
    return `{ "pesel":"${pesel}","toBuy":${amount}, "from":"${from}","to":"${usd}"}`;
  });
  return `${[...(form === "csv" ? ["pesel,from,to,toBuy,remark"] : []), ...lines].join("\n")}\n`;
}

/** A ledger in memory with accounts, and a folder to run files from. */
async function desk(t: TestContext) {
  const folder = newFolder(t);
  return async () => {
    const store = openSqlite(":memory:");
    const service = new LedgerService(store, await tradedRates(store));
    for (let index = 0; index < accounts; index += 1) {
      await service.createAccount(opening({ index, pln: "1000" }));
    }
    const path = join(folder, "orders");
    return {
      /** Runs a file of this content. */
      run: async (content: string, id?: string, rejectsPath?: string): Promise<void> => {
        writeFileSync(path, content);
        const batch = await openBatch(path, Readable.from([]), id);
        const rejects = rejectsPath === undefined ? undefined : new Rejects(rejectsPath, batch.format.header);
        for await (const results of new BatchRunner({ service, batch, today, dryRun: false }).results()) {
          for (const result of results) {
            if (result.state === "refused") rejects?.add(result.line.forRejects(result.failure.code));
          }
        }
        rejects?.close();
      },
      rejects: () => {
        const file = join(folder, "rejects");
        rmSync(file, { force: true });
        return file;
      },
      /** The requests that were carried out, sorted. */
      done: async () => {
        const all: string[] = [];
        for (let index = 0; index < accounts; index += 1) {
          const { items } = await service.statement(adult(index), { limit: 1000 });
          for (const entry of items) {
            const { kind, credited } = entry;
            if (kind !== "opening" && credited) all.push(`${index} ${formatMoney(credited)}`);
          }
        }
        return all.sort();
      },
    };
  };
}

const texts = (orders: readonly Order[]) =>
  orders.map(({ account, cents }) => `${account} 0.0${cents} USD`).sort();

/** Each order as often as in the version of the file that has it most often. */
function mostOf(versions: readonly (readonly Order[])[]): string[] {
  const most = new Map<string, number>();
  for (const version of versions) {
    const counts = new Map<string, number>();
    for (const text of texts(version)) counts.set(text, (counts.get(text) ?? 0) + 1);
    for (const [text, count] of counts) most.set(text, Math.max(count, most.get(text) ?? 0));
  }
  return [...most].flatMap(([text, count]) => Array<string>(count).fill(text)).sort();
}

describe("the lines of a batch", () => {
  test("The lines of a batch, moved, deleted, added, corrected and written differently, are done once each under one id", async (t) => {
    const open = await desk(t);
    const file = fc.array(order, { maxLength: 12 });
    const edit = fc.record({
      order: fc.infiniteStream(fc.nat()),
      keep: fc.infiniteStream(fc.boolean()),
      added: fc.array(order, { maxLength: 3 }),
      form,
      spelling: fc.nat(2),
    });
    await fc.assert(
      fc.asyncProperty(file, fc.array(edit, { maxLength: 4 }), async (first, edits) => {
        const { run, done } = await open();
        const versions = [first];
        await run(written("csv", first), "b");
        for (const { order, keep, added, form, spelling } of edits) {
          const kept = (versions.at(-1) ?? []).filter(() => keep.next().value);
          const moved = [...kept, ...added]
            .map((one) => [order.next().value ?? 0, one] as const)
            .sort(([a], [b]) => a - b)
            .map(([, one]) => one);
          versions.push(moved);
          await run(written(form, moved, spelling), "b");
        }
        assert.deepEqual(await done(), mostOf(versions));
      }),
      { numRuns: 60 },
    );
  });
});

describe("refused lines", () => {
  test("Refused lines corrected and run, twice, and rejected anew, are done once each, and none is lost", async (t) => {
    const open = await desk(t);
    const orders = fc.array(
      fc.record({
        ...{ account: fc.integer({ min: 0, max: accounts - 1 }), cents: fc.integer({ min: 1, max: 4 }) },
        bad: fc.boolean(),
      }),
      {
        minLength: 1,
        maxLength: 12,
      },
    );
    await fc.assert(
      fc.asyncProperty(orders, form, async (lines, form) => {
        const { run, rejects, done } = await open();
        const asked = lines.map(({ account, cents, bad }) => ({
          account,
          cents: bad ? cents + 900_000_00 : cents,
        }));
        const content = written(form, asked);
        const correct = (text: string) => text.replaceAll(/900000\.0/g, "0.0");
        const path = rejects();
        await run(content, "b", path);
        const refused = lines.filter(({ bad }) => bad).length;
        assert.equal(existsSync(path), refused > 0);
        if (refused === 0) return;
        const first = readFileSync(path, "utf8");
        // The batch once more writes the same file again, so that correcting it twice does nothing twice.
        await run(content, "b", rejects());
        assert.equal(readFileSync(path, "utf8"), first);
        assert.equal(new Set(first.match(/again:[\w-]{16}/g)).size, refused);
        for (let times = 0; times < 2; times += 1) await run(correct(first));
        await run(correct(first), "under another id");
        assert.deepEqual(await done(), texts(lines));
      }),
      { numRuns: 40 },
    );
  });
});
