import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { LedgerService } from "../../src/ledger/service.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { adult, fixedRates, opening } from "../support/fixture.ts";
import { createDatabase, type PostgresServer, runSql, startPostgres } from "../support/postgres.ts";
import { type Served, startFx } from "../support/run-fx.ts";
import { assertSettledOnce, centOrder, type OrderAnswer, sendOrder, summary } from "./orders.ts";

const accounts = 20;
const clients = 32;

export interface FailoverReport {
  /** Orders answered 200, and found on the standby. */
  readonly answered: number;
  /** Of those, before the primary was killed. */
  readonly answeredBefore: number;
  /** Orders that got no 200 in time, and were sent again with their keys. */
  readonly unanswered: number;
  /** From the kill until the standby took writes. */
  readonly promotedMs: number;
  /** The longest pause between two answers of one client. */
  readonly gapMs: { readonly median: number; readonly max: number };
  /** The longest pause that a client saw after the standby took writes. */
  readonly gapAfterPromotionMs: { readonly median: number; readonly max: number };
}

export interface FailoverOptions {
  /** Of load, before the kill and after the first answers after it. */
  readonly seconds: number;
  /** From the kill to the order to promote: what it takes somebody to notice. */
  readonly noticeMs?: number;
}

/**
 * A primary with a synchronous standby, and two `fx serve` that know both. All processes of the primary are killed with
 * SIGKILL under load, and the standby is promoted. Whatever was answered 200 must then be on the standby once.
 */
export async function failover({ seconds, noticeMs = 1000 }: FailoverOptions): Promise<FailoverReport> {
  const servers: PostgresServer[] = [];
  const services: Served[] = [];
  try {
    const settings = { synchronous_standby_names: "standby", synchronous_commit: "on" };
    const primary = await startPostgres({ durable: true, settings });
    servers.push(primary);
    const standby = await startPostgres({ durable: true, standbyOf: primary });
    servers.push(standby);
    await until(primary.url, "select from pg_stat_replication where sync_state = 'sync'");
    const { url } = await createDatabase(primary.url);
    await openAccounts(url);

    const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`;
    const env = { FX_DB: `${url.replace(/127\.0\.0\.1:\d+/, hosts)}?target_session_attrs=read-write` };
    const start = () => startFx(["--rates", "demo", "--log-level", "error"], { env });
    services.push(...(await Promise.all([start(), start()])));

    const load = startLoad(services);
    await pause(seconds * 1000);
    const answeredBefore = load.receiptByKey.size;
    await primary.killNine();
    const killed = performance.now();
    await pause(noticeMs);
    await until(standby.url, "select where pg_promote()");
    const promoted = performance.now();
    await load.everyoneAnsweredSince(promoted);
    await pause(seconds * 1000);
    await load.stop();

    for (const [key, pesel] of load.unanswered) {
      const answer = await sendOrder(services[0]?.url ?? "", centOrder(pesel, key));
      assert.equal(answer.status, 200, answer.text);
      load.receiptByKey.set(key, answer.receipt);
    }
    const store = await openPostgres(url.replace(String(primary.port), String(standby.port)));
    await assertSettledOnce(store, load.receiptByKey).finally(() => store.close());
    return {
      answered: load.receiptByKey.size,
      answeredBefore,
      unanswered: load.unanswered.size,
      promotedMs: Math.round(promoted - killed),
      gapMs: summary(load.gaps()),
      gapAfterPromotionMs: summary(load.gaps(promoted)),
    };
  } finally {
    await Promise.all(services.map((service) => service.stop()));
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** Clients that order under a new key as soon as the order before is answered. */
function startLoad(services: readonly Served[]) {
  const receiptByKey = new Map<string, string>();
  const unanswered = new Map<string, string>();
  const answersAt = Array.from({ length: clients }, (): number[] => []);
  let stopping = false;

  const client = async (index: number): Promise<void> => {
    const url = services[index % services.length]?.url ?? "";
    for (let count = 0; !stopping; count += 1) {
      const pesel = adult((index + count) % accounts);
      const key = randomUUID();
      const answer: OrderAnswer = await sendOrder(url, centOrder(pesel, key));
      if (answer.status === 200) {
        receiptByKey.set(key, answer.receipt);
        answersAt[index]?.push(performance.now());
        continue;
      }
      assert.match(answer.text, /storage-unavailable/);
      unanswered.set(key, pesel);
    }
  };
  const running = Promise.all(answersAt.map((_, index) => client(index)));
  running.catch(() => {});
  const stopped = async (): Promise<void> => {
    stopping = true;
    await running;
  };
  return {
    receiptByKey,
    unanswered,
    stop: stopped,
    everyoneAnsweredSince: async (time: number) => {
      const limit = performance.now() + 30_000;
      while (!answersAt.every((times) => (times.at(-1) ?? 0) > time)) {
        assert.ok(performance.now() < limit, "a client waits for its answer");
        await Promise.race([pause(5), running]);
      }
    },
    /** The longest pause of each client, from `since`. */
    gaps: (since = 0) =>
      answersAt.map((times) => {
        const later = times.filter((time) => time > since);
        const starts = since === 0 ? later : [since, ...later];
        return Math.max(...starts.slice(1).map((time, index) => time - (starts[index] ?? time)));
      }),
  };
}

async function openAccounts(url: string): Promise<void> {
  const store = await openPostgres(url);
  const service = new LedgerService(store, fixedRates());
  const openings = Array.from({ length: accounts }, (_, index) => opening({ index, pln: "1000000000" }));
  await Promise.all(openings.map((each) => service.createAccount(each)));
  await store.close();
}

/** Waits until a query has a row. */
async function until(url: string, query: string): Promise<void> {
  for (let tries = 0; tries < 1000; tries += 1) {
    if ((await runSql(url, query)).length > 0) return;
    await pause(10);
  }
  throw new Error(`This stayed without a row: ${query}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const options = {
    seconds: { type: "string", default: "10" },
    "notice-ms": { type: "string", default: "1000" },
  } as const;
  const { seconds, "notice-ms": noticeMs } = parseArgs({ options }).values;
  const report = await failover({ seconds: Number(seconds), noticeMs: Number(noticeMs) });
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
}
