import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { adult } from "../../../support/fixture.ts";
import { documentOf, type Fx, places, prepared, result } from "../../../support/places.ts";

const jan = adult(0);
const holder = { name: "Jan", surname: "Kowalski", pesel: jan };
const pln = (amount: number) => ({ symbol: "PLN", amount });
const note = "This key was used before. What was done then is shown; nothing was done again.\n";
const settled = (text: string) =>
  text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<id>").replaceAll("\u202f", " ");

for (const [place, openLedger] of Object.entries(places)) {
  /** A ledger with the account of Jan, who has 1000 PLN. */
  const withJan = prepared(openLedger, `account create ${jan} --name Jan --surname Kowalski --pln 1000`);
  /** One that holds nothing. */
  const emptied = prepared(withJan, `account withdraw ${jan} --amount 1000 --currency PLN`);
  const closed = prepared(emptied, `account close ${jan}`);
  const state = async (fx: Fx) => [
    await result(fx(`account show ${jan}`)),
    await result(fx(`account history ${jan}`)),
  ];

  describe(`changes of an account, ${place}`, () => {
    test("account deposit puts money in, and tells the receipt and the balances", async (t) => {
      const fx = await withJan(t);
      const told = await result(fx(`account deposit ${jan} --amount 50.5 --currency pln --note till-2`));
      assert.equal(settled(told), "in\t50.50 PLN\nnote\ttill-2\nreceipt\t<id>\nPLN\t1050.50\n");
    });

    test("account withdraw takes money out", async (t) => {
      const fx = await withJan(t);
      const told = await result(fx(`account withdraw ${jan} --amount 999.99 --currency PLN`));
      assert.equal(settled(told), "out\t999.99 PLN\nreceipt\t<id>\nPLN\t0.01\n");
    });

    test("account rename changes the holder's name", async (t) => {
      const fx = await withJan(t);
      const told = await result(fx(`account rename ${jan} --name Jan --surname Nowak`));
      assert.equal(settled(told), "new name\tJan Nowak\nreceipt\t<id>\nPLN\t1000.00\n");
      assert.match(await result(fx(`account show ${jan}`)), /^holder\tJan Nowak\n/);
    });

    test("account close closes an account that holds nothing", async (t) => {
      const fx = await emptied(t);
      const told = await result(fx(`account close ${jan}`));
      assert.equal(settled(told), "receipt\t<id>\naccount\tclosed\nPLN\t0.00\n");
    });

    test("a closed account says so where it is shown and listed", async (t) => {
      const fx = await closed(t);
      assert.match(await result(fx(`account show ${jan}`)), /\naccount\tclosed\nPLN\t0\.00\n$/);
      assert.match(await result(fx("account list")), /\tKowalski\tclosed\n$/);
      const document = { ...holder, currencies: [pln(0)], closed: true };
      assert.deepEqual(await documentOf(fx(`account show ${jan} --json`)), document);
      assert.deepEqual(await documentOf(fx("account list --json")), [document]);
    });

    test("account block and unblock tell the reason, and a blocked account says so where it is shown and listed", async (t) => {
      const fx = await withJan(t);
      const told = await result(fx(`account block ${jan} --reason freeze`));
      assert.equal(settled(told), "reason\tfreeze\nreceipt\t<id>\naccount\tblocked\nPLN\t1000.00\n");
      assert.match(
        await result(fx(`account show ${jan}`)),
        /\naccount\tblocked\nPLN\t1000\.00\nblocked since\t\S+\nreason\tfreeze\n$/,
      );
      assert.match(await result(fx("account list")), /\tKowalski\tblocked: 1000\.00 PLN\n$/);
      const document = { ...holder, currencies: [pln(1000)], blocked: true };
      assert.deepEqual(await documentOf(fx(`account show ${jan} --json`)), document);
      assert.deepEqual(await documentOf(fx("account list --json")), [document]);
      const { stderr, exit } = await fx(`exchange ${jan} --from PLN --to USD --to-buy 1`);
      assert.match(stderr, /^fx: The account is blocked: .*fx account unblock/s);
      assert.equal(exit, 3);
      const lifted = await result(fx(`account unblock ${jan} --reason lifted`));
      assert.equal(settled(lifted), "reason\tlifted\nreceipt\t<id>\nPLN\t1000.00\n");
      await result(fx(`account withdraw ${jan} --amount 1 --currency PLN`));
    });

    test("account create opens a closed account again, says so, and shows the currencies from before", async (t) => {
      const fx = await withJan(t);
      for (const command of [
        `exchange ${jan} --from PLN --to USD --to-sell 1000`,
        `account withdraw ${jan} --amount 232.75 --currency USD`,
        `account close ${jan}`,
      ]) {
        await result(fx(command));
      }
      const create = `account create ${jan} --name Jan --surname Nowak --pln 5`;
      const { stdout, stderr, exit } = await fx(create);
      assert.match(stdout, /^holder\tJan Nowak\npesel\t\d{6}\*{5}\nPLN\t5\.00\nUSD\t0\.00\n$/);
      assert.deepEqual([stderr, exit], ["This account was closed. It is open again, with its history.\n", 0]);
    });

    test("A change of an account with --json prints the account after it, with what the receipt says, the key and whether it was replayed", async (t) => {
      const fx = await emptied(t);
      const deposit = `account deposit ${jan} --amount 7 --currency PLN --key d-1 --json`;
      const { receipt, time, ...told } = await documentOf(fx(deposit));
      assert.match(receipt, /^[0-9a-f-]{36}$/);
      const entry = { kind: "deposit", sequence: 3, credited: pln(7), note: null, reversedBy: null };
      assert.deepEqual(told, { ...entry, ...holder, currencies: [pln(7)], key: "d-1", replayed: false });
      assert.deepEqual(await documentOf(fx(deposit)), { ...told, receipt, time, replayed: true });
      await result(fx(`account withdraw ${jan} --amount 7 --currency PLN`));
      assert.equal((await documentOf(fx(`account close ${jan} --json`))).closed, true);
    });

    for (const [command, shown] of [
      [
        `account deposit ${jan} --amount 20 --currency USD --note till-2`,
        "in\t20.00 USD\nnote\ttill-2\nUSD\t0.00\t20.00\n",
      ],
      [`account withdraw ${jan} --amount 1.5 --currency PLN`, "out\t1.50 PLN\nPLN\t1000.00\t998.50\n"],
      [`account rename ${jan} --name Jan --surname Nowak`, "new name\tJan Nowak\n"],
    ] as const) {
      test(`${command.replace(jan, "…")} --dry-run shows what it comes to, and changes nothing`, async (t) => {
        const fx = await withJan(t);
        const before = await state(fx);
        const told = await result(fx(`${command} --dry-run`));
        assert.equal(told, `holder\tJan Kowalski\npesel\t${jan.slice(0, 6)}*****\n${shown}`);
        assert.deepEqual(await state(fx), before);
      });
    }

    test("A change of an account with --dry-run --json prints the account as it would be", async (t) => {
      const fx = await emptied(t);
      const close = await documentOf(fx(`account close ${jan} --dry-run --json`));
      assert.deepEqual(close, { ...holder, currencies: [pln(0)], closed: true });
      const deposit = `account deposit ${jan} --amount 3 --currency PLN --dry-run --json`;
      assert.deepEqual(await documentOf(fx(deposit)), { ...holder, currencies: [pln(3)] });
    });

    for (const [ledger, open, command, code, exit] of [
      ["1000 PLN", withJan, `account deposit ${jan} --amount 1.005 --currency PLN`, "invalid-amount", 3],
      ["1000 PLN", withJan, `account deposit ${adult(9)} --amount 1 --currency USD`, "account-not-found", 4],
      ["1000 PLN", withJan, `account unblock ${jan} --reason lifted`, "account-not-blocked", 3],
      ["nothing", closed, `account block ${jan} --reason freeze`, "account-closed", 3],
      ["nothing", closed, `account rename ${jan} --name Jan --surname Nowak`, "account-closed", 3],
    ] as const) {
      const words = command.replace(/\d{11}/, "…");
      test(`${words} on an account with ${ledger} is refused with ${code}, by --dry-run too`, async (t) => {
        const fx = await open(t);
        const before = await state(fx);
        const refused = await fx(`${command} --json`);
        assert.deepEqual([refused.stdout, JSON.parse(refused.stderr).code, refused.exit], ["", code, exit]);
        assert.deepEqual(await fx(`${command} --json --dry-run`), refused);
        assert.deepEqual(await state(fx), before);
      });
    }

    for (const command of [
      `account deposit ${jan} --amount 1`,
      `account deposit ${jan} --amount 1,5 --currency PLN`,
      `account rename ${jan} --name Jan`,
    ]) {
      test(`${command.replace(jan, "…")} is exit 2`, async (t) => {
        assert.equal((await (await withJan(t))(command)).exit, 2);
      });
    }

    test("a terminal asks nothing about what was done with the key before, even if it is not possible again", async (t) => {
      const fx = await withJan(t);
      const withdraw = `account withdraw ${jan} --amount 1000 --currency PLN --key w-1`;
      await result(fx(withdraw));
      const { stdout, exit } = await fx(withdraw, "", 80);
      assert.ok(stdout.startsWith(note));
      assert.ok(!stdout.includes("[y/N]"));
      assert.equal(exit, 0);
    });
  });
}
