import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { publishedDemo } from "../../src/rates/recorded.ts";
import { operations } from "../../src/wire/operations.ts";
import { document, operationAt, resolved, type Schema } from "../support/document.ts";
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

/** Values whose form fx checks. */
const formed = { pesel, symbol: "USD", tableId: "2".repeat(32), digest: "a".repeat(64), next: null };

/** An answer that has all that its schema requires, with the evil text wherever that may be. */
function evilOf(given: Schema, name = ""): unknown {
  const { type, properties = {}, required = [], items = {}, ...schema } = resolved(given);
  const either = schema.oneOf ?? schema.anyOf ?? [];
  const isReversal = (one: Schema) => resolved(one).properties?.kind?.const === "reversal";
  if (name in formed) return formed[name as keyof typeof formed];
  if (either[0] !== undefined) return evilOf(either.find(isReversal) ?? either[0], name);
  if (schema.const ?? schema.enum !== undefined) return schema.const ?? schema.enum?.[0];
  if (schema.format?.startsWith("date"))
    return schema.format === "date" ? "2026-06-08" : "2026-06-08T12:00:00.000Z";
  if (type === "array") return [evilOf(items)];
  if (type === "boolean") return false;
  if (type === "object")
    return Object.fromEntries(required.map((key) => [key, evilOf(properties[key] ?? {}, key)]));
  return type === "number" || type === "integer" ? Math.max(1, schema.minimum ?? 1) : evil;
}

const server = createServer((request, response) => {
  const { url = "" } = request;
  request.resume();
  request.on("end", () => {
    if (url.startsWith("/api/export")) {
      response.writeHead(200, { "content-type": "text/csv" }).end(`${evil}\nend of export: 0 entries,\n`);
      return;
    }
    // The position has no text: it is refused, as every change is.
    const id = request.method === "GET" && url !== "/api/position" ? operationAt("GET", url) : undefined;
    const content = id && document.paths[operations[id].path]?.get?.responses[200]?.content;
    const { schema } =
      (content as Record<string, { schema: Schema }> | undefined)?.["application/json"] ?? {};
    const problem = {
      title: evil,
      status: 400,
      detail: evil,
      instance: evil,
      errors: [{ pointer: evil, detail: evil }],
    };
    const refusal = { ...problem, type: "urn:fx:error:invalid-request", code: "invalid-request" };
    response
      .writeHead(schema === undefined ? 400 : 200, { "content-type": "application/json" })
      .end(JSON.stringify(schema === undefined ? refusal : evilOf(schema)));
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
