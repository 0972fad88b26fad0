import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openHttpService } from "../../src/client/http-service.ts";
import type { Receipt } from "../../src/core/journal.ts";
import { encodeEvents } from "../../src/wire/event-stream.ts";
import { opening } from "../support/fixture.ts";
import { openInstance } from "../support/server.ts";
import { refuses } from "../support/service.ts";
import { openStandIn, problemAnswer, rawAnswer } from "../support/stand-in.ts";

const type = "Content-Type: text/event-stream";

/** Receipts of three openings. */
async function receipts(): Promise<readonly Receipt[]> {
  const { service } = await openInstance();
  for (const index of [1, 2, 3]) await service.createAccount(opening({ index }));
  const { items } = await service.entries({ limit: 3 });
  await service.close();
  return items;
}
const entries = await receipts();

/** The ids that a follower gets of these answers, until as many came as there are entries, and the requests for them. */
async function followed(...answers: string[]) {
  const { url, requests } = await openStandIn(...answers);
  const service = openHttpService(url, { pauseMs: 1 });
  const ids: string[] = [];
  for await (const chunk of service.follow({})) {
    ids.push(...chunk.map(({ id }) => id));
    if (ids.length >= entries.length) break;
  }
  await service.close();
  return { ids, asked: requests.map((text) => /after=([\w-]+)/.exec(text)?.[1]) };
}

const events = (from: number, to: number) => encodeEvents(entries.slice(from, to));
const allIds = entries.map(({ id }) => id);

describe("following entries over HTTP", () => {
  for (let cut = 0; cut < events(0, 3).length; cut += 97) {
    test(`A follower that is cut after ${cut} bytes goes on behind the last whole entry`, async () => {
      const { ids, asked } = await followed(
        rawAnswer(200, events(0, 1), type),
        rawAnswer(200, events(1, 3).slice(0, cut), type),
        rawAnswer(200, events(1 + events(1, 3).slice(0, cut).split("}\n\n").length - 1, 3), type),
      );
      assert.deepEqual(ids, allIds);
      assert.deepEqual(asked.slice(0, 2), [undefined, allIds[0]]);
    });
  }

  test("A follower waits for a server that it has reached, and that is busy, away or without its database", async () => {
    const { ids } = await followed(
      rawAnswer(200, events(0, 2), type),
      "die",
      problemAnswer(503, "overloaded"),
      problemAnswer(500, "storage-unavailable"),
      rawAnswer(502),
      "die",
      rawAnswer(200, events(2, 3), type),
    );
    assert.deepEqual(ids, allIds);
  });

  test("A follower whose token is refused, later, too, ends with the reason", async () => {
    await refuses(
      followed(rawAnswer(200, events(0, 1), type), problemAnswer(401, "unauthorized")),
      "unauthorized",
    );
  });

  test("A follower of a server that it has never reached fails at once", async () => {
    await refuses(followed(problemAnswer(500, "storage-unavailable")), "storage-unavailable");
  });

  test("A follower of what is not fx fails, saying so", async () => {
    await refuses(followed(rawAnswer(200)), "unreachable", /is not fx \(status 200, text\/html\)/);
    await refuses(
      followed(rawAnswer(200, "data: 1\n\n", type)),
      "unreachable",
      /is not fx \(malformed event\)/,
    );
  });
});
