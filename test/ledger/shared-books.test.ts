import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { AuditReport, Position } from "../../src/core/service.ts";
import { type Books, booksOf } from "../../src/ledger/books.ts";
import { readJournal } from "../../src/ledger/journal-reader.ts";
import { pacedReader } from "../../src/ledger/pace.ts";
import { sharedBooks } from "../../src/ledger/shared-books.ts";
import type { Store } from "../../src/ledger/store.ts";
import { adult, now, opening, terms } from "../support/fixture.ts";
import { openInstance } from "../support/server.ts";
import { refuses } from "../support/service.ts";

/** Books whose audits and positions last until they are let go; `events` tells what is done. */
function slowBooks() {
  const events: string[] = [];
  const underWay: (() => void)[] = [];
  const work = (name: string, signal: AbortSignal | undefined) => {
    events.push(`${name} begins`);
    return new Promise<never>((resolve, reject) => {
      underWay.push(() => resolve(name as never));
      signal?.addEventListener("abort", () => {
        events.push(`${name} ends`);
        reject(new Error("ended"));
      });
    });
  };
  const books = sharedBooks({
    audit: (options): Promise<AuditReport> =>
      work(options?.onHeads ? "checkpoint" : "audit", options?.signal),
    position: (at, signal): Promise<Position> => work(`position ${at?.getTime() ?? "now"}`, signal),
    export: async function* () {},
    close: async () => {},
  } satisfies Books);
  /** Waits until so many have happened. */
  const happened = async (count: number) => {
    while (events.length < count) await pause(5);
  };
  /** Lets the next one go, as soon as it has begun. */
  const letGo = async () => {
    while (underWay.length === 0) await pause(5);
    underWay.shift()?.();
  };
  return { books, events, happened, letGo };
}

describe("books for many who ask at once", () => {
  test("are audited once for all who ask before the audit begins, and once more for all who ask later", async () => {
    const { books, events, happened, letGo } = slowBooks();
    const first = books.audit();
    await happened(1);
    const later = [books.audit(), books.audit(), books.audit()];
    await letGo();
    await first;
    await letGo();
    await Promise.all(later);
    assert.deepEqual(events, ["audit begins", "audit begins"]);
  });

  test("are read for one time after the other, and once for all who ask about the same", async () => {
    const { books, events, letGo } = slowBooks();
    const asked = [1, 2, 1].map((time) => books.position(new Date(time)));
    for (const _ of [1, 2]) await letGo();
    assert.deepEqual(await Promise.all(asked), ["position 1", "position 2", "position 1"]);
    assert.deepEqual(events, ["position 1 begins", "position 2 begins"]);
  });

  test("are not read on when the last who waited has gone", async () => {
    const { books, events, happened } = slowBooks();
    const [one, other] = [new AbortController(), new AbortController()];
    const asked = [one, other].map(({ signal }) => books.audit({ signal }));
    const ended = Promise.allSettled(asked);
    await happened(1);
    one.abort();
    await pause(20);
    assert.deepEqual(events, ["audit begins"]);
    other.abort();
    for (const result of await ended) {
      assert.equal(result.status === "rejected" && result.reason.code, "unreachable");
    }
    assert.deepEqual(events, ["audit begins", "audit ends"]);
  });

  test("are not read at all for one who has gone before his turn", async () => {
    const { books, events, happened, letGo } = slowBooks();
    const first = books.audit();
    await happened(1);
    const gone = new AbortController();
    const { signal } = gone;
    const asked = [books.audit({ signal, onHeads: async () => {} }), books.audit({ signal })];
    const ended = Promise.allSettled(asked);
    gone.abort();
    await letGo();
    await first;
    assert.equal(
      (await ended).every(({ status }) => status === "rejected"),
      true,
    );
    assert.deepEqual(events, ["audit begins"]);
  });

  test("are refused when sixteen others wait", async () => {
    const { books, happened } = slowBooks();
    void books.position(new Date(0));
    await happened(1);
    for (let time = 1; time <= 16; time += 1) void books.position(new Date(time));
    const refusal = await refuses(books.position(new Date(17)), "overloaded");
    assert.equal(refusal.retryAfterSeconds, 5);
    void books.audit();
  });
});

describe("books that are read in the pauses of orders", () => {
  test("say what they say without pauses", async (t) => {
    const { store, service } = await openInstance();
    t.after(() => service.close());
    for (let index = 0; index < 40; index += 1) {
      await service.createAccount(opening({ index }));
      await service.exchange({ ...terms("buy 10 USD for PLN"), pesel: adult(index) });
    }
    const paced = booksOf(store, pacedReader(store));
    assert.deepEqual(await paced.audit(), await booksOf(store).audit());
    assert.deepEqual(await paced.position(now), await booksOf(store).position(now));
  });

  test("wait for what others have taken, also for their first page", async () => {
    let pages = 0;
    const entries = async () => {
      pages += 1;
      for (const end = performance.now() + 50; performance.now() < end; );
      return [];
    };
    const reader = pacedReader({ entries } as unknown as Store);
    const first = reader(undefined);
    await first.entries({ limit: 1 });
    const both = [first.entries({ limit: 1 }), reader(undefined).entries({ limit: 1 })];
    // Others have work all the time, or nobody would have to wait.
    for (let turns = 0; turns < 1000; turns += 1) await nextTurn();
    assert.equal(pages, 1);
    await Promise.all(both);
    assert.equal(pages, 3);
  });

  test("read few entries of the journal at a time", async () => {
    const asked: number[] = [];
    const journal: Store["journal"] = async ({ limit }) => {
      asked.push(limit);
      return { rows: [], next: asked.length < 3 ? [asked.length] : undefined };
    };
    const store = pacedReader({ journal } as unknown as Store)(undefined);
    for await (const _rows of readJournal(store)) {
    }
    assert.equal(asked.length, 3);
    assert.ok(Math.max(...asked) <= 125, `${asked}`);
  });

  test("are not read on when the signal says so", async (t) => {
    const { store, service } = await openInstance();
    t.after(() => service.close());
    const { audit, position } = booksOf(store, pacedReader(store));
    const signal = AbortSignal.abort();
    await refuses(audit({ signal }), "unreachable");
    await refuses(position(undefined, signal), "unreachable");
  });
});
