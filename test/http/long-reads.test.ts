import assert from "node:assert/strict";
import { once } from "node:events";
import { Readable } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { FxError } from "../../src/core/errors.ts";
import type { BulkLine, Till, TillRequest } from "../../src/core/service.ts";
import { sendSlow } from "../../src/http/answers.ts";
import { LongReads } from "../../src/http/long-reads.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Caller } from "../../src/wire/role.ts";
import { engines } from "../support/adapters.ts";
import { exported } from "../support/bookkeeping.ts";
import { adult, now, opening, table, terms, today, tradedRates } from "../support/fixture.ts";
import { openGate } from "../support/gate.ts";
import { isProblem, send } from "../support/http.ts";
import { openConnection } from "../support/raw-connection.ts";
import { startServer } from "../support/server.ts";
import { refuses } from "../support/service.ts";
import { until } from "../support/until.ts";

const { signal: staying } = new AbortController();

/** Reads that last until they are released; `events` is the log of what they did. */
function slowReads(mostWaiting = 16) {
  const events: string[] = [];
  const underWay: (() => void)[] = [];
  const reads = new LongReads(mostWaiting);
  const read = (name: string, caller = staying, key: string | undefined = name) =>
    reads.run(key, caller, (signal) => {
      events.push(`${name} begins`);
      return new Promise<string>((resolve, reject) => {
        underWay.push(() => resolve(name));
        signal.addEventListener("abort", () => {
          events.push(`${name} ends`);
          reject(new Error("ended"));
        });
      });
    });
  const happened = (count: number) => until(() => events.length >= count);
  /** Lets the next one go, as soon as it has begun. */
  const letGo = async () => {
    await until(() => underWay.length > 0);
    underWay.shift()?.();
  };
  return { reads, read, events, happened, letGo };
}

describe("long reads", () => {
  test("An audit is made once for all who ask before it begins, and once more for all who ask later", async () => {
    const { read, events, happened, letGo } = slowReads();
    const first = read("audit");
    await happened(1);
    const later = [read("audit"), read("audit"), read("audit")];
    await letGo();
    await first;
    await letGo();
    await Promise.all(later);
    assert.deepEqual(events, ["audit begins", "audit begins"]);
  });

  test("Different reads are done one after the other", async () => {
    const { read, events, letGo } = slowReads();
    const asked = ["position 1", "audit", "position 1"].map((name) => read(name));
    for (const _ of [1, 2]) await letGo();
    assert.deepEqual(await Promise.all(asked), ["position 1", "audit", "position 1"]);
    assert.deepEqual(events, ["position 1 begins", "audit begins"]);
  });

  test("An audit ends when the last client that waited for it has gone, and not before", async () => {
    const { read, events, happened } = slowReads();
    const [one, other] = [new AbortController(), new AbortController()];
    const ended = Promise.allSettled([one, other].map(({ signal }) => read("audit", signal)));
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

  test("Nothing is read for a client that has gone before its turn", async () => {
    const { read, events, happened, letGo } = slowReads();
    const first = read("audit");
    await happened(1);
    const gone = new AbortController();
    const ended = Promise.allSettled([
      read("checkpoint", gone.signal, undefined),
      read("audit", gone.signal),
    ]);
    gone.abort();
    await letGo();
    await first;
    assert.ok((await ended).every(({ status }) => status === "rejected"));
    assert.deepEqual(events, ["audit begins"]);
  });

  test("A read is refused while as many wait as may", async () => {
    const { read, events, happened, letGo } = slowReads(2);
    const first = read("first");
    await happened(1);
    const waiting = [read("second"), read("third")];
    const refusal = await refuses(read("fourth"), "overloaded");
    assert.equal(refusal.retryAfterSeconds, 5);
    for (const _ of [first, ...waiting]) await letGo();
    await Promise.all([first, ...waiting]);
    assert.deepEqual(events, ["first begins", "second begins", "third begins"]);
  });

  test("Reads whose clients have gone before their turn take no places of others", async () => {
    const { read, events, happened, letGo } = slowReads(2);
    const first = read("first");
    await happened(1);
    const gone = new AbortController();
    const left = Promise.allSettled(["second", "third"].map((name) => read(name, gone.signal)));
    gone.abort();
    const last = [read("fourth"), read("fifth")];
    for (const _ of [first, ...last]) await letGo();
    assert.deepEqual(await Promise.all([first, ...last]), ["first", "fourth", "fifth"]);
    assert.deepEqual(events, ["first begins", "fourth begins", "fifth begins"]);
    assert.ok((await left).every(({ status }) => status === "rejected"));
  });

  test("One read that fails does not keep the next from being done", async () => {
    const reads = new LongReads(2);
    const failed = reads.run("one", staying, () => Promise.reject(new Error("the disk is gone")));
    await assert.rejects(failed, { message: "the disk is gone" });
    assert.equal(await reads.run("two", staying, async () => 2), 2);
  });

  test("Two tokens that ask for the same URL have each their own answer, and one that asks twice shares a read", async (t) => {
    const { passed, release } = openGate();
    const read: unknown[] = [];
    const till = async ({ by }: TillRequest): Promise<Till> => {
      read.push(by);
      await passed;
      return { date: today, by, currencies: [], entries: 0, first: undefined, last: undefined, digest: "" };
    };
    const callerOf = (authorization: string): Caller => {
      return { name: authorization.replace("Bearer ", ""), role: "teller", expires: undefined };
    };
    const server = await startServer({ till }, "", { tokens: { callerOf } });
    t.after(() => server.close());
    let arrived = 0;
    server.app.server.on("request", () => (arrived += 1));
    const tillOf = async (name: string) => {
      const headers = { authorization: `Bearer ${name}` };
      const answer = await fetch(`${server.url}/api/till`, { headers });
      return ((await answer.json()) as Till).by;
    };
    const first = tillOf("anna");
    await until(() => read.length > 0);
    const waiting = ["anna", "ewa", "anna"].map(tillOf);
    await until(() => arrived === 4);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    release();
    assert.deepEqual(await Promise.all([first, ...waiting]), ["anna", "anna", "ewa", "anna"]);
    assert.deepEqual(read.sort(), ["anna", "anna", "ewa"]);
  });

  test("Reads that wait take no place of a batch", async (t) => {
    const gate = new AbortController();
    const position = () => new Promise<never>((_, reject) => gate.signal.addEventListener("abort", reject));
    const server = await startServer({ position });
    t.after(() => server.close());
    const { signal } = gate;
    const reads = Array.from({ length: 70 }, () => fetch(`${server.url}/api/position`, { signal }));
    const ended = Promise.allSettled(reads);
    await until(() => server.app.server.listening);
    await pause(300);
    const line = JSON.stringify({ name: "Jan", surname: "Kowalski", pesel: adult(), pln: 1, key: "1" });
    const headers = { "content-type": "application/x-ndjson" };
    const bulk = await fetch(`${server.url}/api/bulk`, { method: "POST", headers, body: `${line}\n` });
    assert.equal(bulk.status, 200);
    assert.match(await bulk.text(), /"status":204/);
    gate.abort();
    await ended;
  });

  test("An answer that fails while nobody reads it is no unhandled rejection", async () => {
    const failed = new Error("the client has gone");
    for (let count = 1; count <= 40; count += 1) {
      const gate = new AbortController();
      async function* parts() {
        for (let part = 0; part < count; part += 1) yield "part";
        await once(gate.signal, "abort");
        throw failed;
      }
      let stream = Readable.from([]);
      const reply = {
        type: () => reply,
        headers: () => reply,
        raw: {},
        send: (sent: Readable) => (stream = sent),
      };
      const lifecycle = { add: () => {} };
      await sendSlow({} as never, reply as never, { lifecycle: lifecycle as never }, { parts: parts() });
      const isRead = once(
        stream.on("error", () => {}),
        "readable",
      );
      stream.read(0);
      await isRead;
      for (let turn = 0; turn < 5; turn += 1) await nextTurn();
      gate.abort();
      stream.destroy();
      for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    }
  });

  test("Four exports are made at once, and a fifth is refused until one of them ends", async (t) => {
    const gate = new AbortController();
    const server = await startServer({
      export: async function* () {
        yield "head\n";
        await pause(60_000, undefined, { signal: gate.signal }).catch(() => {});
      },
    });
    t.after(() => server.close());
    const path = "/api/export?format=csv";
    const four = await Promise.all([1, 2, 3, 4].map(() => openConnection(server.url)));
    for (const connection of four) connection.get(path);
    for (const connection of four) await connection.until(/head/);
    isProblem(await send(server.url, "GET", path), "overloaded");
    const [first] = four;
    first?.reset();
    await until(() => server.log().includes('"route":"/api/export","status":200'));
    gate.abort();
    assert.equal((await send(server.url, "GET", path)).status, 200);
    for (const { socket } of four) socket.destroy();
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
const entries = 10_000;

for (const { name, open } of engines) {
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
    let done = 0;
    for await (const answers of service.bulk(lines())) {
      // A machine that stands still for ten seconds has what waited refused.
      done += answers.filter((answer) => !(answer instanceof FxError)).length;
    }
    assert.ok(done > entries / 2, `${done} entries`);
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
    return { ...server, done };
  };

  describe(`while the whole journal is read in a server, ${name}`, () => {
    test("Other requests are not held up for more than 0.2 s, orders go on, and an audit ends with its client, or clean.", async (t) => {
      const { url, service, done } = await startLarge(t);
      const gone = new AbortController();
      const left = fetch(`${url}/api/audit`, { signal: gone.signal });
      await pause(20);
      gone.abort();
      await assert.rejects(left);
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
      assert.ok(read >= done, `${read} of ${done} entries`);
      assert.ok(placed >= 10, `${placed} orders`);
      assert.ok(longestMs <= 200, `${longestMs} ms`);
    });
  });
}
