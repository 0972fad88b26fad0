import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { demoTables } from "../../src/rates/recorded.ts";
import { tablesOf } from "../../src/rates/source.ts";
import { adult } from "../support/fixture.ts";
import { type Ran, runFx, type Served, type Surroundings, startFx } from "../support/run-fx.ts";

const folder = mkdtempSync(join(tmpdir(), "fx-commands-"));
after(() => rmSync(folder, { recursive: true }));

const jan = adult(0);
const anna = adult(1);
const masked = (pesel: string) => `${pesel.slice(0, 6)}*****`;
/** Exchanges at the demo's table in force, 069/C/NBP/2022: USD 4.2113 and 4.2963, EUR 4.5962 and 4.6890. */
const table = "069/C/NBP/2022";
const tableId = tablesOf("demo", demoTables()).at(-1)?.id;

/** The same commands, with the same output, on a store in the command's process and on a server. */
for (const place of ["embedded", "remote"] as const) {
  describe(`commands, ${place}`, () => {
    let server: Served | undefined;
    let env: Record<string, string>;
    before(async () => {
      if (place === "remote") server = await startFx(["--rates", "demo"]);
      env = { FX_URL: server?.url ?? `sqlite:${join(folder, "fx.db")}`, FX_RATES: "demo" };
    });
    after(() => server?.stop());
    const fx = (args: string, surroundings: Surroundings = {}): Promise<Ran> =>
      runFx(args.split(" "), { ...surroundings, env: { ...env, ...surroundings.env } });

    test("account create opens an account and shows it, the PESEL masked", async () => {
      const { stdout, stderr, exit } = await fx(
        `account create ${jan} --name Jan --surname Kowalski --pln 1000`,
      );
      assert.equal(stdout, `holder\tJan Kowalski\npesel\t${masked(jan)}\nPLN\t1000.00\n`);
      assert.deepEqual([stderr, exit], ["", 0]);
    });

    test("account create of a taken PESEL is exit 5", async () => {
      const { stdout, stderr, exit } = await fx(`account create ${jan} --name Jan --surname Nowak --pln 5`);
      assert.deepEqual([stdout, exit], ["", 5]);
      assert.match(stderr, /^fx: This PESEL already has an account\./);
    });

    test("account create with a key is not done twice", async () => {
      const create = `account create ${anna} --name Anna --surname Nowak --pln 10.5 --key open-1 --json`;
      const first = JSON.parse((await fx(create)).stdout);
      const account = {
        name: "Anna",
        surname: "Nowak",
        pesel: anna,
        currencies: [{ symbol: "PLN", amount: 10.5 }],
      };
      assert.deepEqual(first, { ...account, key: "open-1", replayed: false });
      assert.deepEqual(JSON.parse((await fx(create)).stdout), { ...first, replayed: true });
    });

    test("quote says what an exchange comes to", async () => {
      const { stdout } = await fx("quote --from pln --to usd --to-buy 100");
      assert.equal(
        stdout,
        `sold\t429.63 PLN\nbought\t100.00 USD\nask\t4.2963 PLN for 1 USD\ntable\t${table} of 2022-04-08\nsource\tdemo\n`,
      );
      const { stdout: json } = await fx("quote --from USD --to EUR --to-sell 100 --json");
      assert.deepEqual(JSON.parse(json), {
        side: "toSell",
        sold: { symbol: "USD", amount: 100 },
        bought: { symbol: "EUR", amount: 89.81 },
        bid: 4.2113,
        ask: 4.689,
        table,
        tableId,
        source: "demo",
        effectiveDate: "2022-04-08",
        rate: 0.898123,
      });
    });

    test("exchange --dry-run is the quote, and moves nothing", async () => {
      const { stdout } = await fx(`exchange ${jan} --from PLN --to USD --to-buy 100 --dry-run`);
      assert.equal(stdout, (await fx("quote --from PLN --to USD --to-buy 100")).stdout);
      assert.match((await fx(`account show ${jan}`)).stdout, /\nPLN\t1000\.00\n$/);
    });

    test("exchange in a pipe goes through as written, and nothing is asked", async () => {
      const { stdout, stderr, exit } = await fx(`exchange ${jan} --from PLN --to USD --to-buy 100`);
      assert.match(
        stdout,
        /^sold\t429\.63 PLN\nbought\t100\.00 USD\nask\t4\.2963 PLN for 1 USD\ntable\t069\/C\/NBP\/2022 of 2022-04-08\nreceipt\t[0-9a-f-]{36}\nPLN\t570\.37\nUSD\t100\.00\n$/,
      );
      assert.deepEqual([stderr, exit], ["", 0]);
    });

    test("exchange --json is the account, with the receipt's id and the key", async () => {
      const order = `exchange ${jan} --from USD --to PLN --to-sell 10.10 --key sell-1 --json`;
      const { receipt, ...answer } = JSON.parse((await fx(order)).stdout);
      assert.deepEqual(answer, {
        name: "Jan",
        surname: "Kowalski",
        pesel: jan,
        currencies: [
          { symbol: "PLN", amount: 612.9 },
          { symbol: "USD", amount: 89.9 },
        ],
        key: "sell-1",
        replayed: false,
      });
      const again = JSON.parse((await fx(order)).stdout);
      assert.deepEqual(again, { receipt, ...answer, replayed: true });
      const shown = JSON.parse((await fx(`receipt ${receipt} --json`)).stdout);
      assert.deepEqual([shown.kind, shown.id, shown.key, shown.bid], ["exchange", receipt, "sell-1", 4.2113]);
    });

    test("exchange --table at another table than the one in force is exit 3, and nothing moves", async () => {
      const { stderr, exit } = await fx(
        `exchange ${jan} --from USD --to PLN --to-sell 1 --table 001/C/NBP/2022 --json`,
      );
      assert.equal(exit, 3);
      assert.deepEqual(JSON.parse(stderr), {
        code: "rate-changed",
        message: `Table ${table} is in force now. Ask for a quote and order again.`,
        hint: "fx quote has the table in force.",
        exit: 3,
      });
    });

    test("exchange with the key of a refused order is refused again, and says that a new key asks again", async () => {
      const order = `exchange ${jan} --from USD --to PLN --to-sell 5000 --key refused --json`;
      const [first, again] = [JSON.parse((await fx(order)).stderr), JSON.parse((await fx(order)).stderr)];
      assert.equal(first.code, "insufficient-funds");
      const hint = "This is the answer that this key was given before. A new key asks again.";
      assert.deepEqual(again, { ...first, hint, replayed: true });
    });

    test("receipt shows one exchange, the PESEL masked", async () => {
      const [entry] = JSON.parse((await fx(`account history ${jan} --json --limit 1`)).stdout);
      const { stdout } = await fx(`receipt ${entry.id}`);
      assert.match(
        stdout,
        new RegExp(`^receipt\t${entry.id}\ntime\t${entry.time}\npesel\t\\d{6}\\*{5}\nsold\t10\\.10 USD\n`),
      );
    });

    test("account history is newest first, and --limit takes fewer", async () => {
      const { stdout } = await fx(`account history ${jan}`);
      const rows = stdout
        .trimEnd()
        .split("\n")
        .map((line) => line.split("\t"));
      assert.deepEqual(
        rows.map(([sequence, , sold, bought]) => [sequence, sold, bought]),
        [
          ["3", "10.10 USD", "42.53 PLN"],
          ["2", "429.63 PLN", "100.00 USD"],
          ["1", "", "1000.00 PLN"],
        ],
      );
      assert.equal((await fx(`account history ${jan} --limit 2`)).stdout.split("\n").length, 3);
    });

    test("account list has all accounts, as rows and as one JSON array", async () => {
      const { stdout } = await fx("account list");
      assert.deepEqual(
        stdout.trimEnd().split("\n").sort(),
        [
          `${masked(jan)}\tJan\tKowalski\t612.90 PLN, 89.90 USD`,
          `${masked(anna)}\tAnna\tNowak\t10.50 PLN`,
        ].sort(),
      );
      const listed = JSON.parse((await fx("account list --json")).stdout);
      assert.deepEqual(listed.map(({ pesel }: { pesel: string }) => pesel).sort(), [jan, anna].sort());
    });

    test("a PESEL can come from standard input", async () => {
      const { stdout } = await fx("account show - --json", { stdin: `${jan}\n` });
      assert.equal(JSON.parse(stdout).pesel, jan);
      const { stderr, exit } = await fx("account show -");
      assert.deepEqual([stderr.split("\n")[0], exit], ["fx: There is no PESEL on standard input.", 2]);
    });

    test("rates are the table in force, with the change against the one before", async () => {
      const { stdout } = await fx("rates");
      assert.ok(stdout.includes(`USD\t4.2113\t4.2963\t-0.05\t${table}\t2022-04-08\tdolar amerykański\n`));
      const json = JSON.parse((await fx("rates show --json")).stdout);
      assert.deepEqual([json.table, json.previous.table, json.source], [table, "068/C/NBP/2022", "demo"]);
    });

    test("rates history is one currency, table by table", async () => {
      const { stdout } = await fx("rates history usd --days 2");
      assert.equal(
        stdout,
        `2022-04-07\t4.2133\t4.2985\t068/C/NBP/2022\n2022-04-08\t4.2113\t4.2963\t${table}\n`,
      );
      const { symbol, rates } = JSON.parse((await fx("rates history USD --json")).stdout);
      assert.deepEqual([symbol, rates.length], ["USD", 65]);
    });

    test("position is what customers hold and where the house stands", async () => {
      const { stdout } = await fx("position");
      assert.equal(stdout, "PLN\t623.40\t387.10\nUSD\t89.90\t-89.90\nspread earned\t4.68 PLN\n");
      const { currencies, spreadEarned } = JSON.parse((await fx("position --json")).stdout);
      assert.deepEqual(currencies[1], { symbol: "USD", customers: "89.90", house: "-89.90" });
      assert.deepEqual(spreadEarned, { symbol: "PLN", amount: "4.68" });
    });

    test("audit finds nothing, and is exit 0", async () => {
      const { stdout, exit } = await fx("audit");
      assert.deepEqual([stdout, exit], ["accounts\t2\nentries\t4\nfindings\t0\n", 0]);
      assert.equal(JSON.parse((await fx("audit --json")).stdout).ok, true);
    });

    const refusals: [command: string, code: string, exit: number][] = [
      [`account show ${adult(2)}`, "account-not-found", 4],
      ["account show 44051401358", "invalid-pesel", 3],
      [`account create 44051401358 --name A --surname B --pln 1`, "invalid-pesel", 3],
      [`account create ${adult(2)} --name A --surname B --pln 1.001`, "invalid-amount", 3],
      ["receipt nothing", "not-found", 4],
      [`exchange ${jan} --from PLN --to pln --to-buy 1`, "same-currency", 3],
      [`exchange ${jan} --from PLN --to ABC --to-buy 1`, "unsupported-currency", 3],
      [`exchange ${jan} --from PLN --to USD --to-buy 0`, "invalid-amount", 3],
      [`exchange ${jan} --from PLN --to USD --to-buy 1000`, "insufficient-funds", 3],
      [`exchange ${jan} --from PLN --to USD --to-sell 0.01`, "amount-too-small", 3],
      [`exchange ${adult(2)} --from PLN --to USD --to-buy 1`, "account-not-found", 4],
      [`exchange ${jan} --from USD --to PLN --to-sell 11 --key sell-1`, "idempotency-key-reused", 3],
      ["rates history PLN", "unsupported-currency", 3],
    ];
    for (const [command, code, exit] of refusals) {
      const name = command.replaceAll(/\d{11}/g, "PESEL");
      test(`${name} is ${code}, exit ${exit}`, async () => {
        const ran = await fx(`${command} --json`);
        const told = JSON.parse(ran.stderr);
        assert.deepEqual([ran.stdout, told.code, told.exit, ran.exit], ["", code, exit, exit]);
        if (place === "remote") return;
        const text = await fx(command);
        assert.ok(text.stderr.startsWith(`fx: ${told.message}\n`));
        assert.ok(!/\d{11}/.test(text.stderr));
      });
    }
  });
}
