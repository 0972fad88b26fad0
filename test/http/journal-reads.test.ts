import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { AuditReport, BulkLine, Position } from "../../src/core/service.ts";
import { JournalReads } from "../../src/http/journal-reads.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { adapters } from "../support/adapters.ts";
import { exported } from "../support/bookkeeping.ts";
import { adult, now, opening, table, terms, tradedRates } from "../support/fixture.ts";
import { send } from "../support/http.ts";
import { startServer } from "../support/server.ts";
import { refuses } from "../support/service.ts";

const { signal: staying } = new AbortController();

/** Reads of a service whose audits and positions last until they are let go; `events` tells what is done. */
function slowReads() {
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
  const reads = new JournalReads({
    audit: (options): Promise<AuditReport> =>
      work(options?.onHeads ? "checkpoint" : "audit", options?.signal),
    position: (at, signal): Promise<Position> => work(`position ${at?.getTime() ?? "now"}`, signal),
    export: async function* () {
      yield "head\n";
      yield "end\n";
    },
  });
  /** Waits until so many have happened. */
  const happened = async (count: number) => {
    while (events.length < count) await pause(5);
  };
  /** Lets the next one go, as soon as it has begun. */
  const letGo = async () => {
    while (underWay.length === 0) await pause(5);
    underWay.shift()?.();
  };
  return { reads, events, happened, letGo };
}

describe("reads of the whole journal", () => {
  test("An audit is made once for all who ask before it begins, and once more for all who ask later.", async () => {
    const { reads, events, happened, letGo } = slowReads();
    const first = reads.audit(staying);
    await happened(1);
    const later = [reads.audit(staying), reads.audit(staying), reads.audit(staying)];
    await letGo();
    await first;
    await letGo();
    await Promise.all(later);
    assert.deepEqual(events, ["audit begins", "audit begins"]);
  });

  test("Positions are read for one time after the other, and once for all who ask about the same.", async () => {
    const { reads, events, letGo } = slowReads();
    const asked = [1, 2, 1].map((time) => reads.position(new Date(time), staying));
    for (const _ of [1, 2]) await letGo();
    assert.deepEqual(await Promise.all(asked), ["position 1", "position 2", "position 1"]);
    assert.deepEqual(events, ["position 1 begins", "position 2 begins"]);
  });

  test("An audit ends when the last client that waited for it has gone, and not before.", async () => {
    const { reads, events, happened } = slowReads();
    const [one, other] = [new AbortController(), new AbortController()];
    const ended = Promise.allSettled([one, other].map(({ signal }) => reads.audit(signal)));
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

  test("Nothing is read for a client that has gone before its turn.", async () => {
    const { reads, events, happened, letGo } = slowReads();
    const first = reads.audit(staying);
    await happened(1);
    const gone = new AbortController();
    const onHeads = async () => {};
    const ended = Promise.allSettled([reads.checkpoint({ onHeads }, gone.signal), reads.audit(gone.signal)]);
    gone.abort();
    await letGo();
    await first;
    assert.ok((await ended).every(({ status }) => status === "rejected"));
    assert.deepEqual(events, ["audit begins"]);
  });

  test("A position is refused when sixteen others wait, and an audit is not.", async () => {
    const { reads, events, happened } = slowReads();
    void reads.position(new Date(0), staying);
    await happened(1);
    for (let time = 1; time <= 16; time += 1) void reads.position(new Date(time), staying);
    const refusal = await refuses(reads.position(new Date(17), staying), "overloaded");
    assert.equal(refusal.retryAfterSeconds, 5);
    void reads.audit(staying);
    await happened(2);
    assert.deepEqual(events, ["position 0 begins", "audit begins"]);
  });

  test("Four exports are made at once, and a fifth is refused until one of them ends.", async () => {
    const { reads } = slowReads();
    const open = () => reads.export({ format: "csv", full: false })[Symbol.asyncIterator]();
    const four = Array.from({ length: 4 }, open);
    for (const parts of four) assert.equal((await parts.next()).value, "head\n");
    await assert.rejects(open().next(), { code: "overloaded" });
    await four[0]?.return?.(undefined);
    assert.equal((await open().next()).value, "head\n");
  });
});

/**
 * Measures the longest turn of the event loop until it is called. It is the processor time that counts: what other
 * processes take of it says nothing about this one.
 */
function longestTurn(): () => number {
  let longest = 0;
  let last = process.cpuUsage();
  let timer: NodeJS.Immediate;
  const turn = () => {
    const { user, system } = process.cpuUsage(last);
    longest = Math.max(longest, user + system);
    last = process.cpuUsage();
    timer = setImmediate(turn);
  };
  timer = setImmediate(turn);
  return () => {
    clearImmediate(timer);
    return longest / 1000;
  };
}

const accounts = 1000;
const entries = 20_000;

for (const { name, open } of adapters) {
  /** A server over a large ledger, whose service rests between pages. */
  const startLarge = async (t: TestContext) => {
    const store = await open(t);
    await store.saveTables([table]);
    const service = new LedgerService(store, await tradedRates(store), () => now, { rests: true });
    const lines = async function* (): AsyncGenerator<BulkLine[]> {
      yield Array.from({ length: accounts }, (_, index) => ({ kind: "opening", ...opening({ index }) }));
      for (let start = accounts; start < entries; start += accounts) {
        yield Array.from({ length: accounts }, (_, index) => ({
          kind: "exchange",
          pesel: adult(index),
          ...terms("buy 0.01 USD for PLN"),
        }));
      }
    };
    for await (const _answers of service.bulk(lines())) {
    }
    const server = await startServer(
      {
        audit: (options) => service.audit(options),
        position: (at, signal) => service.position(at, signal),
        export: (request) => service.export(request),
        // The store is closed after the test.
        close: async () => {},
      },
      "",
      { store },
    );
    t.after(() => server.close());
    return server;
  };

  describe(`while the whole journal is read in a server, ${name}`, () => {
    test("Other requests are not held up for more than 0.2 s, orders go on, and the audit ends and is clean.", {
      timeout: 180_000,
    }, async (t) => {
      const { url, service } = await startLarge(t);
      let isOver = false;
      const reads = Promise.all([
        send(url, "GET", "/api/audit"),
        send(url, "GET", "/api/position"),
        exported(service, { format: "csv" }),
      ]).finally(() => {
        isOver = true;
      });
      const held = longestTurn();
      let placed = 0;
      for (; !isOver; placed += 1) {
        await service.exchange({ pesel: adult(placed % accounts), ...terms("buy 0.01 USD for PLN") });
        await send(url, "GET", `/api/user/${adult()}`);
      }
      const [audit, position] = await reads;
      const longestMs = held();
      const { findings, entries: read } = audit.json as { findings: object[]; entries: number };
      assert.deepEqual([audit.status, position.status, findings], [200, 200, []]);
      assert.ok(read >= entries, `${read} entries`);
      assert.ok(placed >= 10, `${placed} orders`);
      assert.ok(longestMs <= 200, `${longestMs} ms`);
    });

    test("A client that goes ends its audit, and the next one is made.", async (t) => {
      const { url } = await startLarge(t);
      const gone = new AbortController();
      const asked = fetch(`${url}/api/audit`, { signal: gone.signal });
      await pause(50);
      gone.abort();
      await assert.rejects(asked);
      const { status, json } = await send(url, "GET", "/api/audit");
      assert.deepEqual([status, (json as { findings: object[] }).findings], [200, []]);
    });
  });
}
