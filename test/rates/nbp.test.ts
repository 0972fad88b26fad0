import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, afterEach, before, describe, test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { gzipSync } from "node:zlib";
import { formatDecimal } from "../../src/core/decimal.ts";
import { type FetchLimits, openApi } from "../../src/rates/nbp.ts";
import { openConnectProxy, withProxyVariables } from "../support/connect-proxy.ts";
import {
  type Mode,
  type NbpStandIn,
  noDataText,
  overLimitText,
  startNbpStandIn,
  tablesUpTo,
} from "../support/nbp-stand-in.ts";
import { listen } from "../support/stand-in.ts";

const once: Partial<FetchLimits> = { responseTimeoutMs: 30_000, requestTimeoutMs: 60_000 };
/** For a bank that never answers, and for one that never ends. */
const impatient: Partial<Record<Mode, Partial<FetchLimits>>> = {
  hangs: { ...once, responseTimeoutMs: 300 },
  drips: { ...once, requestTimeoutMs: 600 },
};
let bank: NbpStandIn;

before(async () => {
  bank = await startNbpStandIn();
});
afterEach(async () => {
  await bank.mode("answers");
  bank.requests.length = 0;
});
after(() => bank.close());

async function failure(mode: Mode): Promise<string> {
  await bank.mode(mode);
  try {
    await openApi(bank.url, impatient[mode] ?? once).tables();
  } catch (error) {
    return (error as Error).message.replaceAll(bank.url, "BANK");
  }
  return "no failure";
}

describe("a fetch", () => {
  test("A fetch asks for the newest tables, and takes every figure as it was printed", async () => {
    const { tables } = await openApi(bank.url, once).tables();
    assert.deepEqual(bank.requests, ["/exchangerates/tables/C/last/67/?format=json"]);
    const [table] = tables;
    assert.equal(table?.number, "108/C/NBP/2026");
    const printed = [...(table?.rates.values() ?? [])].map(
      ({ currency, bid, ask }) => `${currency} ${formatDecimal(bid, 4)} ${formatDecimal(ask, 4)}`,
    );
    assert.equal(printed.length, 13);
    assert.ok(printed.includes("USD 3.6268 3.7000"));
    assert.ok(printed.includes("HUF 0.011793 0.012031"));
  });

  test("A fetch gives tables oldest first", async () => {
    bank.tables = tablesUpTo("2026-06-08");
    const { tables } = await openApi(bank.url, once).tables();
    assert.equal(tables.length, 67);
    assert.equal(tables.at(-1)?.effectiveDate, "2026-06-08");
  });

  test("A fetch goes under the path of the base URL and keeps its query", async () => {
    await assert.rejects(openApi(`${bank.url}/mirror/api/?key=secret`, once).tables());
    assert.deepEqual(bank.requests, [
      "/mirror/api/exchangerates/tables/C/last/67/?key=secret&format=json",
      "/mirror/api/exchangerates/tables/C/?key=secret&format=json",
    ]);
  });

  test("A fetch takes the newest table of an API that has no lists of tables", async (t) => {
    const newest = await (await fetch(`${bank.url}/exchangerates/tables/C/`)).text();
    const server = createServer(({ url = "" }, response) => {
      const isNewest = url.startsWith("/exchangerates/tables/C/?");
      response.writeHead(isNewest ? 200 : 404).end(isNewest ? newest : noDataText);
    });
    const { tables } = await openApi(await listen(server, t), once).tables();
    assert.deepEqual(
      tables.map(({ number }) => number),
      (JSON.parse(newest) as { no: string }[]).map(({ no }) => no),
    );
  });

  test("A failed fetch tells no user, password or query", async () => {
    const address = bank.url.replace("//", "//someone:secret@");
    await assert.rejects(openApi(`${address}/mirror/?key=secret`, once).tables(), (error: Error) => {
      assert.equal(error.message.includes("secret"), false, error.message);
      return true;
    });
  });

  /** With these, whatever does not end at once does not end in the time of a test. */
  const hour = 3_600_000;
  const patient = { responseTimeoutMs: hour, requestTimeoutMs: hour };
  const aborted =
    /^No answer from http:\S+\/exchangerates\/tables\/C\/last\/67\/: This operation was aborted\.$/;

  test("An aborted fetch ends at once while the bank hangs", { timeout: 120_000 }, async () => {
    await bank.mode("hangs");
    const abort = new AbortController();
    const fetched = assert.rejects(openApi(bank.url, patient).tables(abort.signal), { message: aborted });
    await bank.asked();
    abort.abort();
    await fetched;
  });
});

describe("through a proxy, a fetch", () => {
  test("A fetch through a proxy reaches a bank whose name only the proxy knows", async (t) => {
    const proxy = await openConnectProxy(Number(new URL(bank.url).port));
    t.after(() => proxy.close());
    const HTTP_PROXY = proxy.url.replace("//", "//fx:secret@");
    const { tables } = await withProxyVariables({ HTTP_PROXY }, () =>
      openApi("http://bank.test/", once).tables(),
    );
    assert.equal(tables.at(-1)?.effectiveDate, "2026-06-08");
    assert.deepEqual(proxy.connects, ["bank.test:80"]);
    assert.deepEqual(proxy.authorizations, [`Basic ${Buffer.from("fx:secret").toString("base64")}`]);
  });

  test("A fetch through a proxy speaks TLS with the bank itself, and checks its certificate", async (t) => {
    const file = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));
    const server = createTlsServer({ cert: file("server.crt"), key: file("server.key") });
    const proxy = await openConnectProxy(Number(new URL(await listen(server, t)).port));
    t.after(() => proxy.close());
    await withProxyVariables({ HTTPS_PROXY: proxy.url }, () =>
      assert.rejects(openApi("https://bank.test", once).tables(), {
        // Node 24 adds an advice.
        message: new RegExp(
          `^No answer from https://bank\\.test/\\S+ through the proxy ${proxy.url}: self-signed certificate.*\\.$`,
        ),
      }),
    );
    assert.deepEqual(proxy.connects, ["bank.test:443"]);
  });

  for (const [does, reason] of [
    ["refuses", "Bad response: 403"],
    ["hangs", "(Proxy timeout|Timeout awaiting 'request' for 300ms)"],
  ] as const) {
    test(`A fetch that a proxy ${does} fails with the proxy's name, and without its password`, async (t) => {
      const proxy = await openConnectProxy(9, does);
      t.after(() => proxy.close());
      const HTTPS_PROXY = proxy.url.replace("//", "//fx:secret@");
      await withProxyVariables({ HTTPS_PROXY }, () =>
        assert.rejects(openApi("https://bank.test", { ...once, requestTimeoutMs: 300 }).tables(), {
          message: new RegExp(
            `^No answer from https://bank\\.test/\\S+ through the proxy ${proxy.url}: ${reason}\\.$`,
          ),
        }),
      );
    });
  }
});

describe("a failed fetch says what came instead:", () => {
  const path = "BANK/exchangerates/tables/C/last/67/";
  const said: [Mode, string | RegExp][] = [
    ["404", `${path.replace("last/67/", "")} answered 404: "${noDataText}".`],
    ["400", `${path} answered 400: "${overLimitText}".`],
    ["500", `${path} answered 500: "Internal Server Error".`],
    ["html", `${path} did not answer with rate tables: not JSON but a web page.`],
    ["text", `${path} did not answer with rate tables: not JSON but "Przerwa techniczna".`],
    ["object", `${path} did not answer with rate tables: not an array of tables but "{\\"rates\\":[]}".`],
    ["empty", `${path} did not answer with rate tables: an empty array.`],
    ["nonsense", `${path} did not answer with rate tables: table 1 of 1 is wrong: the table number is 7.`],
    [
      "refuses",
      /^No answer from BANK\/exchangerates\/tables\/C\/last\/67\/: connect ECONNREFUSED 127\.0\.0\.1:\d+\.$/,
    ],
    ["hangs", `No answer from ${path}: Timeout awaiting 'response' for 300ms.`],
    ["drips", `No answer from ${path}: Timeout awaiting 'request' for 600ms.`],
    ["huge", `No answer from ${path}: it is longer than 1048576 bytes.`],
  ];
  for (const [mode, message] of said) {
    test(mode, async () => {
      const actual = await failure(mode);
      if (typeof message === "string") assert.equal(actual, message);
      else assert.match(actual, message);
    });
  }

  test("a compressed answer, which is neither asked for nor unpacked", async (t) => {
    const asked: unknown[] = [];
    const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024, " "));
    const server = createServer(({ headers }, response) => {
      asked.push(headers["accept-encoding"]);
      response.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
    });
    await assert.rejects(openApi(await listen(server, t), once).tables(), /: not JSON but "\\u001f/);
    assert.deepEqual(asked, ["identity"]);
  });

  test("a redirect, which is not followed", async () => {
    assert.match(
      await failure("redirect"),
      /^BANK\S+ answered 302: a redirect to "http:\/\/127\.0\.0\.1:9\/exchangerates\/tables\/C\/last\/67\/\?format=json"\.$/,
    );
  });
});
