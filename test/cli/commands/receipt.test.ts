import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { adult } from "../../support/fixture.ts";
import { documentOf, type Fx, places, prepared, result } from "../../support/places.ts";

const jan = adult(0);
const usage = "fx: Give the id of a receipt, or --pesel and --key.\n";

for (const [place, openLedger] of Object.entries(places)) {
  /** A ledger on which Jan, who had 1000 PLN, has bought 100.00 USD for 429.63 PLN, with the key buy-1. */
  const withDollars = prepared(
    openLedger,
    `account create ${jan} --name Jan --surname Kowalski --pln 1000`,
    `exchange ${jan} --from PLN --to USD --to-buy 100 --key buy-1`,
  );
  const newestId = async (fx: Fx) =>
    (await documentOf(fx(`account history ${jan} --limit 1 --json`))).entries[0].id;

  describe(`receipts, ${place}`, () => {
    test("receipt takes the beginning of an id", async (t) => {
      const fx = await withDollars(t);
      const id = await newestId(fx);
      const whole = await result(fx(`receipt ${id}`));
      assert.match(whole, /\nkind\texchange\n/);
      for (const text of [id.slice(0, 30), id.toUpperCase(), `show ${id.slice(0, 35)}`]) {
        assert.equal(await result(fx(`receipt ${text}`)), whole);
      }
    });

    test("receipt of the beginning of several ids is refused, and of a shorter one", async (t) => {
      const fx = await withDollars(t);
      const id = await newestId(fx);
      const several = await fx(`receipt ${id.slice(0, 8)}`);
      assert.match(
        several.stderr,
        /^fx: More than one receipt begins like this, such as \S{36} and \S{36}\. Give more of the id\.\n/,
      );
      const short = await fx(`receipt ${id.slice(0, 7)}`);
      assert.match(short.stderr, /^fx: Give at least 8 characters of the id\.\n/);
      assert.deepEqual([several.exit, short.exit], [3, 3]);
    });

    test("receipt finds what was done by its key", async (t) => {
      const fx = await withDollars(t);
      const { id, key } = await documentOf(fx(`receipt --pesel ${jan} --key buy-1 --json`));
      assert.deepEqual([id, key], [await newestId(fx), "buy-1"]);
      assert.match(await result(fx("receipt --key buy-1 --pesel -", `${jan}\n`)), /\nkey\tbuy-1\n/);
    });

    test("receipt of a key that nothing was done with is exit 4", async (t) => {
      const fx = await withDollars(t);
      const { stderr, exit } = await fx(`receipt --pesel ${jan} --key buy-2`);
      assert.match(
        stderr,
        /^fx: The account has no receipt with this key\.\nNo request with it has been done so far\. /,
      );
      assert.equal(exit, 4);
    });

    for (const args of ["", " --key buy-1", ` --pesel ${jan}`, ` 01a1fc0e --pesel ${jan} --key buy-1`]) {
      test(`receipt${args.replace(jan, "…")} is exit 2`, async (t) => {
        const fx = await withDollars(t);
        assert.deepEqual(await fx(`receipt${args}`), { stdout: "", stderr: usage, exit: 2 });
      });
    }

    test("receipt reverse undoes an exchange, and both receipts name each other", async (t) => {
      const fx = await withDollars(t);
      const id = await newestId(fx);
      const told = await result(fx(`receipt reverse ${id} --reason slip`));
      const reversal = await newestId(fx);
      assert.equal(
        told,
        "out\t100.00 USD\nin\t429.63 PLN\ntable\t069/C/NBP/2022 of 2022-04-08\nreason\tslip\n" +
          `reverses\t${id}\nreceipt\t${reversal}\nPLN\t1000.00\nUSD\t0.00\n`,
      );
      assert.match(await result(fx(`receipt ${id}`)), new RegExp(`\nreversed by\t${reversal}\n`));
      assert.match(await result(fx(`receipt ${reversal}`)), new RegExp(`\nreverses\t${id}\n`));
    });

    test("receipt reverse --dry-run shows the receipt and what undoing it comes to, and undoes nothing", async (t) => {
      const fx = await withDollars(t);
      const id = await newestId(fx);
      const told = await result(fx(`receipt reverse ${id} --reason slip --dry-run`));
      assert.ok(told.startsWith(await result(fx(`receipt ${id}`))));
      assert.ok(
        told.endsWith(
          "holder\tJan Kowalski\nout\t100.00 USD\nin\t429.63 PLN\nreason\tslip\nPLN\t570.37\t1000.00\nUSD\t100.00\t0.00\n",
        ),
      );
      assert.equal(await newestId(fx), id);
    });
  });
}
