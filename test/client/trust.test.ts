import assert from "node:assert/strict";
import { createServer } from "node:net";
import { Readable } from "node:stream";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { ExchangeService } from "../../src/core/service.ts";
import { exported } from "../support/bookkeeping.ts";
import { clientOf } from "../support/client.ts";
import { adult, opening, terms } from "../support/fixture.ts";
import { answersTo } from "../support/service.ts";
import { type Answer, listen, openHttpStandIn } from "../support/stand-in.ts";

/** A question of each kind that a client asks. */
const pesel = adult(1);
const order = { pesel, ...terms("sell 10 PLN for USD") };
const asks = {
  question: (service: ExchangeService) => service.account(pesel),
  order: (service: ExchangeService) => service.exchange(order),
  opening: (service: ExchangeService) => service.createAccount(opening()),
  audit: (service: ExchangeService) => service.audit(),
  checkpoint: (service: ExchangeService) => service.audit({ onHeads: async () => {} }),
  comparison: (service: ExchangeService) => service.audit({ against: Readable.from([]) }),
  export: (service: ExchangeService) => exported(service, { format: "csv" }),
  bulk: (service: ExchangeService) => answersTo(service, [{ kind: "exchange", ...order }]),
} as const;
type Kind = keyof typeof asks;
const kinds = Object.keys(asks) as Kind[];

/** Writes the text again and again, as fast as it is taken. */
function endless(type: string, text: string, start = "", status = 200): Answer {
  const bytes = text.repeat(Math.ceil(65_536 / text.length));
  return (response) => {
    response.writeHead(status, { "content-type": type });
    response.write(start);
    const more = () => {
      while (!response.destroyed && response.write(bytes)) {}
    };
    response.on("drain", more);
    more();
  };
}

/** How the kind fails, as code and message. */
async function failure(kind: Kind, service: ExchangeService): Promise<string> {
  try {
    const answer = await asks[kind](service);
    if (Array.isArray(answer)) throw answer[0];
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return `${code}: ${message}`;
  }
  return "no failure";
}

const json = "application/json";
const lines = "application/x-ndjson";
const mostBytes = 64 * 1024 * 1024;

describe("an answer without an end", () => {
  for (const [kind, type, text, start] of [
    ["question", json, " ", ""],
    ["order", json, " ", ""],
    ["audit", json, "[", ""],
    ["bulk", lines, "x", ""],
    ["bulk", lines, "\n", ""],
    ["bulk", lines, '{"line":1}\n', ""],
    ["checkpoint", lines, "x", ""],
    ["checkpoint", lines, "\n", ""],
    ["comparison", json, " ", ""],
    ["export", json, "x", ""],
  ] as const) {
    test(`An endless answer to ${kind}, of ${JSON.stringify(text)}, is cut off and reported as not of fx`, async (t) => {
      const { url, sent } = await openHttpStandIn(t, endless(type, text, start));
      const told = await failure(kind, clientOf(t, url));
      assert.match(told, /^(internal|unreachable|outcome-unknown): .*(not fx|not one that fx gives)/);
      assert.ok(sent() < mostBytes, `${sent()} bytes`);
    });
  }

  test("An endless answer of an error is cut off, too", async (t) => {
    for (const kind of kinds) {
      const { url, sent } = await openHttpStandIn(t, endless("application/problem+json", " ", "", 500));
      assert.match(
        await failure(kind, clientOf(t, url)),
        /^(internal|unreachable|outcome-unknown): .*not fx/,
        kind,
      );
      assert.ok(sent() < mostBytes, `${kind}: ${sent()} bytes`);
    }
  });

  test("An answer with a million wrong items is refused without a report of each", async (t) => {
    const wrong = `[${"{},".repeat(1_000_000)}{}]`;
    const user = `{"name":"J","surname":"K","pesel":"${pesel}","currencies":${wrong}}`;
    for (const [body, told] of [
      [`{"users":${wrong},"next":null}`, "(a list that is too long)"],
      [`{"users":[{}${",{}".repeat(4000)}],"next":null}`, "(/users/0/name Invalid input"],
      [`{"users":[${user}],"next":null}`, "(a list that is too long)"],
      [`{"users":[],"next":null,"previous":{"rates":${wrong}}}`, "(a list that is too long)"],
    ] as const) {
      const { url } = await openHttpStandIn(t, (response) =>
        response.writeHead(200, { "content-type": json }).end(body),
      );
      await assert.rejects(clientOf(t, url).accounts({ limit: 10 }), ({ message }: Error) => {
        return message.includes(`What answers at ${url} is not fx`) && message.includes(told);
      });
    }
  });

  test("A line of an answer that never ends is given up", async (t) => {
    const { url } = await openHttpStandIn(t, (response) => {
      response.writeHead(200, { "content-type": lines });
      response.write(`{"line":1,${" ".repeat(20_000)}`);
    });
    assert.match(await failure("bulk", clientOf(t, url)), /^outcome-unknown: .*not fx/);
  });
});

describe("a server that falls silent", () => {
  for (const kind of ["export", "checkpoint", "comparison"] as const) {
    test(`A server that falls silent before its answer to ${kind} is given up`, async (t) => {
      const { url } = await openHttpStandIn(t, () => {});
      const told = await failure(kind, clientOf(t, url, { journalTimeoutMs: 50 }));
      assert.match(told, /^unreachable: No answer came from http:\S+ \(timed out\)\.$/);
    });

    test(`A server that falls silent in its answer to ${kind} is given up`, async (t) => {
      const { url } = await openHttpStandIn(t, (response) => {
        response.writeHead(200, { "content-type": kind === "export" ? "text/csv" : json });
        response.write(" ");
      });
      const told = await failure(kind, clientOf(t, url, { journalTimeoutMs: 50 }));
      assert.match(told, /^unreachable: (No answer came|The export) .*/);
    });
  }

  test("A server is not given up while the reader of an export takes its time", async (t) => {
    const { url } = await openHttpStandIn(t, (response) => {
      response.writeHead(200, { "content-type": "text/csv" });
      response.write("id\n");
      setTimeout(() => response.end("end of export: 0 entries,\n"), 10);
    });
    const text = await exported(clientOf(t, url, { journalTimeoutMs: 5000 }), { format: "csv" });
    assert.equal(text, "id\nend of export: 0 entries,\n");
  });
});

test("a compressed answer is neither asked for nor unpacked", async (t) => {
  const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024, " "));
  const { url, requests } = await openHttpStandIn(t, (response) =>
    response.writeHead(200, { "content-type": json, "content-encoding": "gzip" }).end(bomb),
  );
  for (const kind of kinds) {
    assert.match(
      await failure(kind, clientOf(t, url)),
      /^(internal|unreachable|outcome-unknown): .*not (fx|one that fx)/,
      kind,
    );
  }
  assert.deepEqual([...new Set(requests.map(({ headers }) => headers["accept-encoding"]))], ["identity"]);
});

describe("pages that lead nowhere", () => {
  const user = { name: "Jan", surname: "K", pesel, currencies: [] };
  for (const [what, users, next] of [
    ["an empty one with a next", [], "b"],
    ["one that is its own next", [user], "a"],
    ["one with more than was asked for", [user, user, user], null],
  ] as const) {
    test(`A page is refused: ${what}`, async (t) => {
      const { url } = await openHttpStandIn(t, (response) =>
        response.writeHead(200, { "content-type": json }).end(JSON.stringify({ users, next })),
      );
      await assert.rejects(clientOf(t, url).accounts({ limit: 2, cursor: "a" }), { code: "unreachable" });
    });
  }
});

describe("a token", () => {
  test("A token goes with every request", async (t) => {
    const { url, requests } = await openHttpStandIn(t, (response) => response.writeHead(404).end());
    for (const kind of kinds) await failure(kind, clientOf(t, url, { token: "fxt_abc" }));
    assert.ok(requests.length >= kinds.length);
    assert.ok(requests.every(({ headers }) => headers.authorization === "Bearer fxt_abc"));
  });

  test("Neither a token nor a request follows a redirect", async (t) => {
    const other = await openHttpStandIn(t, (response) => response.writeHead(200).end());
    for (const status of [301, 302, 303, 307, 308]) {
      const { url } = await openHttpStandIn(t, (response) =>
        response.writeHead(status, { location: `${other.url}/x?token=hidden` }).end(),
      );
      for (const kind of kinds) {
        const told = await failure(kind, clientOf(t, url, { token: "fxt_abc" }));
        const to = `not fx (status ${status}, a redirect to ${other.url}/x)`;
        assert.ok(told.includes(to), `${kind}: ${told}`);
      }
    }
    assert.equal(other.requests.length, 0);
  });

  test("A token is not in the message of a failure", async (t) => {
    const { url } = await openHttpStandIn(t, (response) => response.destroy());
    for (const kind of kinds) {
      assert.ok(!(await failure(kind, clientOf(t, url, { token: "fxt_hidden" }))).includes("hidden"), kind);
    }
  });
});

test("A query in the server's URL goes with every request, and is in no message", async (t) => {
  const { url, requests } = await openHttpStandIn(t, (response) => response.writeHead(404).end());
  for (const kind of kinds) {
    assert.ok(!(await failure(kind, clientOf(t, `${url}/fx?api_key=hidden`))).includes("hidden"), kind);
  }
  assert.ok(requests.every(({ url: path }) => /^\/fx\/api\/\S*[?&]api_key=hidden(&|$)/.test(path ?? "")));
});

test("A server that does not speak HTTP is reported as such", async (t) => {
  const ssh = createServer((socket) => socket.on("error", () => {}).end("SSH-2.0-OpenSSH_9.2p1\r\n"));
  const service = clientOf(t, await listen(ssh, t));
  assert.match(
    await failure("question", service),
    /^unreachable: .* \(what answers there does not speak HTTP\)\.$/,
  );
});
