import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { Operation } from "../../src/wire/operation.ts";
import { operations } from "../../src/wire/operations.ts";
import { adult } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { answerTo, headOf, openConnection } from "../support/raw-connection.ts";
import { pathOf, typeOf } from "../support/requests.ts";
import { startServer } from "../support/server.ts";

const pesel = adult(1);
const server = await startServer();
after(() => server.close());

const opening = { name: "Jan", surname: "Kowalski", pesel, pln: 1000 };
assert.equal((await send(server.url, "POST", "/api/user", { body: opening })).status, 204);

/** A request for each of three operations with a body. */
const requests = () => {
  nth += 1;
  const name = "Łucja Żółć 💶 ".repeat(3).trim();
  return {
    create: { path: "/api/user", body: { name, surname: "Nowak", pesel: adult(nth), pln: 1 } },
    exchange: { path: `/api/exchange/${pesel}`, body: { pesel, from: "PLN", to: "USD", toSell: 1 } },
    deposit: {
      path: `/api/user/${pesel}/deposits`,
      body: { amount: 1.25, currency: "PLN", note: `${name} ${nth}` },
    },
  };
};
let nth = 100;

const head = (path: string, ...more: string[]) =>
  headOf(`POST ${path}`, "Content-Type: application/json", ...more);
const length = (body: Uint8Array | string) => `Content-Length: ${Buffer.byteLength(body)}`;
const chunk = (bytes: Uint8Array) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);

interface Form {
  readonly about: string;
  readonly head: (path: string, body: Buffer) => string;
  readonly pieces: (body: Buffer) => readonly Uint8Array[];
  readonly pauseMs: number;
}

const each = (size: number) => (body: Buffer) =>
  Array.from({ length: Math.ceil(body.length / size) }, (_, n) => body.subarray(n * size, (n + 1) * size));
const chunked = (size: number) => (body: Buffer) => [
  ...each(size)(body).map(chunk),
  Buffer.from("0\r\n\r\n"),
];
const withLength: Form["head"] = (path, body) => head(path, length(body));
const withChunks: Form["head"] = (path) => head(path, "Transfer-Encoding: chunked");

const forms: readonly Form[] = [
  { about: "in two pieces, one late", head: withLength, pieces: each(50), pauseMs: 40 },
  { about: "byte by byte, slowly", head: withLength, pieces: each(1), pauseMs: 1 },
  { about: "in chunks of 7 bytes", head: withChunks, pieces: chunked(7), pauseMs: 1 },
];

describe("a body", () => {
  for (const form of forms) {
    test(`A body is read whole ${form.about}`, async () => {
      const { path, body } = requests().create;
      const bytes = Buffer.from(JSON.stringify(body));
      const { socket, until } = await openConnection(server.url);
      socket.setNoDelay(true);
      for (const piece of [Buffer.from(form.head(path, bytes)), ...form.pieces(bytes)]) {
        await sleep(form.pauseMs);
        socket.write(piece);
      }
      await until(/^HTTP\/1\.1 204 /);
      socket.destroy();
      const { json } = await send(server.url, "GET", `/api/user/${body.pesel}`);
      assert.equal((json as { name: string }).name, body.name);
    });
  }

  test("A byte-order mark before a body is ignored", async () => {
    const { path, body } = requests().create;
    const headers = { "content-type": "application/json" };
    const answer = await send(server.url, "POST", path, { headers, body: `\ufeff${JSON.stringify(body)}` });
    assert.equal(answer.status, 204, answer.text);
    for (const [type, text] of [
      ["application/json; charset=utf-8", "\ufeff{}"],
      ["application/json", "\ufeff"],
    ]) {
      const closing = await send(server.url, "POST", `/api/user/${pesel}/closing`, {
        headers: { "content-type": type as string },
        body: text,
      });
      isProblem(closing, "account-not-empty");
    }
  });

  test("A body that breaks off changes nothing", async () => {
    for (const how of ["end", "destroy", "resetAndDestroy"] as const) {
      for (const wholeHead of [withLength, withChunks]) {
        const { path, body } = requests().create;
        const bytes = Buffer.from(JSON.stringify(body));
        const { socket, closed } = await openConnection(server.url);
        socket.write(wholeHead(path, bytes));
        socket.write(wholeHead === withLength ? bytes.subarray(0, -1) : chunk(bytes));
        await sleep(20);
        socket[how]();
        await closed;
        isProblem(await send(server.url, "GET", `/api/user/${body.pesel}`), "account-not-found");
      }
    }
    assert.equal(server.log().includes('"code":"internal"'), false);
  });
});

describe("a large body", () => {
  const limit = 16 * 1024;
  const padded = (bytes: number) => {
    const { path, body } = requests().create;
    return { path, text: JSON.stringify(body) + " ".repeat(bytes - Buffer.byteLength(JSON.stringify(body))) };
  };

  test("A body above 16 KiB is refused by its Content-Length or by what came, and the largest is taken", async () => {
    for (const [bytes, status] of [
      [limit, 204],
      [limit + 1, 400],
      [100_000, 400],
    ] as const) {
      for (const isChunked of [false, true]) {
        const { path, text } = padded(bytes);
        const form = isChunked ? "Transfer-Encoding: chunked" : length(text);
        const pieces = isChunked ? chunked(5000)(Buffer.from(text)) : [text];
        const answer = await answerTo(server.url, head(path, form), ...pieces);
        assert.ok(answer.startsWith(`HTTP/1.1 ${status} `), answer);
      }
    }
  });
});

const posts = Object.values<Operation>(operations).filter(({ method }) => method === "POST");

describe("requests of which a part would not be read", () => {
  const trailer = "Idempotency-Key: k";
  const utf16 = "Content-Type: application/json; charset=utf-16";
  /** Each case has a content type, further headers, and trailer fields. */
  const cases: readonly [what: string, type: string, more: string[], fields: string[]][] = [
    ["a key after the body", "application/json", [], [trailer]],
    ["a key after the body, announced", "application/json", ["Trailer: Idempotency-Key"], [trailer]],
    ["a table after the body", "application/json", [], ["Fx-Table: 1/C/NBP/2026"]],
    ["any field after the body", "application/json", ["Trailer: X"], ["X: 1"]],
    ["a type given twice", "application/json", ["Content-Type: application/json"], []],
    ["a second type in another charset", "application/json", [utf16], []],
    ["two keys", "application/json", [trailer, trailer], []],
    ["two keys that differ", "application/json", [trailer, "idempotency-key: l"], []],
    ["two tables", "application/json", ["Fx-Table: 1/C/NBP/2026", "Fx-Table: 1/C/NBP/2026"], []],
    ...[
      "charset=utf-16",
      "charset=UTF-16LE",
      'charset="iso-8859-2"',
      "charset=windows-1250",
      "charset = utf-16",
      "charset=utf-8; charset=utf-16",
      'charset="utf\\-16"',
      "charset=",
      "charset*=utf-16",
    ].map((charset): [string, string, string[], string[]] => [
      charset,
      `application/json; ${charset}`,
      [],
      [],
    ]),
  ];
  const post = (path: string, type: string, more: string[], fields: string[], body: string | Buffer) => {
    const headers = [`Content-Type: ${type}`, ...more, "Transfer-Encoding: chunked"];
    const last = ["0", ...fields, "", ""].join("\r\n");
    return answerTo(server.url, headOf(`POST ${path}`, ...headers), chunk(Buffer.from(body)), last);
  };
  const state = async () => (await send(server.url, "GET", `/api/user/${pesel}`)).text;

  for (const [what, type, more, fields] of cases) {
    test(`A request with ${what} is refused with 400, and nothing is done`, async () => {
      const before = await state();
      const { create, ...others } = requests();
      for (const { path, body } of [...Object.values(others), create]) {
        assert.match(
          await post(path, type, more, fields, JSON.stringify(body)),
          /^HTTP\/1\.1 400 .*"invalid-request"/s,
        );
      }
      isProblem(await send(server.url, "GET", `/api/user/${create.body.pesel}`), "account-not-found");
      assert.equal(await state(), before);
    });
  }

  for (const charset of [
    "",
    ";charset=utf-8",
    "; charset=UTF-8",
    '; charset="utf-8"',
    "; charset=us-ascii",
    "; q=1",
  ]) {
    test(`A request is carried out with the type application/json${charset}`, async () => {
      const { path, body } = requests().create;
      assert.match(
        await post(path, `application/json${charset}`, [], [], JSON.stringify(body)),
        /^HTTP\/1\.1 204 /,
      );
    });
  }

  test("A batch in another charset, or with announced trailer fields, is refused with 400", async () => {
    const line = `${JSON.stringify(requests().exchange.body)}\n`;
    const before = await state();
    const type = "application/x-ndjson";
    assert.match(await post("/api/bulk", `${type}; charset=utf-16`, [], [], line), /^HTTP\/1\.1 400 /);
    assert.match(
      await post("/api/bulk", type, ["Trailer: Idempotency-Key"], [trailer], line),
      /^HTTP\/1\.1 400 /,
    );
    assert.equal(await state(), before);
  });
});

describe("a compressed body", () => {
  const codings = "gzip br deflate zstd x-gzip GZIP gzip,identity identity,gzip none utf-8".split(" ");
  test("A compressed body is refused with 400 at every operation, and in any coding", async () => {
    const body = gzipSync(JSON.stringify({ amount: 1, currency: "PLN" }));
    for (const [index, operation] of posts.entries()) {
      for (const coding of index === 0 ? codings : ["gzip"]) {
        const headers = { "content-type": typeOf(operation), "content-encoding": coding };
        const answer = await send(server.url, "POST", pathOf(operation), { headers, body });
        assert.match(isProblem(answer, "invalid-request").detail, /compressed/, coding);
      }
    }
  });

  test("A body compressed by its transfer coding is refused with 400", async () => {
    for (const coding of ["gzip, chunked", "deflate, chunked", "x, chunked"]) {
      const body = gzipSync(JSON.stringify({ amount: 1, currency: "PLN" }));
      const deposit = head(`/api/user/${pesel}/deposits`, `Transfer-Encoding: ${coding}`);
      assert.match(await answerTo(server.url, deposit, ...chunked(100)(body)), /^HTTP\/1\.1 400 /);
    }
  });

  test("A compressed body is refused before it is sent", async () => {
    const deposit = head(`/api/user/${pesel}/deposits`, "Content-Encoding: gzip", "Content-Length: 100");
    assert.match(await answerTo(server.url, deposit), /^HTTP\/1\.1 400 [\s\S]*"code":"invalid-request"/);
  });

  test("A body with Content-Encoding: identity is taken", async () => {
    for (const coding of ["identity", "Identity", ""]) {
      const { path, body } = requests().create;
      const headers = { "content-type": "application/json", "content-encoding": coding };
      assert.equal((await send(server.url, "POST", path, { headers, body })).status, 204, coding);
    }
    const headers = { "content-encoding": "gzip" };
    assert.equal((await send(server.url, "GET", `/api/user/${pesel}`, { headers })).status, 200);
  });
});

test("a request with two Host headers is refused with 400, whatever they say", async () => {
  for (const operation of Object.values<Operation>(operations)) {
    for (const hosts of [
      ["localhost", "localhost"],
      ["localhost", "evil.example"],
      ["evil.example", "localhost"],
    ]) {
      const head = headOf(`${operation.method} ${pathOf(operation)}`, `hOST: ${hosts[1]}`);
      const answer = await answerTo(server.url, head.replace("localhost", hosts[0] as string));
      assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*more than one Host[\s\S]*"code":"invalid-request"/);
    }
  }
});
