import assert from "node:assert/strict";
import { test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { fixedRates, opening } from "../support/fixture.ts";
import { createDatabase, startPostgres } from "../support/postgres.ts";
import { startFx } from "../support/run-fx.ts";
import { until } from "../support/until.ts";
import { assertSettledOnce, centOrder, sendOrder, startLoad, untilRow } from "./orders.ts";

const accounts = 20;
const clients = 32;

test("A primary killed under load loses no answered order, and the standby goes on with all clients", async (t) => {
  const settings = { synchronous_standby_names: "standby", synchronous_commit: "on" };
  const primary = await startPostgres({ durable: true, settings });
  t.after(() => primary.stop());
  const standby = await startPostgres({ durable: true, standbyOf: primary });
  t.after(() => standby.stop());
  await untilRow(primary.url, "select from pg_stat_replication where sync_state = 'sync'");
  const { url } = await createDatabase(primary.url);
  const first = new LedgerService(await openPostgres(url), fixedRates());
  for (let index = 0; index < accounts; index += 1) {
    await first.createAccount(opening({ index, pln: "1000000000" }));
  }
  await first.close();

  const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`;
  const env = { FX_DB: `${url.replace(/127\.0\.0\.1:\d+/, hosts)}?target_session_attrs=read-write` };
  const start = () => startFx(["--rates", "demo", "--log-level", "error"], { env });
  const servers = await Promise.all([start(), start()]);
  t.after(() => Promise.all(servers.map((server) => server.stop())));
  const urls = servers.map((server) => server.url);

  const load = startLoad(urls, { accounts, clients });
  await until(() => load.settled().length > 20);
  await primary.killNine();
  await untilRow(standby.url, "select where pg_promote()");
  const promotedMs = Date.now();
  const clientsSince = () =>
    new Set(
      load
        .settled()
        .filter(({ sentMs }) => sentMs > promotedMs)
        .map(({ client }) => client),
    );
  await until(() => clientsSince().size === clients);
  await load.stop();

  const receiptByKey = new Map(load.settled().map(({ key, receipt }) => [key, receipt]));
  for (const { key, pesel } of load.sent.filter(({ status }) => status !== 200)) {
    const answer = await sendOrder(urls[0] ?? "", centOrder(pesel, key));
    assert.equal(answer.status, 200, answer.text);
    receiptByKey.set(key, answer.receipt);
  }
  const store = await openPostgres(url.replace(String(primary.port), String(standby.port)));
  await assertSettledOnce(store, receiptByKey).finally(() => store.close());
});
