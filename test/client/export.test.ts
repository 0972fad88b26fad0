import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openHttpService } from "../../src/client/http-service.ts";
import { exported } from "../support/bookkeeping.ts";
import { refuses } from "../support/service.ts";
import { openStandIn, rawAnswer } from "../support/stand-in.ts";

const whole = "id,time\na,b\nend of export: 1 entries,\n";
const type = "Content-Type: text/csv; charset=utf-8";

/** The client's result for these answers. */
async function asked(...answers: string[]): Promise<string> {
  const { url } = await openStandIn(...answers);
  return exported(openHttpService(url), { format: "csv" });
}

/** An answer in chunks, without the one that ends the body. */
const unfinished = (body: string) =>
  `HTTP/1.1 200 OK\r\n${type}\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`;

describe("an export over HTTP", () => {
  test("An export that ends with its last line is returned unchanged", async () => {
    assert.equal(await asked(rawAnswer(200, whole, type)), whole);
  });

  for (const [what, answer] of [
    ["without its last line", rawAnswer(200, whole.split("\n").slice(0, 2).join("\n"), type)],
    ["whose connection breaks", unfinished("id,time\na,b\n")],
    ["of nothing", rawAnswer(200, "", type)],
  ] as const) {
    test(`An export ${what} is reported as broken off`, async () => {
      await refuses(asked(answer), "unreachable", /^The export from .* broke off before its end\.$/);
    });
  }

  test("An export whose connection breaks after its last line is whole", async () => {
    assert.equal(await asked(unfinished(whole)), whole);
  });
});
