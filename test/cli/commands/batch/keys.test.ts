import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import { openBatch } from "../../../../src/cli/commands/batch/file.ts";
import { Rejects } from "../../../../src/cli/commands/batch/rejects.ts";
import { BatchRunner, type LineResult } from "../../../../src/cli/commands/batch/runner.ts";
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

/** The form of a key that fx gives to a line, up to `:2`. */
const derived = /^b[\w-]{19}/;

const accounts = 3;
const order: fc.Arbitrary<Order> = fc.record({
  account: fc.integer({ min: 0, max: accounts - 1 }),
  cents: fc.integer({ min: 1, max: 4 }),
});
const form = fc.constantFrom("csv" as const, "ndjson" as const);
type Form = "csv" | "ndjson";

/** The same orders, or deposits, written otherwise: spaces, zeros, cases, and a column that fx does not know. */
function written(form: Form, orders: readonly Order[], spelling = 0, asked: Asked = "orders"): string {
  const [from, usd] = spelling % 2 === 0 ? ["PLN", "USD"] : ["pln", "usd"];
  const header = asked === "orders" ? "pesel,from,to,toBuy,remark" : "kind,pesel,currency,amount,remark";
  const lines = orders.map(({ account, cents }, index) => {
    const amount = `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}${spelling > 1 ? "00" : ""}`;
    const pesel = adult(account);
    if (form === "csv") {
      const cells = asked === "orders" ? `${pesel}, ${from},${usd}` : `deposit,${pesel}, ${usd}`;
      return `${cells},${amount},${spelling > 0 ? `remark ${index}` : ""}`;
    }
    if (asked === "deposits")
      return `{"kind":"deposit", "pesel":"${pesel}","currency":"${usd}","amount":${amount}}`;
    return `{ "pesel":"${pesel}","toBuy":${amount}, "from":"${from}","to":"${usd}"}`;
  });
  return `${[...(form === "csv" ? [header] : []), ...lines].join("\n")}\n`;
}
type Asked = "orders" | "deposits";

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
      service,
      /** Runs a file of this content. */
      run: async (content: string, id?: string, rejectsPath?: string): Promise<LineResult[]> => {
        writeFileSync(path, content);
        const batch = await openBatch(path, Readable.from([]), id);
        const rejects = rejectsPath === undefined ? undefined : new Rejects(rejectsPath, batch.format.header);
        const results: LineResult[] = [];
        for await (const some of new BatchRunner({ service, batch, today, dryRun: false }).results()) {
          results.push(...some);
        }
        for (const result of results) {
          if (result.state === "refused") rejects?.add(result.line.forRejects(result.failure.code));
        }
        rejects?.close();
        return results;
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
  for (const asked of ["orders", "deposits"] as const)
    test(`The lines of ${asked}, moved, deleted, added, corrected and written differently, are done once each under one id`, async (t) => {
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
          await run(written("csv", first, 0, asked), "b");
          for (const { order, keep, added, form, spelling } of edits) {
            const kept = (versions.at(-1) ?? []).filter(() => keep.next().value);
            const moved = [...kept, ...added]
              .map((one) => [order.next().value ?? 0, one] as const)
              .sort(([a], [b]) => a - b)
              .map(([, one]) => one);
            versions.push(moved);
            await run(written(form, moved, spelling, asked), "b");
          }
          assert.deepEqual(await done(), mostOf(versions));
        }),
        { numRuns: 60 },
      );
    });

  test("The lines of a batch keep the keys that an earlier fx gave them, in whatever form they are written", async (t) => {
    const { run } = await (await desk(t))();
    for (const [key, ...files] of [
      [
        "b4bCutdIwwaogJxhwBHS",
        "pesel;from;to;toBuy\n80010112340;pln;EUR;10,00",
        '{"pesel":"80010112340","from":"PLN","to":"EUR","toBuy":10}',
      ],
      [
        "b4bC-RyVcu286wCDRykR",
        "name,surname,pesel,pln\nMaria,Zielińska,44051401359,500.0",
        '{"name":" Maria","surname":"Zielińska","pesel":"44051401359","initial":500}',
      ],
      [
        "b4bChKmyQj_3_8j-vr3s",
        "kind,pesel,amount,currency,note\ndeposit,80010112340,10,pln,a",
        '{"kind":"deposit","pesel":"80010112340","amount":10.0,"currency":"PLN","note":"a"}',
      ],
    ] as const) {
      for (const file of files) {
        const [result] = await run(`${file}\n`, "b7");
        assert.equal(result?.line.key, key, file);
      }
    }
  });

  test("Lines that differ only in their kind or note have different keys", async (t) => {
    const { run } = await (await desk(t))();
    const cash = { kind: "deposit", pesel: adult(), amount: 1, currency: "PLN" };
    const lines = [
      cash,
      { ...cash, note: "a" },
      { ...cash, note: "b" },
      { ...cash, kind: "withdrawal" },
      cash,
    ];
    const results = await run(lines.map((line) => JSON.stringify(line)).join("\n"), "b");
    const keys = results.map(({ line, state }) => [line.key.slice(20), state]);
    assert.deepEqual(keys, [...Array(4).fill(["", "done"]), [":2", "done"]]);
    assert.equal(new Set(results.map(({ line }) => line.key)).size, 5);
  });

  test("A line that may still be done under its key keeps it among the rejects", async (t) => {
    const { run, rejects } = await (await desk(t))();
    const body = { pesel: adult(), from: "PLN", to: "USD", toBuy: 1 };
    const file = rejects();
    const lines = [
      { ...body, table: "001/C/NBP/2099" },
      { ...body, toBuy: 1e6 },
    ];
    const results = await run(`${lines.map((line) => JSON.stringify(line)).join("\n")}\n`, "b", file);
    assert.deepEqual(
      results.map((result) => "failure" in result && result.failure.code),
      ["rate-changed", "insufficient-funds"],
    );
    const keys = readFileSync(file, "utf8").trim().split("\n");
    assert.equal(JSON.parse(keys[0] ?? "").key, results[0]?.line.key);
    assert.match(JSON.parse(keys[1] ?? "").key, /^again:/);
  });

  test("Lines under another id are all done again", async (t) => {
    const { run, done } = await (await desk(t))();
    const orders = [{ account: 0, cents: 1 }];
    for (const id of [undefined, undefined, "a", "b", "a"]) await run(written("csv", orders), id);
    assert.equal((await done()).length, 3);
  });

  test("The lines of a batch have the key that they name", async (t) => {
    const { run } = await (await desk(t))();
    const body = { pesel: adult(), from: "PLN", to: "USD", toBuy: 1 };
    const inJson = [
      { key: "k1", ...body },
      body,
      { ...body, key: "k1" },
      { ...body, key: 7 },
      { ...body, key: "a b" },
    ];
    const keys = (results: readonly LineResult[]) =>
      results.map(({ line: { key }, state }) => [key.replace(derived, "b"), state]);
    const expected = [
      ["k1", "done"],
      ["b", "done"],
      ["k1", "replayed"],
    ];
    const json = keys(await run(inJson.map((one) => JSON.stringify(one)).join("\n"), "b"));
    assert.deepEqual(json, [...expected, ["b:2", "refused"], ["b:3", "refused"]]);
    const rows = ["k1", "", "k1", "a b"].map((key) => `${key},${adult(1)},PLN,USD,1`);
    assert.deepEqual(keys(await run(["key,pesel,from,to,toBuy", ...rows].join("\n"), "b")), [
      ...expected,
      ["b:2", "refused"],
    ]);
  });

  test("The lines of a batch have a key, and their PESEL where it can be read, when they are refused too", async (t) => {
    const { run } = await (await desk(t))();
    const lines = ["nonsense", `12345678901,PLN,USD,1`, `${adult()},PLN,PLN,1`, "nonsense"];
    const results = await run(["pesel,from,to,toBuy", ...lines].join("\n"), "b");
    assert.deepEqual(
      results.map(({ line: { number, pesel } }) => [number, pesel]),
      [
        [2, null],
        [3, "12345678901"],
        [4, adult()],
        [5, null],
      ],
    );
    assert.equal(new Set(results.map(({ line }) => line.key)).size, 4);
    assert.ok(results.every(({ line, state }) => state === "refused" && derived.test(line.key)));
  });
});

describe("refused lines", () => {
  test("Refused lines are written in the form of their file, with all their fields and a new key each", async (t) => {
    const { run, rejects } = await (await desk(t))();
    const order = `${adult()},PLN,USD,99999`;
    const csv = await (async () => {
      const path = rejects();
      await run(
        [
          "pesel,from,to,toBuy,my note",
          `${order},"a, ""b"""`,
          `${adult()},PLN,USD,1,`,
          `${order},`,
          'x,"y',
          "a,b",
        ].join("\n"),
        "b",
        path,
      );
      return readFileSync(path, "utf8").replaceAll(/again:[\w-]{16}/g, "KEY");
    })();
    assert.equal(
      csv,
      [
        "pesel,from,to,toBuy,my note,key",
        `${order},"a, ""b""",KEY`,
        `${order},,KEY`,
        '"x,""y",,,,,KEY',
        '"a,b",,,,,KEY',
        "",
      ].join("\n"),
    );
    const path = rejects();
    const numbers = '"toBuy": 1.00000000000000000001 }';
    await run(
      [`{"key":"k","pesel":1}`, `{"pesel":"x", ${numbers}`, "{}", '{"a', "[1]", `{"\\u006bey":"k"}`].join(
        "\n",
      ),
      "b",
      path,
    );
    assert.equal(
      readFileSync(path, "utf8").replaceAll(/again:[\w-]{16}/g, "KEY"),
      [
        '{"key":"KEY","pesel":1}',
        `{"key":"KEY","pesel":"x", ${numbers}`,
        '{"key":"KEY"}',
        '{"key":"KEY","line":"{\\"a"}',
        '{"key":"KEY","line":"[1]"}',
        '{"key":"KEY"}',
        "",
      ].join("\n"),
    );
  });

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
