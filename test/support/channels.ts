/** The ways in which a request reaches fx, each as a function with the same requests and the same answers. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { Change } from "../../src/core/change.ts";
import type { CurrencyCode } from "../../src/core/currency.ts";
import { FxError } from "../../src/core/errors.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import type { ExchangeService, Recorded, Settlement } from "../../src/core/service.ts";
import { encodeAccount } from "../../src/wire/accounts.ts";
import { type Asked, fieldsOf, isLine, jsonText, lineOf, pathOf } from "./asked.ts";
import { sendBulk } from "./bulk.ts";
import { decimal } from "./fixture.ts";
import { send } from "./http.ts";
import { runHere } from "./run-here.ts";

export interface Answer {
  /** The part that is the same over every channel: the refusal, or the receipt and the account after it. */
  readonly told:
    | { readonly code: string; readonly detail: string }
    | {
        readonly receipt: string | undefined;
        readonly account?: object | undefined;
        /** Whether the account is closed or blocked. */
        readonly state?: string | undefined;
      };
  readonly replayed: boolean;
  /** The whole answer, without values that differ for each request. */
  readonly whole: string;
}

export type Channel = (asked: Asked) => Promise<Answer>;

export function codeOf({ told }: Answer): string | undefined {
  return "code" in told ? told.code : undefined;
}

/** Random requests, of which most can be done, for these accounts. */
export function anyAsked(pesels: readonly string[]): fc.Arbitrary<Asked> {
  const pesel = fc.constantFrom(...pesels);
  const currency = fc.constantFrom("PLN", "PLN", "USD", "EUR", "JPY", "XYZ");
  const amount = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom("0.01", "1", "2.5", "10", "99.99") },
    { weight: 1, arbitrary: fc.constantFrom("0", "0.001", "1000000", "1000000000000000") },
  );
  const name = fc.constantFrom("Jan", "Łucja");
  const surname = fc.constantFrom("Kowalski", "Zając");
  const one = <K extends Asked["kind"]>(weight: number, kind: K, fields: object) => ({
    weight,
    arbitrary: fc.record({ kind: fc.constant(kind), pesel, ...fields }) as fc.Arbitrary<Asked>,
  });
  return fc.oneof(
    one(4, "exchange", { from: currency, to: currency, toBuy: amount }),
    one(2, "deposit", { amount, currency }),
    one(2, "withdrawal", { amount, currency }),
    one(2, "opening", { name, surname, pln: fc.constantFrom("0", "0", "10", "500.5") }),
    one(1, "renaming", { name, surname }),
    one(2, "closing", {}),
    one(1, "block", { reason: fc.constantFrom("freeze", "hold") }),
    one(1, "unblock", { reason: fc.constantFrom("lifted", "hold") }),
  );
}

export function overHttp(url: string): Channel {
  return async (asked) => {
    const headers = {
      "content-type": "application/json",
      ...(asked.key !== undefined && { "idempotency-key": asked.key }),
    };
    const answer = await send(url, "POST", pathOf(asked), { headers, body: jsonText(fieldsOf(asked)) });
    const { code, detail = "" } = (answer.json ?? {}) as { code?: string; detail?: string };
    const varying = ["date", "x-request-id", "idempotency-replayed", ...(code ? ["content-length"] : [])];
    const kept = [...answer.headers].filter(([name]) => !varying.includes(name));
    return {
      told:
        code === undefined
          ? {
              receipt: answer.headers.get("fx-receipt")?.split("/").at(-1),
              account: answer.status === 204 ? undefined : (answer.json as object),
              state: answer.headers.get("fx-account") ?? undefined,
            }
          : { code, detail },
      replayed: answer.headers.get("idempotency-replayed") === "true",
      whole: JSON.stringify([answer.status, kept, answer.text.replace(/urn:fx:request:[^"]*/, "")]),
    };
  };
}

/** Sends a request as the only line of a batch, or by itself if a batch does not take it. */
export function overBulk(url: string): Channel {
  return async (asked) => {
    if (!isLine(asked)) return overHttp(url)(asked);
    const [answer] = await sendBulk(url, [jsonText(lineOf(asked))]);
    assert.ok(answer);
    const { replayed = false, ...rest } = answer;
    const { code, detail = "", instance: _, ...problem } = answer.problem ?? {};
    const { blocked, ...account } = (answer.account ?? {}) as { readonly blocked?: true };
    const state = blocked ? "blocked" : undefined;
    const done = { receipt: answer.receipt, account: answer.account && account, state };
    return {
      told: code === undefined ? done : { code, detail },
      replayed,
      whole: JSON.stringify({ ...rest, problem }),
    };
  };
}

export function inProcess(service: ExchangeService): Channel {
  return async (asked) => {
    try {
      const { receiptId: receipt, replayed, ...answer } = await askedOf(service, asked);
      const settled = "account" in answer ? answer.account : undefined;
      const plain = (_name: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);
      return {
        told: {
          receipt,
          account: settled && JSON.parse(JSON.stringify(encodeAccount(settled))),
          state: settled?.closed ? "closed" : settled?.blocked ? "blocked" : undefined,
        },
        replayed,
        whole: JSON.stringify(answer, plain),
      };
    } catch (error) {
      assert.ok(error instanceof FxError, String(error));
      const { code, message: detail, replayed } = error;
      return { told: { code, detail }, replayed, whole: `${code} ${detail}` };
    }
  };
}

function askedOf(service: ExchangeService, asked: Asked): Promise<Recorded | Settlement> {
  const { key } = asked;
  const pesel = asked.pesel as Pesel;
  const codeFrom = (text: string) => text.toUpperCase() as CurrencyCode;
  switch (asked.kind) {
    case "opening": {
      const { name, surname, pln } = asked;
      return service.createAccount({ name, surname, pesel, initial: decimal(pln), key });
    }
    case "exchange": {
      const [side, amount] =
        "toBuy" in asked ? (["toBuy", asked.toBuy] as const) : (["toSell", asked.toSell] as const);
      const [from, to] = [codeFrom(asked.from), codeFrom(asked.to)];
      return service.exchange({ pesel, from, to, side, amount: decimal(amount), key });
    }
    case "deposit":
    case "withdrawal": {
      const { kind, amount, currency } = asked;
      const money = { amount: decimal(amount), currency: codeFrom(currency), note: undefined };
      return service.change({ kind, pesel, ...money, key });
    }
    case "reversal": {
      const { kind, receipt: reverses, reason } = asked;
      return service.change({ kind, pesel, reverses, reason, key });
    }
    default:
      return service.change({ ...asked, pesel } as Change);
  }
}

/** `fx …`, at a store or at a server. */
export function byCommand(target: string): Channel {
  return async (asked) => {
    const flags = Object.entries(fieldsOf(asked))
      .filter(([name]) => name !== "pesel")
      .map(([name, value]) => `--${name.replace("toBuy", "to-buy").replace("toSell", "to-sell")}=${value}`);
    const command = {
      opening: ["account", "create", asked.pesel],
      exchange: ["exchange", asked.pesel],
      deposit: ["account", "deposit", asked.pesel],
      withdrawal: ["account", "withdraw", asked.pesel],
      renaming: ["account", "rename", asked.pesel],
      closing: ["account", "close", asked.pesel],
      block: ["account", "block", asked.pesel],
      unblock: ["account", "unblock", asked.pesel],
      reversal: ["receipt", "reverse", "receipt" in asked ? asked.receipt : ""],
    }[asked.kind];
    const keyed = asked.key === undefined ? [] : ["--key", asked.key];
    const env = { FX_URL: target, FX_RATES: "demo" };
    const { stdout, stderr, exit } = await runHere([...command, ...flags, ...keyed, "--json"], { env });
    return answerIn(exit === 0 ? stdout : (stderr.trim().split("\n").at(-1) ?? ""));
  };
}

/** Sends a request as the only line of a file for `fx batch`, or by its own command if a batch does not take it. */
export function byFile(target: string, format: "csv" | "ndjson", folder: string): Channel {
  const file = join(folder, `orders.${format}`);
  return async (asked) => {
    if (!isLine(asked)) return byCommand(target)(asked);
    const line = lineOf(asked);
    const rows = [Object.keys(line), Object.values(line)].map((cells) => `${cells.join(",")}\n`);
    writeFileSync(file, format === "csv" ? rows.join("") : `${jsonText(line)}\n`);
    const env = { FX_URL: target, FX_RATES: "demo" };
    return answerIn((await runHere(["batch", file, "--yes"], { env })).stdout);
  };
}

/** The answer in a document of a command. */
function answerIn(document: string): Answer {
  const { code, message: detail, receipt, replayed = false } = JSON.parse(document);
  return { told: code === undefined ? { receipt } : { code, detail }, replayed, whole: document };
}
