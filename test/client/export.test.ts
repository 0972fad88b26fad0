import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openHttpService } from "../../src/client/http-service.ts";
import { exported } from "../support/bookkeeping.ts";
import { refuses } from "../support/service.ts";
import { openStandIn, problemAnswer, rawAnswer } from "../support/stand-in.ts";

const whole = "id,time\na,b\nend of export: 1 entries,\n";
const type = "Content-Type: text/csv; charset=utf-8";

/** What the client makes of these answers. */
async function asked(...answers: string[]): Promise<string> {
  const { url } = await openStandIn(...answers);
  return exported(openHttpService(url), { format: "csv" });
}

/** In chunks, without the one that ends the body. */
const unfinished = (body: string) =>
  `HTTP/1.1 200 OK\r\n${type}\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`;

describe("an export over HTTP", () => {
  test("that ends with its last line is given as it is", async () => {
    assert.equal(await asked(rawAnswer(200, whole, type)), whole);
  });

  for (const [what, answer] of [
    ["without its last line", rawAnswer(200, whole.split("\n").slice(0, 2).join("\n"), type)],
    ["whose connection breaks", unfinished("id,time\na,b\n")],
    ["of nothing", rawAnswer(200, "", type)],
  ] as const) {
    test(`${what} is told as broken off`, async () => {
      await refuses(asked(answer), "unreachable", /^The export from .* broke off before its end\.$/);
    });
  }

  test("whose connection breaks after its last line is whole", async () => {
    assert.equal(await asked(unfinished(whole)), whole);
  });

  test("that is refused fails with what the server says", async () => {
    await refuses(asked(problemAnswer(503, "overloaded")), "overloaded");
  });

  test("of what is not fx is told so", async () => {
    await refuses(asked(rawAnswer(404)), "internal", /is not fx \(status 404, text\/html\)/);
    await refuses(asked(rawAnswer(200)), "internal", /is not fx \(status 200, text\/html\)/);
  });

  test("that gets no answer is told as unreachable", async () => {
    await refuses(asked("die"), "unreachable");
  });
});
