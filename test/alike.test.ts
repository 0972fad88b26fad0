import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openHttpService } from "../src/client/http-service.ts";
import type { CurrencyCode } from "../src/core/currency.ts";
import { parseDecimal } from "../src/core/decimal.ts";
import { FxError } from "../src/core/errors.ts";
import type { ExchangeOrder } from "../src/core/exchange.ts";
import type { Pesel } from "../src/core/pesel.ts";
import type { ExchangeService } from "../src/core/service.ts";
import { adult, decimal, opening } from "./support/fixture.ts";
import { send } from "./support/http.ts";
import { runHere, serveHere } from "./support/run-here.ts";
import { openInstance } from "./support/server.ts";
import { refuses } from "./support/service.ts";

const pesel = adult(1);
const nobody = adult(9);

/** A request in every channel's words. Only the key that is given in `key` goes with it. */
interface Asked {
  readonly kind: "exchange" | "deposit" | "withdrawal" | "opening";
  readonly pesel?: string;
  readonly from?: string;
  readonly to?: string;
  readonly toBuy?: string;
  readonly amount?: string;
  readonly currency?: string;
  /** The value that no message may repeat. */
  readonly value: string;
}

/** Requests with an amount, and what each is refused with; undefined where it is done. */
function amounts(amount: string, codes: readonly (string | undefined)[]): (readonly [Asked, string])[] {
  const asked: Asked[] = [
    { kind: "exchange", from: "PLN", to: "USD", amount, value: amount },
    { kind: "exchange", from: "PLN", to: "USD", toBuy: amount, value: amount },
    { kind: "exchange", pesel: nobody, from: "PLN", to: "USD", amount, value: amount },
    { kind: "deposit", amount, currency: "PLN", value: amount },
    { kind: "withdrawal", amount, currency: "USD", value: amount },
    { kind: "opening", pesel: adult(8), amount, value: amount },
  ];
  return asked.flatMap((each, index) => {
    const code = codes[index];
    return code === undefined ? [] : [[each, code] as const];
  });
}

const [many, none, limit] = ["insufficient-funds", "account-not-found", "balance-limit"];
const invalid = "invalid-amount";
/** Hostile input, with the code of its refusal. */
const hostile: readonly (readonly [asked: Asked, code: string])[] = [
  ...["9007199254740993", "1e400", "0.1234567890123456789", "12345678901234567.89", "1e-400"].flatMap(
    (amount) => amounts(amount, Array<string>(6).fill("invalid-request")),
  ),
  ...amounts("1e308", [many, many, none, limit, many, limit]),
  ...amounts("777777", [many, many, none, undefined, many, undefined]),
  ...["7.777", "-7777"].flatMap((amount) =>
    amounts(amount, [invalid, invalid, none, invalid, invalid, invalid]),
  ),
  [{ kind: "exchange", from: "PLN", to: "EUR", amount: "0.01", value: "0.01" }, "amount-too-small"],
  ...["QQQ", "XAU", "QQ", "DROP", "ŻŁT", "__proto__", "Q".repeat(500)].flatMap((value) => [
    [{ kind: "exchange", from: value, to: "PLN", amount: "1", value }, "unsupported-currency"] as const,
    [{ kind: "deposit", amount: "1", currency: value, value }, "unsupported-currency"] as const,
    [{ kind: "withdrawal", amount: "1", currency: value, value }, "unsupported-currency"] as const,
  ]),
  [{ kind: "exchange", from: "qqq", to: "QQQ", amount: "1", value: "QQQ" }, "same-currency"],
];

interface Answer {
  readonly code: string;
  readonly message: string;
}
type Channel = (asked: Asked) => Promise<Answer>;

function inProcess(service: ExchangeService): Channel {
  return async ({
    kind,
    pesel: of = pesel,
    from = "",
    to = "",
    toBuy,
    amount = toBuy ?? "",
    currency = "",
  }) => {
    const decimal = parseDecimal(amount) ?? assert.fail(amount);
    const account = of as Pesel;
    const code = (text: string) => text.toUpperCase() as CurrencyCode;
    const done = () => {
      if (kind === "opening")
        return service.createAccount({ ...opening(), pesel: account, initial: decimal });
      if (kind !== "exchange") {
        return service.change({
          kind,
          pesel: account,
          amount: decimal,
          currency: code(currency),
          note: undefined,
        });
      }
      const side = toBuy === undefined ? "toSell" : "toBuy";
      return service.exchange({ pesel: account, from: code(from), to: code(to), side, amount: decimal });
    };
    try {
      return assert.fail(
        JSON.stringify(await done(), (_, value) => (typeof value === "bigint" ? `${value}` : value)),
      );
    } catch (error) {
      assert.ok(error instanceof FxError, String(error));
      return error;
    }
  };
}

function overHttp(url: string): Channel {
  return async ({ kind, pesel: of = pesel, from, to, toBuy, amount, currency }) => {
    const [path, fields] = {
      opening: ["/api/user", { name: "Jan", surname: "Lis", pesel: of, pln: 0 }],
      exchange: [`/api/exchange/${of}`, { pesel: of, from, to, ...(toBuy ? { toBuy: 0 } : { toSell: 0 }) }],
      deposit: [`/api/user/${of}/deposits`, { currency, amount: 0 }],
      withdrawal: [`/api/user/${of}/withdrawals`, { currency, amount: 0 }],
    }[kind] as [string, object];
    // The number as it is written, which JSON.stringify would round.
    const body = JSON.stringify(fields).replace(/:0(?=[,}])/, `:${toBuy ?? amount}`);
    const answer = await send(url, "POST", path, { headers: { "content-type": "application/json" }, body });
    const { code, detail } = answer.json as { code: string; detail: string };
    return { code, message: detail };
  };
}

function byCommand(FX_URL: string): Channel {
  return async ({ kind, pesel: of = pesel, from = "", to = "", toBuy, amount = "", currency = "" }) => {
    const flag = toBuy === undefined ? [`--to-sell=${amount}`] : [`--to-buy=${toBuy}`];
    const cash = [`--amount=${amount}`, `--currency=${currency}`];
    const args = {
      opening: ["account", "create", of, "--name", "Jan", "--surname", "Lis", `--pln=${amount}`],
      exchange: ["exchange", of, `--from=${from}`, `--to=${to}`, ...flag],
      deposit: ["account", "deposit", of, ...cash],
      withdrawal: ["account", "withdraw", of, ...cash],
    }[kind];
    const { stderr } = await runHere([...args, "--json"], { env: { FX_URL, FX_RATES: "demo" } });
    return JSON.parse(stderr) as Answer;
  };
}

async function channels(t: TestContext): Promise<Readonly<Record<string, Channel>>> {
  const { service } = await openInstance();
  const folder = mkdtempSync(join(tmpdir(), "fx-alike-"));
  const server = await serveHere({ FX_RATES: "demo" });
  const remote = openHttpService(server.url);
  t.after(async () => {
    await service.close();
    await remote.close();
    await server.stop();
    rmSync(folder, { recursive: true });
  });
  const file = `sqlite:${join(folder, "fx.db")}`;
  for (const each of [service, remote]) await each.createAccount({ ...opening({ pln: "1000" }), pesel });
  const create = ["account", "create", pesel, "--name", "Jan", "--surname", "Lis", "--pln", "1000"];
  const created = await runHere(create, { env: { FX_URL: file, FX_RATES: "demo" } });
  assert.equal(created.exit, 0, created.stderr);
  return {
    "the store in this process": inProcess(service),
    "the server, through the client": inProcess(remote),
    "the server, over HTTP": overHttp(server.url),
    "the command at a store": byCommand(file),
    "the command at a server": byCommand(server.url),
  };
}

test("A rate table that no header can name is refused by a store and by a server", async (t) => {
  const { service } = await openInstance();
  const server = await serveHere({ FX_RATES: "demo" });
  const remote = openHttpService(server.url);
  t.after(async () => {
    await service.close();
    await remote.close();
    await server.stop();
  });
  const order = { pesel, from: "PLN", to: "USD", side: "toSell", amount: decimal("1") } as ExchangeOrder;
  for (const each of [service, remote]) {
    await each.createAccount({ ...opening({ pln: "1000" }), pesel });
    for (const table of ["ł", "", "1".repeat(256), "a\nb", "\u0000"]) {
      await refuses(each.exchange({ ...order, table }), "invalid-request", /^The table number must be/);
    }
    await refuses(each.exchange({ ...order, table: "224/C" }), "rate-changed");
  }
});

test("The same request gets the same refusal in every channel, and no message repeats a value", async (t) => {
  const all = await channels(t);
  for (const [asked, code] of hostile) {
    for (const [channel, ask] of Object.entries(all)) {
      const { value, ...request } = asked;
      const answer = await ask(asked);
      const about = `${channel}: ${JSON.stringify(request).slice(0, 200)}: ${answer.message}`;
      assert.equal(answer.code, code, about);
      assert.ok(!answer.message.includes(value), about);
      assert.ok(answer.message.length < 400, about);
    }
  }
});
