import { parseOpening } from "/work/main/src/core/account.ts";
import { openPostgres } from "/work/main/src/ledger/postgres.ts";
import { openSqlite } from "/work/main/src/ledger/sqlite.ts";
import { LedgerService } from "/work/main/src/ledger/service.ts";
import { adult, decimal, fixedRates, terms, today } from "/work/main/test/support/fixture.ts";
import { createDatabase, startPostgres } from "/work/main/test/support/postgres.ts";
const durable = process.argv[2] !== "nosync";
const seconds = Number(process.argv[3] ?? 4);
const server = await startPostgres({ durable, settings: { shared_buffers: "256MB", max_wal_size: "4GB" } });
const database = await createDatabase(server.url);
const store = process.argv[4] === "sqlite" ? openSqlite("/tmp/bench.db") : await openPostgres(database.url);
let count = 0, load = 0, dec = 0, wr = 0, size = 0;
const tr = store.transact.bind(store);
store.transact = async (touched, decide) => { const t0 = performance.now(); let t1 = 0, t2 = 0; const a = await tr(touched, (l) => { t1 = performance.now(); const d = decide(l); t2 = performance.now(); return d; }); const t3 = performance.now(); count++; size += touched.length; load += t1 - t0; dec += t2 - t1; wr += t3 - t2; return a; };
const service = new LedgerService(store, fixedRates());
const N = 10000;
await Promise.all(Array.from({ length: N }, (_, index) => service.createAccount({ pesel: adult(index), name: "Jan", surname: "Kowalski", initial: decimal("1000000"), key: undefined })));
const buy = terms("buy 1 USD for PLN"), sell = terms("sell 1 USD for PLN");
for (const keyed of [false, true]) for (const accounts of [N, 10]) {
  let refused = 0; let n = 0, stop = false; const lat: number[] = [];
  const worker = async () => { while (!stop) { const i = n++; const t = performance.now(); await service.exchange({ ...(Math.floor(i / accounts) % 2 ? sell : buy), pesel: adult((i * 7919) % accounts), key: keyed ? `order-${accounts}-${i}` : undefined }).catch(() => { refused++; }); lat.push(performance.now() - t); } };
  const cpu = process.cpuUsage(); const t = performance.now(); const ws = Array.from({ length: 256 }, worker);
  await new Promise((r) => setTimeout(r, seconds * 1000)); stop = true; await Promise.all(ws);
  const took = (performance.now() - t) / 1000; const u = process.cpuUsage(cpu); lat.sort((a, b) => a - b);
  console.log(`batches of ${(size/count).toFixed(0)}: load ${(load/count).toFixed(2)} decide ${(dec/count).toFixed(2)} write+commit ${(wr/count).toFixed(2)} ms`); count = load = dec = wr = size = 0;
  console.log(`${accounts} accounts, keys ${keyed}: ${(lat.length / took).toFixed(0)} orders/s, p50 ${lat[lat.length >> 1]?.toFixed(1)} p99 ${lat[Math.floor(lat.length * 0.99)]?.toFixed(1)} ms; refused ${refused}; node cpu ${((u.user + u.system) / 10000 / took).toFixed(0)} %`);
}
await service.close(); await server.stop();
