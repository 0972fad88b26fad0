import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { demoTables } from "../../src/rates/recorded.ts";
import { tablesOf } from "../../src/rates/source.ts";
import { adult } from "../support/fixture.ts";
import { documentOf, places, prepared, result } from "../support/places.ts";

const jan = adult(0);
const anna = adult(1);
const masked = (pesel: string) => `${pesel.slice(0, 6)}*****`;
/** Exchanges at the demo's table in force, 069/C/NBP/2022: USD 4.2113 and 4.2963, EUR 4.5962 and 4.6890. */
const table = "069/C/NBP/2022";
const tableId = tablesOf("demo", demoTables()).at(-1)?.id;

/** The same commands, with the same output, on a store in the command's process and on a server. */
for (const [place, openLedger] of Object.entries(places)) {
  /** A ledger with the account of Jan, who has 1000 PLN. */
  const withJan = prepared(openLedger, `account create ${jan} --name Jan --surname Kowalski --pln 1000`);

  /** A ledger on which Jan has bought 100.00 USD for 429.63 PLN, with the key buy-1. */
  const withDollars = prepared(withJan, `exchange ${jan} --from PLN --to USD --to-buy 100 --key buy-1`);

  describe(`commands, ${place}`, () => {
    test("account create opens an account and shows it, the PESEL masked", async (t) => {
      const fx = await openLedger(t);
      const stdout = await result(fx(`account create ${jan} --name Jan --surname Kowalski --pln 1000`));
      assert.equal(stdout, `holder\tJan Kowalski\npesel\t${masked(jan)}\nPLN\t1000.00\n`);
    });

    test("account create with a key is not done twice", async (t) => {
      const fx = await openLedger(t);
      const create = `account create ${anna} --name Anna --surname Nowak --pln 10.5 --key open-1 --json`;
      const first = await documentOf(fx(create));
      const account = {
        name: "Anna",
        surname: "Nowak",
        pesel: anna,
        currencies: [{ symbol: "PLN", amount: 10.5 }],
      };
      const { receipt } = first;
      assert.deepEqual(first, { ...account, receipt, key: "open-1", replayed: false });
      assert.deepEqual(await documentOf(fx(create)), { ...first, replayed: true });
    });

    test("a request that was done before is shown, and stderr says so", async (t) => {
      const fx = await withDollars(t);
      const { stdout, stderr, exit } = await fx(
        `exchange ${jan} --from PLN --to USD --to-buy 100 --key buy-1`,
      );
      assert.match(stdout, /\nPLN\t570\.37\nUSD\t100\.00\n$/);
      const note = "This key was used before. What was done then is shown; nothing was done again.\n";
      assert.deepEqual([stderr, exit], [note, 0]);
    });

    test("quote says what an exchange comes to", async (t) => {
      const fx = await withJan(t);
      assert.equal(
        await result(fx("quote --from pln --to usd --to-buy 100")),
        `sold\t429.63 PLN\nbought\t100.00 USD\nask\t4.2963 PLN for 1 USD\ntable\t${table} of 2022-04-08\nsource\tdemo\n`,
      );
      assert.deepEqual(await documentOf(fx("quote --from USD --to EUR --to-sell 100 --json")), {
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

    test("exchange --dry-run shows the holder, the quote and the balances, and moves nothing", async (t) => {
      const fx = await withJan(t);
      const stdout = await result(fx(`exchange ${jan} --from PLN --to USD --to-buy 100 --dry-run`));
      const quote = await result(fx("quote --from PLN --to USD --to-buy 100"));
      const holder = `holder\tJan Kowalski\npesel\t${masked(jan)}\n`;
      assert.equal(stdout, `${holder}${quote}PLN\t1000.00\t570.37\nUSD\t0.00\t100.00\n`);
      assert.match(await result(fx(`account show ${jan}`)), /\nPLN\t1000\.00\n$/);
    });

    test("exchange in a pipe goes through as written, and nothing is asked", async (t) => {
      const fx = await withJan(t);
      const stdout = await result(fx(`exchange ${jan} --from PLN --to USD --to-buy 100`));
      assert.match(
        stdout,
        /^sold\t429\.63 PLN\nbought\t100\.00 USD\nask\t4\.2963 PLN for 1 USD\ntable\t069\/C\/NBP\/2022 of 2022-04-08\nreceipt\t[0-9a-f-]{36}\nPLN\t570\.37\nUSD\t100\.00\n$/,
      );
    });

    test("exchange --json is the account, with all that the receipt says, its id and the key", async (t) => {
      const fx = await withDollars(t);
      const order = `exchange ${jan} --from USD --to PLN --to-sell 10.10 --key sell-1 --json`;
      const { receipt, time, ...answer } = await documentOf(fx(order));
      assert.deepEqual(answer, {
        kind: "exchange",
        sequence: 3,
        side: "toSell",
        sold: { symbol: "USD", amount: 10.1 },
        bought: { symbol: "PLN", amount: 42.53 },
        bid: 4.2113,
        ask: null,
        rate: 4.2113,
        table,
        tableId,
        effectiveDate: "2022-04-08",
        reversedBy: null,
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
      assert.deepEqual(await documentOf(fx(order)), { receipt, time, ...answer, replayed: true });
      const shown = await documentOf(fx(`receipt ${receipt} --json`));
      const { replayed: _replayed, ...entry } = answer;
      assert.deepEqual(shown, { id: receipt, time, ...entry });
    });

    test("exchange --table at another table than the one in force is exit 3, and nothing moves", async (t) => {
      const fx = await withDollars(t);
      const before = await result(fx(`account show ${jan}`));
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
      assert.equal(await result(fx(`account show ${jan}`)), before);
    });

    test("exchange with the key of a refused order is refused again, and says that a new key asks again", async (t) => {
      const fx = await withDollars(t);
      const order = `exchange ${jan} --from USD --to PLN --to-sell 5000 --key refused --json`;
      const first = JSON.parse((await fx(order)).stderr);
      assert.equal(first.code, "insufficient-funds");
      const hint = "An earlier request with this key got this answer. To try again, use a new key.";
      assert.deepEqual(JSON.parse((await fx(order)).stderr), { ...first, hint, replayed: true });
    });

    for (const before of ["/api/receipts/", "/fx/api/receipts/", "https://fx.example/fx/api/receipts/"]) {
      test(`receipt takes ${before}ID, as the header Fx-Receipt may have it`, async (t) => {
        const fx = await withDollars(t);
        const { entries } = await documentOf(fx(`account history ${jan} --json --limit 1`));
        const [{ id }] = entries;
        assert.equal((await documentOf(fx(`receipt ${before}${id} --json`))).id, id);
      });
    }

    test("account list has all accounts, as rows and as one JSON array", async (t) => {
      const fx = await withDollars(t);
      await result(fx(`account create ${anna} --name Anna --surname Nowak --pln 10.5`));
      assert.deepEqual(
        (await result(fx("account list"))).trimEnd().split("\n").sort(),
        [
          `${masked(jan)}\tJan\tKowalski\t570.37 PLN, 100.00 USD`,
          `${masked(anna)}\tAnna\tNowak\t10.50 PLN`,
        ].sort(),
      );
      const listed: { pesel: string }[] = await documentOf(fx("account list --json"));
      assert.deepEqual(listed.map(({ pesel }) => pesel).sort(), [jan, anna].sort());
    });

    test("account list --name has those of the name, and says if there are none", async (t) => {
      const fx = await withDollars(t);
      await result(fx(`account create ${anna} --name Anna --surname Żółć --pln 10.5`));
      assert.equal(await result(fx("account list --name zol")), `${masked(anna)}\tAnna\tŻółć\t10.50 PLN\n`);
      const { stdout, stderr, exit } = await fx("account list --name nobody");
      assert.deepEqual([stdout, stderr, exit], ["", "There are no accounts of this name.\n", 0]);
      const refused = await fx("account list --name .");
      assert.deepEqual(
        [refused.stderr.split("\n")[0], refused.exit],
        ["fx: The name must have a letter or a digit.", 3],
      );
    });

    test("a PESEL can come from standard input", async (t) => {
      const fx = await withJan(t);
      assert.equal((await documentOf(fx("account show - --json", `${jan}\n`))).pesel, jan);
      const { stderr, exit } = await fx("account show -");
      assert.deepEqual([stderr.split("\n")[0], exit], ["fx: There is no PESEL on standard input.", 2]);
    });

    test("rates are the table in force, with the change against the one before", async (t) => {
      const fx = await withJan(t);
      const row = `USD\t4.2113\t4.2963\t-0.05\t${table}\t2022-04-08\tdolar amerykański\n`;
      assert.ok((await result(fx("rates"))).includes(row));
      const json = await documentOf(fx("rates show --json"));
      assert.deepEqual([json.table, json.previous.table, json.source], [table, "068/C/NBP/2022", "demo"]);
    });

    test("rates of a misspelt command is exit 2, and names the commands", async (t) => {
      const fx = await openLedger(t);
      const { stderr, exit } = await fx("rates histroy USD");
      assert.deepEqual(
        [stderr, exit],
        ['fx: fx rates has no command "histroy". Its commands: show, history.\n', 2],
      );
    });

    test("rates history is one currency, table by table", async (t) => {
      const fx = await withJan(t);
      assert.equal(
        await result(fx("rates history usd --days 2")),
        `2022-04-07\t4.2133\t4.2985\t068/C/NBP/2022\n2022-04-08\t4.2113\t4.2963\t${table}\n`,
      );
      const { symbol, rates } = await documentOf(fx("rates history USD --json"));
      assert.deepEqual([symbol, rates.length], ["USD", 65]);
    });

    test("position is what customers hold and where the house stands", async (t) => {
      const fx = await withDollars(t);
      assert.equal(
        await result(fx("position")),
        "PLN\t570.37\t429.63\t1000.00\t0.00\nUSD\t100.00\t-100.00\t0.00\t0.00\nspread earned\t4.25 PLN\n",
      );
      const { currencies, spreadEarned } = await documentOf(fx("position --json"));
      assert.deepEqual(currencies[1], { symbol: "USD", customers: 100, house: -100, cash: 0, bank: 0 });
      assert.deepEqual(spreadEarned, { symbol: "PLN", amount: 4.25 });
    });

    test("export is the journal as double entry, of the days that are named", async (t) => {
      const fx = await withDollars(t);
      const lines = (await result(fx("export --format csv"))).trimEnd().split("\n");
      assert.match(lines[1] ?? "", /Assets:Cash,1000\.00,PLN$/);
      assert.ok(lines.some((line) => line.endsWith("Equity:Spread,4.25,PLN")));
      assert.match(lines.at(-1) ?? "", /^end of export: 2 entries,/);
      assert.ok((await result(fx("export --format ndjson --full --from 2020-01-01"))).includes(jan));
      assert.doesNotMatch(await result(fx("export --format ndjson --full --to 2020-01-01")), new RegExp(jan));
    });

    for (const [options, says, exit] of [
      ["--format csv --from 2026-06-02 --to 2026-06-01", "from is after to", 3],
      ["--format csv --at 2999-01-01T00:00:00Z", "at must be at least 10 seconds ago", 3],
      ["--format csv --from 1.6.2026", "is not a date. Write one like 2026-01-31", 2],
      ["--format csv --at 12:00", "is not a date or a time. Write 2026-01-31", 2],
      ["--format xlsx", "Allowed choices are hledger, beancount, csv, ndjson", 2],
      ["", "required option '--format <format>' not specified", 2],
    ] as const) {
      test(`export ${options} prints nothing, says what is wrong, and is exit ${exit}`, async (t) => {
        const fx = await openLedger(t);
        await result(fx(`account create ${jan} --name Jan --surname Kowalski --pln 1000`));
        const ran = await fx(`export ${options}`.trim());
        assert.deepEqual([ran.stdout, ran.exit], ["", exit]);
        assert.ok(ran.stderr.toLowerCase().includes(says.toLowerCase()), ran.stderr);
      });
    }

    test("audit finds nothing, and is exit 0", async (t) => {
      const fx = await withDollars(t);
      assert.match(
        await result(fx("audit")),
        /^accounts\t1\nentries\t2\nfindings\t0\ndigest\t[0-9a-f]{64}\n$/,
      );
      assert.equal((await documentOf(fx("audit --json"))).ok, true);
    });

    const refusals: [command: string, code: string, exit: number][] = [
      [`account show ${adult(2)}`, "account-not-found", 4],
      [`account create ${jan} --name Jan --surname Nowak --pln 5`, "account-exists", 5],
      ["account show 44051401358", "invalid-pesel", 3],
      [`exchange ${jan} --from PLN --to USD --to-buy 1000`, "insufficient-funds", 3],
      [`exchange ${jan} --from PLN --to USD --to-buy 101 --key buy-1`, "idempotency-key-reused", 3],
      ["quote --from PLN --to USD --to-buy 1e308", "balance-limit", 3],
      ["rates history PLN", "unsupported-currency", 3],
    ];
    for (const [command, code, exit] of refusals) {
      const name = command.replaceAll(/\d{11}/g, "PESEL");
      test(`${name} is ${code}, exit ${exit}, as text and with --json`, async (t) => {
        const fx = await withDollars(t);
        const json = await fx(`${command} --json`);
        const told = JSON.parse(json.stderr);
        assert.deepEqual([json.stdout, told.code, told.exit, json.exit], ["", code, exit, exit]);
        const text = await fx(command);
        assert.ok(text.stderr.startsWith(`fx: ${told.message}\n`));
        assert.ok(!/\d{11}/.test(text.stderr));
        assert.deepEqual([text.stdout, text.exit], ["", exit]);
      });
    }
  });
}
