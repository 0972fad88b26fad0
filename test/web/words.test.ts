import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import fc from "fast-check";
import { UnfitFile } from "../../src/batch/unfit-file.ts";
import { answerCodes, FxError } from "../../src/core/errors.ts";
import { notLater } from "../../src/ledger/chain.ts";
import {
  type AmountFault,
  cannotBecomeValid,
  Format,
  instantOf,
  typedAmount,
  warsawTime,
} from "../../src/web/format.ts";
import { fileFaultText, findingText, refusalText } from "../../src/web/server-words.ts";
import { statementCsv } from "../../src/web/statement-csv.ts";
import { textsOf } from "../../src/web/texts.ts";
import { atQuery } from "../../src/wire/account-list.ts";
import { opening, renaming } from "../../src/wire/accounts.ts";
import { cash, reversal } from "../../src/wire/cash.ts";
import { type EntryJson, statementQuery } from "../../src/wire/entries.ts";
import { order } from "../../src/wire/orders.ts";
import { adult } from "../support/fixture.ts";

/** The words with which the ledger's sources name problems, in the calls that report them. */
function problemNames(): string[] {
  const folder = new URL("../../src/ledger/", import.meta.url);
  const sources = readdirSync(folder)
    .map((file) => readFileSync(new URL(file, folder), "utf8"))
    .filter((text) => text.includes("differing("));
  const calls = sources
    .join("\n")
    .matchAll(/(?:differing\w*|notLater)\(\s*("[^"]+"|`[^`]+`)|(?<!= )\[\s*("[a-z][^"]+"|`[a-z][^`]+`), /g);
  return [...calls].map(([, name, other]) => (name ?? other ?? "").slice(1, -1));
}

const exchange = {
  kind: "exchange",
  id: "r-1",
  pesel: adult(1),
  sequence: 2,
  time: "2026-06-08T12:00:00.000Z",
  key: null,
  by: null,
  currencies: [{ symbol: "PLN", amount: 1234.5 }],
  side: "toBuy",
  sold: { symbol: "PLN", amount: 1000.25 },
  bought: { symbol: "JPY", amount: 30000 },
  bid: null,
  ask: 0.033341,
  table: "1/C/NBP/2026",
  tableId: "t",
  effectiveDate: "2026-06-08",
  reversedBy: null,
} as unknown as EntryJson;

describe("the page's words", () => {
  test("A file with an unknown column is told in Polish by the column and the field that it seems to be", () => {
    const fault = new UnfitFile("column", "", ["keys", "key"]);
    assert.match(fileFaultText(fault, "pl"), /^Nagłówek ma nieznaną kolumnę keys\. Jeśli to key, /);
  });

  test("Every problem that an audit names has Polish words, with its figure", () => {
    const names = problemNames();
    assert.ok(names.length > 15, names.join());
    const places = ["refusal 7", "table in force 7", "table 7"];
    for (const name of names) {
      const isKnown = places.some((place) => {
        const words = name.replace(/\$\{name\}/, place).replace(/\$\{row\.position\}/, "7");
        return findingText(words, "pl") !== words;
      });
      assert.ok(isKnown, `there are no Polish words for ${name}`);
    }
    assert.equal(findingText("hash of refusal 7", "pl"), "skrót odmowy 7");
    assert.equal(findingText("some hash 12ab", "pl"), "some hash 12ab");
    assert.equal(findingText("name", "en"), "name");
    const [[, , tooLate = ""] = []] = notLater("time", 1e12, 0);
    assert.match(findingText(tooLate, "pl"), /^nie później niż teraz: zegar/);
  });

  test("A text has the same names and the same number of places in both languages", () => {
    const places = (texts: object): unknown =>
      Object.entries(texts).map(([name, text]) => [
        name,
        typeof text === "string" ? text.split("{}").length - 1 : places(text),
      ]);
    assert.deepEqual(places(textsOf.pl), places(textsOf.en));
  });

  test("Every code of a refusal has whole Polish sentences", () => {
    for (const code of answerCodes) {
      assert.match(refusalText(new FxError(code, "English."), "pl"), /^(?!.*English)\p{Lu}.* .*\.$/su, code);
    }
  });

  test("A Polish refusal names a wrong field by the label of its form, and a column of a file as the file does", () => {
    const shapes = [opening, order, cash, reversal, renaming, statementQuery, atQuery];
    const onNoForm = ["initial", "limit", "cursor", "key", "table"];
    const texts = JSON.stringify(Object.values(textsOf.pl));
    for (const name of shapes.flatMap(({ shape }) => Object.keys(shape))) {
      const fields = [{ pointer: `/${name}`, detail: "" }];
      const [, label] =
        / Popraw: (.+)\.$/.exec(refusalText(new FxError("invalid-request", "", { fields }), "pl")) ?? [];
      if (onNoForm.includes(name)) assert.equal(label, undefined, name);
      else assert.ok(texts.includes(`"${label}"`), `${name} is told as ${label}`);
    }
    const fields = ["/toBuy", ""].map((pointer) => ({ pointer, detail: "" }));
    assert.match(refusalText(new FxError("invalid-amount", "", { fields }), "pl", true), / Popraw: toBuy\.$/);
  });

  test("An amount finer than its currency is told with the currency's decimals", () => {
    assert.deepEqual(typedAmount("1,2345", "USD"), { fault: "tooFine" });
    assert.deepEqual(typedAmount("1,5", "JPY"), { fault: "notWhole" });
  });

  test("An amount is called wrong while it is typed only if no right amount begins so", () => {
    const told = ["ten", "-5", "1.999", "1.2345", "99999999999999999", "1,,"];
    const open = ["", "0", "0,", "0.0", "1", "1 0", "1 00", "12,", "1 000,5"];
    const isTold = (typed: string) => {
      const read = typedAmount(typed, "USD");
      return "fault" in read && cannotBecomeValid(typed, read.fault);
    };
    assert.deepEqual([told.map(isTold), open.map(isTold)], [told.map(() => true), open.map(() => false)]);
    const written = fc.double({ min: 0.01, max: 9e6, noNaN: true }).map((value) => value.toFixed(2));
    fc.assert(
      fc.property(written, (text) => {
        for (let end = 0; end <= text.length; end += 1) {
          const read = typedAmount(text.slice(0, end), "USD");
          assert.ok(!("fault" in read) || !cannotBecomeValid(text.slice(0, end), read.fault as AmountFault));
        }
      }),
    );
  });

  test("An amount with groups and decimals is read as the page shows it in either language, and one mark before three digits is not", () => {
    const amount = fc.integer({ min: 1, max: 10 ** 15 - 1 }).map((minor) => minor / 100);
    fc.assert(
      fc.property(amount, fc.constantFrom("en-GB", "pl-PL", "de-DE"), (value, locale) => {
        const shown = new Intl.NumberFormat(locale, { minimumFractionDigits: 2, useGrouping: true }).format(
          value,
        );
        assert.deepEqual(typedAmount(shown, "PLN"), { amount: value });
        for (let end = 0; end < shown.length; end += 1) {
          const read = typedAmount(shown.slice(0, end), "PLN");
          assert.ok(
            !("fault" in read) ||
              read.fault === "ambiguous" ||
              !cannotBecomeValid(shown.slice(0, end), read.fault),
          );
        }
      }),
    );
    for (const typed of ["1,000", "1.000"])
      assert.deepEqual(typedAmount(typed, "PLN"), { fault: "ambiguous" });
    for (const typed of ["1,000,50", "1,00.50", "1,000.50,", "1000,000.50", "1.000.000"]) {
      assert.deepEqual(typedAmount(typed, "PLN"), { fault: "notANumber" });
    }
  });

  test("A time by the clocks in Poland is that instant, wherever the browser is, in winter, in summer and at their change", () => {
    const times = [
      ["2026-01-15T12:00", "2026-01-15T11:00:00.000Z"],
      ["2026-07-15T00:30", "2026-07-14T22:30:00.000Z"],
      ["2026-03-29T01:59", "2026-03-29T00:59:00.000Z"],
      ["2026-03-29T03:00", "2026-03-29T01:00:00.000Z"],
      ["2026-10-25T02:30", "2026-10-25T00:30:00.000Z"],
      ["2026-10-25T03:00", "2026-10-25T02:00:00.000Z"],
    ] as const;
    for (const [time, instant] of times) {
      assert.equal(instantOf(time).toISOString(), instant);
      assert.equal(warsawTime(new Date(instant)), time);
    }
  });

  test("All of a balance, put into the box, is read as that balance", () => {
    for (const language of ["en", "pl"] as const) {
      const format = new Format(language, []);
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 10 ** 15 - 1 }),
          fc.constantFrom("PLN", "JPY"),
          (minor, currency) => {
            const amount = currency === "JPY" ? minor : minor / 100;
            assert.deepEqual(typedAmount(format.typed(amount, currency), currency), { amount });
          },
        ),
      );
    }
  });

  test("A Polish statement file has a byte-order mark, Polish headings, semicolons and decimal commas", () => {
    const [head, row] = statementCsv([exchange], "pl").split("\r\n");
    assert.match(head ?? "", /^\ufeffOperacja;Data;Czas;Rodzaj;Wypływ;/);
    assert.match(row ?? "", /^2;2026-06-08;14:00:00;Wymiana;1000,25;PLN;1234,50;30000;JPY;0;;0,033341;1\/C/);
    assert.doesNotMatch(head ?? "", /Entry|Kind|balance/);
    assert.match(
      statementCsv([exchange], "en"),
      /^Entry,Date,Time,Kind,Out,[^;]*\r\n2,[^;]*,exchange,1000\.25,PLN/,
    );
  });
});
