import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { openPostgres } from "../../src/postgres/store.ts";
import { everyKind, type Load, type LoadOptions } from "../load/clients.ts";
import { readHistory } from "../load/history.ts";
import { requireClean, underLoad } from "../load/ledger.ts";
import { newFolder } from "../support/folder.ts";
import { startPgBouncer, withoutPgBouncer } from "../support/pgbouncer.ts";
import { createDatabase, startPostgres, untilRow } from "../support/postgres.ts";
import { emptyDatabase } from "../support/postgres-store.ts";
import { type CommitFault, Network } from "../support/proxy.ts";
import { startFx } from "../support/run-fx.ts";

interface Faulty {
  /** The database's URL as the servers have it. */
  readonly db: string;
  /** The URL of the database, at the end. */
  readonly ledger: string;
  /** The fault under load; absent if several processes are all of it. */
  readonly happens?: (load: Load) => Promise<unknown>;
}

/** Orders and openings, many of which are sent to two servers at once. */
const twice = { order: 40, "order at two servers": 30, "new account": 10, bulk: 3, read: 10 };

interface Row {
  readonly name: string;
  readonly servers: number;
  readonly load?: Partial<LoadOptions>;
  /** Number of orders done under the fault. */
  readonly orders: number;
  /** Least number of orders that were answered again, and of orders that were refused. */
  readonly met?: { readonly replays: number; readonly refused: number };
  readonly start: (t: TestContext) => Promise<Faulty>;
  readonly skip?: string | false;
}

const rows: readonly Row[] = [
  ...[10, 500].map((accounts): Row => {
    // Few accounts contend for locks; on many, deadlocks are likelier. Small balances race for the last złoty.
    const initialMinor = accounts > 100 ? 2000 : 200_000;
    return {
      name: `Four processes on one database neither lose nor double an order of ${accounts} accounts, nor overdraw one`,
      servers: 4,
      load: { accounts, initialMinor, mostMinor: 1000, writers: 32, mix: twice },
      orders: 300,
      met: { replays: 100, refused: 20 },
      start: async (t) => {
        const { url } = await emptyDatabase(t);
        return { db: `${url}?pool_size=5`, ledger: url };
      },
    };
  }),
  {
    name: "A primary killed under load loses no answered order, and the standby goes on with all clients",
    servers: 2,
    load: { writers: 32, mix: everyKind },
    orders: 50,
    start: async (t) => {
      const settings = { synchronous_standby_names: "standby", synchronous_commit: "on" };
      const primary = await startPostgres({ durable: true, settings });
      t.after(() => primary.stop());
      const standby = await startPostgres({ durable: true, standbyOf: primary });
      t.after(() => standby.stop());
      await untilRow(primary.url, "select from pg_stat_replication where sync_state = 'sync'");
      const { url } = await createDatabase(primary.url);
      const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`;
      return {
        db: `${url.replace(/127\.0\.0\.1:\d+/, hosts)}?target_session_attrs=read-write`,
        ledger: url.replace(String(primary.port), String(standby.port)),
        happens: async (load) => {
          await primary.killNine();
          await untilRow(standby.url, "select where pg_promote()");
          await load.reachesEveryClient();
        },
      };
    },
  },
  {
    name: "COMMITs that are lost again and again under load leave every order exactly once",
    servers: 1,
    load: { mix: everyKind },
    orders: 50,
    start: async (t) => {
      const { url } = await emptyDatabase(t);
      const network = await Network.open(url);
      t.after(() => network.close());
      network.lateMs = 50;
      const faults: CommitFault[] = ["lost", "unanswered", "late"];
      const happens = async (load: Load) => {
        for (let nth = 0; nth < 30; nth += 1) {
          network.nextCommits = [faults[nth % faults.length] as CommitFault];
          await load.does(20);
        }
        assert.equal(network.disturbed, 30);
      };
      return { db: network.url, ledger: url, happens };
    },
  },
  ...[
    { pool_mode: "session" },
    { pool_mode: "transaction" },
    { pool_mode: "transaction", default_pool_size: "1" },
    { pool_mode: "transaction", default_pool_size: "3", server_round_robin: "1" },
    { pool_mode: "transaction", default_pool_size: "3", server_reset_query_always: "1" },
    { pool_mode: "session", default_pool_size: "20", later: "transaction" },
  ].map(({ later, ...settings }): Row => {
    const set = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
    const change = later === undefined ? "" : `, changed to ${later} under load,`;
    return {
      name: `PgBouncer with ${set.join(", ")}${change} settles each order of three processes exactly once`,
      servers: 3,
      load: { mix: twice },
      orders: 150,
      met: { replays: 50, refused: 0 },
      skip: withoutPgBouncer,
      start: async (t) => {
        const { url } = await emptyDatabase(t);
        const pooler = await startPgBouncer(url, settings);
        t.after(() => pooler.stop());
        const db = `${pooler.url}?pool_size=4`;
        if (later === undefined) return { db, ledger: url };
        return { db, ledger: url, happens: () => pooler.set("pool_mode", later) };
      },
    };
  }),
];

describe("Under load", () => {
  for (const { name, servers, load, orders, met, start, skip = false } of rows) {
    test(name, { skip }, async (t) => {
      const { db, ledger, happens } = await start(t);
      const serve = () => startFx(["--rates", "demo", "--log-level", "error"], { env: { FX_DB: db } });
      const served = await Promise.all(Array.from({ length: servers }, serve));
      t.after(() => Promise.all(served.map((server) => server.stop())));
      const urls = served.map(({ url }) => url);
      const history = await underLoad(newFolder(t), { urls, ...load }, async (running) => {
        await running.does(orders);
        await happens?.(running);
        await running.does(orders);
      });
      const store = await openPostgres(ledger);
      t.after(() => store.close());
      const figures = await requireClean(store, readHistory(history.file));
      assert.ok(figures.replays >= (met?.replays ?? 0) && figures.refused >= (met?.refused ?? 0));
      if (happens !== undefined) return;
      for (const server of served) assert.equal(server.output().stderr, "", "nothing to log");
    });
  }
});
