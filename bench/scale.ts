import { statSync } from "node:fs";
import { join } from "node:path";
import { LedgerService } from "../src/ledger/service.ts";
import { openSqlite } from "../src/sqlite/store.ts";
import { adult, decimal, fixedRates, now, terms, tradedRates } from "../test/support/fixture.ts";
import { measure } from "./load.ts";
import type { Options } from "./options.ts";
import { median, printTable, row } from "./report.ts";
import { writeRequests } from "./requests.ts";
import { inFolder, startFx } from "./servers.ts";

const batch = 256;
const buy = terms("buy 0.01 USD for PLN");

/**
 * What grows with the ledger and what does not: SQLite files of more and more accounts, and an account of more and
 * more entries. 10 million accounts take some ten minutes and 6 GB of disk.
 */
export async function benchScale({ sizes }: Options): Promise<void> {
  await inFolder(async (folder) => {
    printTable([
      ...["accounts", "file", "CPU µs/order", "… over HTTP", "memory", "start to ready"],
      ...["audit", "audit's peak"],
    ]);
    for (const size of sizes) await benchSize(folder, size);
    printTable(["entries of one account", "statement page of 50"]);
    await benchStatement(join(folder, "statement.db"));
  });
}

async function benchSize(folder: string, size: number): Promise<void> {
  const path = join(folder, `${size}.db`);
  const service = await open(path);
  await together(size, (index) =>
    service.createAccount({ ...person(index), initial: decimal("1000000"), key: undefined }),
  );
  const orders = 50_000;
  let turn = 0;
  const order = () => {
    turn += 1;
    return service.exchange({ ...buy, pesel: adult((turn * 7_368_787) % size) });
  };
  await together(orders, order);
  const cpu = process.cpuUsage();
  await together(orders, order);
  const { user, system } = process.cpuUsage(cpu);
  const memory = process.memoryUsage().rss;
  await service.close();

  const starts: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const before = performance.now();
    const server = await startFx("fx", `sqlite:${path}`);
    while ((await fetch(`${server.url}/health/ready`)).status !== 200);
    starts.push(performance.now() - before);
    await server.stop();
  }

  const audited = new LedgerService(openSqlite(path, { access: "read" }), fixedRates(), () => now);
  let peak = 0;
  const auditStarted = performance.now();
  const report = await audited.audit({
    onProgress: () => {
      peak = Math.max(peak, process.memoryUsage().rss);
    },
  });
  const auditSeconds = (performance.now() - auditStarted) / 1000;
  if (report.findingsTotal > 0) throw new Error("the audit found disagreements");
  await audited.close();
  const { size: bytes } = statSync(path);
  const served = await cpuUsPerRequest(folder, path, size);
  row(
    ...[size, megabytes(bytes), (user + system) / orders, served, megabytes(memory)],
    ...[`${median(starts).toFixed(0)} ms`, `${auditSeconds.toFixed(1)} s`, megabytes(peak)],
  );
}

/** Of the process of `fx serve`, under a load of orders that goes through all accounts. */
async function cpuUsPerRequest(folder: string, path: string, accounts: number): Promise<number> {
  const server = await startFx("fx", `sqlite:${path}`);
  const file = writeRequests(folder, "exchange", { accounts });
  const before = server.cpuSeconds().own;
  const { requests } = await measure({ url: server.url, file, connections: 256, seconds: 4 });
  const used = server.cpuSeconds().own - before;
  await server.stop();
  return (used * 1e6) / requests;
}

async function benchStatement(path: string): Promise<void> {
  const service = await open(path);
  for (const [index, entries] of [100, 1_000_000].entries()) {
    const pesel = adult(index);
    await service.createAccount({ ...person(index), initial: decimal("1000000"), key: undefined });
    await together(entries - 1, () => service.exchange({ ...buy, pesel }));
    const { next } = await service.statement(pesel, { limit: 50 });
    const took: number[] = [];
    for (let round = 0; round < 201; round += 1) {
      const started = performance.now();
      await service.statement(pesel, {
        limit: 50,
        cursor: round % 2 === 0 ? undefined : next,
      });
      took.push(performance.now() - started);
    }
    row(entries, `${(median(took) * 1000).toFixed(0)} µs`);
  }
  await service.close();
}

async function open(path: string): Promise<LedgerService> {
  const store = openSqlite(path);
  return new LedgerService(store, await tradedRates(store), () => now);
}

function person(index: number) {
  return { pesel: adult(index), name: "Jan", surname: "Kowalski" };
}

/** Does `count` pieces of work, a batch at a time. */
async function together(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  for (let done = 0; done < count; done += batch) {
    const size = Math.min(batch, count - done);
    await Promise.all(Array.from({ length: size }, (_, index) => work(done + index)));
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1_048_576)} MB`;
}
