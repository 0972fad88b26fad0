import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { publishedDemo } from "../../src/rates/recorded.ts";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { runHere } from "../support/run-here.ts";
import { listen } from "../support/stand-in.ts";

/** Sets a terminal's title, clears it, rings, goes back to the start of the line, and turns the direction of text. */
const evil = "X\u001b]0;x\u0007\u001b[2J\u009b2J\r\n\t\u007f\u202e\u2066\u200b\u0085\u2028Y";
const harmless = "X\\u001b]0;x\\u0007\\u001b[2J\\u009b2J\\r\\n\\t\\u007f\\u202e\\u2066\\u200b\\u0085\\u2028Y";
/** Characters that a terminal acts on or that are invisible, except the line ends and tabs of fx itself. */
const active = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const pesel = adult(0);
const id = "019e9a70-3c5e-7000-8000-5d1f0c2b7a11";
const account = { name: evil, surname: evil, pesel, currencies: [{ symbol: "PLN", amount: 5 }] };
const table = {
  table: evil,
  tableId: "2f1e64f8be8d4d2f9b0a1c64c8bd0c11",
  tradingDate: "2026-06-05",
  effectiveDate: "2026-06-08",
  rates: [{ symbol: "USD", name: evil, bid: 3.6, ask: 3.7 }],
};
const entry = {
  kind: "reversal",
  id: evil,
  pesel,
  sequence: 2,
  name: evil,
  surname: evil,
  time: "2026-06-08T12:00:00.000Z",
  key: evil,
  reverses: evil,
  reason: evil,
  debited: null,
  credited: null,
  exchange: null,
  currencies: [],
};
const exchange = {
  side: "toBuy",
  sold: { symbol: "PLN", amount: 3.7 },
  bought: { symbol: "USD", amount: 1 },
  bid: null,
  ask: 3.7,
  table: evil,
  tableId: table.tableId,
  effectiveDate: table.effectiveDate,
};
const finding = { account: evil, entry: 1, id: evil, problem: evil, recorded: evil, recomputed: evil };

/** The answers of the server, by the beginning of the path. */
const answers: readonly (readonly [string, unknown])[] = [
  ["/api/users", { users: [account], next: null }],
  [`/api/user/${pesel}/history`, { entries: [entry], next: null, opening: null, closing: null }],
  [`/api/user/${pesel}`, account],
  ["/api/receipts/", entry],
  ["/api/rates/USD/history", { symbol: "USD", rates: [{ ...table, bid: 3.6, ask: 3.7 }] }],
  [
    "/api/rates",
    {
      ...table,
      source: evil,
      recorded: true,
      tradable: false,
      reason: evil,
      reasonCode: "suspended",
      suspension: { reason: evil, by: evil, since: "2026-06-08T12:00:00.000Z" },
      previous: table,
    },
  ],
  ["/api/house/cash/history", { entries: [entry], next: null, opening: null, closing: null }],
  ["/api/quote", { ...exchange, source: evil, rate: 0.27 }],
  [
    "/api/audit",
    { ok: false, accounts: 1, entries: 1, findings: [finding], findingsTotal: 1, digest: "a".repeat(64) },
  ],
  [
    "/health/ready",
    {
      status: "ready",
      version: evil,
      store: "memory",
      schemaVersion: 1,
      rates: {
        source: evil,
        recorded: false,
        table: evil,
        effectiveDate: null,
        tradable: false,
        reason: evil,
        reasonCode: "too-old",
        heldBack: evil,
        problem: evil,
        clock: evil,
      },
    },
  ],
];

const server = createServer((request, response) => {
  const { url = "" } = request;
  request.resume();
  request.on("end", () => {
    if (url.startsWith("/api/export")) {
      response.writeHead(200, { "content-type": "text/csv" }).end(`${evil}\nend of export: 0 entries,\n`);
      return;
    }
    const found = answers.find(([path]) => url.startsWith(path) && request.method === "GET");
    const problem = {
      type: "urn:fx:error:invalid-request",
      title: evil,
      status: 400,
      detail: evil,
      instance: evil,
      code: "invalid-request",
      errors: [{ pointer: evil, detail: evil }],
    };
    response
      .writeHead(found === undefined ? 400 : 200, { "content-type": "application/json" })
      .end(JSON.stringify(found?.[1] ?? problem));
  });
});
let url = "";
const folder = newFolder();
before(async () => {
  url = await listen(server);
});

const commands: readonly (readonly string[])[] = [
  ["account", "list"],
  ["account", "show", pesel],
  ["account", "history", pesel],
  ["account", "create", pesel, "--name", "Jan", "--surname", "K", "--pln", "1"],
  ["account", "deposit", pesel, "--amount", "1", "--currency", "PLN", "--dry-run"],
  ["receipt", id],
  ["rates"],
  ["rates", "history", "USD"],
  ["quote", "--from", "PLN", "--to", "USD", "--to-buy", "1"],
  ["trading"],
  ["house", "history", "--account", "cash"],
  ["position"],
  ["audit"],
  ["doctor"],
];

/** The output without the line breaks, columns and colours that fx makes. */
function acting(printed: string, isTerminal: boolean): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
  const own = isTerminal ? printed.replace(/\u001b\[((1|2|22|3[1-6]|39)m|K)|\r(?!\n)/g, "") : printed;
  return active.exec(own.replaceAll("\n", "").replaceAll("\t", ""))?.[0];
}

describe("from a hostile server", () => {
  for (const [how, columns, json] of [
    ["in a pipe", undefined, false],
    ["at a terminal", 120, false],
    ["at a narrow terminal", 40, false],
    ["with --json", undefined, true],
    ["with --json at a terminal", 80, true],
  ] as const) {
    for (const command of commands) {
      test(`fx ${command.slice(0, 2).join(" ")} ${how} prints nothing that a terminal acts on`, async () => {
        const env = { FORCE_COLOR: columns === undefined ? "0" : "1" };
        const args = [...command, ...(json ? ["--json"] : []), "--url", url];
        const ran = await runHere(args, { env, ...(columns !== undefined && { columns }) });
        const printed = ran.stdout + ran.stderr;
        assert.equal(acting(printed, columns !== undefined), undefined, JSON.stringify(printed));
        // At a terminal, a statement has only the beginnings of ids.
        const shown = command.includes("history") && !json ? harmless.slice(0, 16) : harmless;
        assert.ok(printed.replaceAll(/\s+/g, "").includes(shown), printed);
        if (!json || columns !== undefined) return;
        const document = JSON.stringify(JSON.parse(ran.stdout || printed));
        assert.ok(document.includes(JSON.stringify(evil).slice(1, -1)));
      });
    }
  }

  test("a statement for a spreadsheet and an export have escapes, too", async () => {
    for (const command of [
      ["account", "history", pesel, "--format", "csv"],
      ["export", "--format", "csv"],
    ]) {
      const { stdout } = await runHere([...command, "--url", url]);
      assert.equal(acting(stdout.replaceAll("\r", ""), false), undefined, JSON.stringify(stdout));
      assert.ok(stdout.includes("X\\u001b]0;x"));
    }
  });
});

describe("from a file", () => {
  test("Names of currencies and faults of a file of rates are shown with escapes", async () => {
    const path = join(folder, "rates.json");
    const [first] = publishedDemo();
    const tables = [{ ...first, rates: first?.rates.map((rate) => ({ ...rate, currency: evil })) }];
    writeFileSync(path, JSON.stringify(tables));
    const shown = await runHere(["rates", "--url", "memory:", "--rates", path]);
    assert.equal(shown.exit, 0, shown.stderr);
    assert.equal(acting(shown.stdout, false), undefined);
    assert.ok(shown.stdout.includes(harmless));
    writeFileSync(path, JSON.stringify([{ ...first, no: evil }]));
    const refused = await runHere(["rates", "--url", "memory:", "--rates", path]);
    assert.equal(refused.exit, 6);
    assert.equal(acting(refused.stderr, false), undefined, JSON.stringify(refused.stderr));
  });

  test("cells and columns of a file of orders are shown with escapes", async () => {
    const stdin = `pesel,from,to,toBuy,toSell,\u001b[2J\n${pesel},PLN,\u009bUSD,\u202e1,,x\n\u001b[2J,,,,,\u0085\n`;
    for (const columns of [undefined, 80]) {
      const ran = await runHere(["batch", "-", "--yes", "--url", "memory:", "--rates", "demo"], {
        stdin,
        env: { FORCE_COLOR: "0" },
        ...(columns !== undefined && { columns }),
      });
      assert.equal(ran.exit, 3, ran.stderr);
      assert.equal(acting(ran.stdout + ran.stderr, columns !== undefined), undefined, ran.stdout);
    }
  });
});
