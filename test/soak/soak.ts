import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { warsawDate } from "../../src/core/date.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { bulkType } from "../../src/wire/bulk.ts";
import { assertSettledOnce, summary } from "../faults/orders.ts";
import { adult } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { watched, watchMemory } from "../support/memory.ts";
import { type Mode, startNbpStandIn, tablesUpTo } from "../support/nbp-stand-in.ts";
import { createDatabase, startPostgres } from "../support/postgres.ts";
import { runFx, type Served, startFx } from "../support/run-fx.ts";

const accounts = 300;
const clients = 16;
const linesOfBulk = 20;
const warmUpSeconds = 5;
/** Interval of the disturbances. */
const disturbEverySeconds = 7;
/** Errors after which a valid request is repeated. */
const failures = ["storage-unavailable", "overloaded", "rates-unavailable"];

export interface SoakReport {
  readonly seconds: number;
  /** Requests per second: the server's maximum in the warm-up, and half of it. */
  readonly capacity: number;
  readonly rate: number;
  readonly answered: number;
  /** Orders, deposits and lines that are in the journal exactly once. */
  readonly settled: number;
  /** Repeated requests by the answer or lost connection that caused the repetition. */
  readonly sentAgain: Readonly<Record<string, number>>;
  readonly disturbances: Readonly<Record<string, number>>;
  /** Number of refreshes of the rates by outcome. */
  readonly fetches: Readonly<Record<string, number>>;
  /** Time until a request was done, over all its attempts. */
  readonly waitMs: { readonly median: number; readonly max: number };
  readonly memory: Readonly<Record<string, string>>;
  readonly isFlat: boolean;
}

/**
 * Runs `fx serve` over PostgreSQL at half its capacity, while rates are refreshed, the bank fails now and then, and the
 * database is restarted. Every answered request must be in the journal exactly once, the audit clean, and heap and
 * handles at the end as in the middle.
 */
export async function soak(seconds: number): Promise<SoakReport> {
  const folder = mkdtempSync(join(tmpdir(), "fx-soak-"));
  const tables = tablesUpTo(warsawDate(new Date()));
  const bank = await startNbpStandIn(tables.slice(0, -6));
  const postgres = await startPostgres({ durable: true });
  let server: Served | undefined;
  try {
    const { url } = await createDatabase(postgres.url);
    const file = join(folder, "tokens.json");
    const created = await runFx(["token", "create", "soak", "--role", "operator", "--tokens", file]);
    assert.equal(created.exit, 0, created.stderr);
    const token = created.stdout.trim();
    const args = ["--rates", bank.url, "--max-table-age", "30", "--tokens", file, "--log-level", "warn"];
    server = await startFx(args, { env: { FX_DB: url, ...watched } });
    const load = new Load(server.url, token);
    await load.openAccounts();
    const warm = await load.run(warmUpSeconds);
    const capacity = Math.round(warm / warmUpSeconds);

    const memory = watchMemory(server.url, token, 500);
    const disturbances: Record<string, number> = {};
    let nth = 0;
    const disturb = async (what: string, act: () => Promise<void>) => {
      disturbances[what] = (disturbances[what] ?? 0) + 1;
      await act();
    };
    const refresh = async () => {
      const asked = bank.asked();
      server?.signal("SIGHUP");
      await Promise.race([asked, pause(10_000)]);
    };
    const modes: readonly Mode[] = ["hangsUp", "html", "500", "nonsense", "404", "huge", "refuses"];
    const acts: readonly (() => Promise<void>)[] = [
      () =>
        disturb("rates read again", async () => {
          bank.tables = tables.slice(0, Math.min(bank.tables.length + 1, tables.length));
          await refresh();
        }),
      () =>
        disturb("the bank failed", async () => {
          await bank.mode(modes[Math.floor(nth / 3) % modes.length] as Mode);
          await refresh();
          await pause(8000);
          await bank.mode("answers");
        }),
      () =>
        disturb("the database restarted", async () => {
          await (nth % 2 === 0 ? postgres.kill() : postgres.killNine());
          await pause(1000);
          await postgres.start();
        }),
    ];
    const end = performance.now() + seconds * 1000;
    const running = load.run(seconds, capacity / 2);
    while (performance.now() + (disturbEverySeconds + 10) * 1000 < end) {
      await pause(disturbEverySeconds * 1000);
      await acts[nth % acts.length]?.();
      nth += 1;
    }
    const answered = await running;
    memory.stop();
    const fetches = await load.fetches();
    const { exit } = await server.stop();
    server = undefined;
    assert.equal(exit, 0);
    const store = await openPostgres(url);
    await assertSettledOnce(store, load.receiptByKey).finally(() => store.close());
    return {
      seconds,
      capacity,
      rate: Math.round(capacity / 2),
      answered,
      settled: load.receiptByKey.size,
      sentAgain: load.sentAgain,
      disturbances,
      fetches,
      waitMs: summary(load.waitMs),
      memory: memory.report(),
      isFlat: memory.isFlat(),
    };
  } finally {
    await server?.stop();
    await postgres.stop();
    await bank.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Clients that repeat a request with its key until it is done. */
class Load {
  /** Receipts of all requests answered as done. */
  readonly receiptByKey = new Map<string, string>();
  readonly sentAgain: Record<string, number> = {};
  waitMs: number[] = [];
  readonly #url: string;
  readonly #authorization: string;
  #count = 0;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#authorization = `Bearer ${token}`;
  }

  async openAccounts(): Promise<void> {
    for (let index = 0; index < accounts; index += 1) {
      const body = { name: "Jan", surname: "Kowalski", pesel: adult(index), pln: 1_000_000_000 };
      const { status, text } = await this.#send("POST", "/api/user", { body });
      assert.equal(status, 204, text);
    }
  }

  /** Sends `rate` requests per second, or as many as are answered, and returns the number of answers. */
  async run(seconds: number, rate?: number): Promise<number> {
    this.waitMs = [];
    const startedAt = performance.now();
    let sent = 0;
    const client = async () => {
      while (performance.now() - startedAt < seconds * 1000) {
        const dueMs = rate === undefined ? 0 : (sent * 1000) / rate - (performance.now() - startedAt);
        sent += 1;
        if (dueMs > 0) await pause(dueMs);
        const before = performance.now();
        await this.#one();
        this.waitMs.push(performance.now() - before);
      }
    };
    await Promise.all(Array.from({ length: clients }, client));
    return sent;
  }

  async fetches(): Promise<Record<string, number>> {
    const { text } = await this.#send("GET", "/metrics", {});
    const lines = text.matchAll(/^fx_rate_fetches_total\{outcome="(\w+)"\} (\d+)/gm);
    return Object.fromEntries([...lines].map(([, outcome, count]) => [outcome, Number(count)]));
  }

  async #one(): Promise<void> {
    this.#count += 1;
    const key = `soak-${this.#count}`;
    const pesel = adult(this.#count % accounts);
    const order = { pesel, from: "PLN", to: this.#count % 2 === 0 ? "USD" : "EUR", toBuy: 0.01 };
    switch (this.#count % 10) {
      case 0:
        return this.#bulk(key);
      case 1:
        return this.#untilDone("GET", `/api/user/${pesel}/history?limit=20`);
      case 2:
      case 3:
        return this.#untilDone("GET", `/api/user/${pesel}`);
      case 4:
        return this.#untilDone("POST", `/api/user/${pesel}/deposits`, key, { amount: 0.01, currency: "PLN" });
      default:
        return this.#untilDone("POST", `/api/exchange/${pesel}`, key, order);
    }
  }

  async #untilDone(method: string, path: string, key?: string, body?: object): Promise<void> {
    for (;;) {
      const answer = await this.#send(method, path, { key, body }).catch(() => undefined);
      if (answer?.status === 200) {
        const receipt = answer.headers.get("fx-receipt")?.split("/").at(-1);
        if (key !== undefined) this.#settled(key, receipt);
        return;
      }
      await this.#again(answer === undefined ? "no answer" : isProblem(answer).code);
    }
  }

  /** Sends lines as a batch, and repeats those that were not done. */
  async #bulk(key: string): Promise<void> {
    let lines = Array.from({ length: linesOfBulk }, (_, nth) => ({
      ...{ pesel: adult((this.#count + nth) % accounts), from: "PLN", to: "USD", toBuy: 0.01 },
      key: `${key}-${nth}`,
    }));
    while (lines.length > 0) {
      const body = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
      const answer = await this.#send("POST", "/api/bulk", { body, type: bulkType }).catch(() => undefined);
      if (answer?.status === 200) {
        for (const text of answer.text.trimEnd().split("\n").filter(Boolean)) {
          const { line, receipt, problem } = JSON.parse(text);
          if (receipt !== undefined) this.#settled(lines[line - 1]?.key ?? "", receipt);
          else assert.ok(failures.includes(problem.code), text);
        }
        lines = lines.filter((line) => !this.receiptByKey.has(line.key));
      }
      if (lines.length > 0) await this.#again(answer === undefined ? "no answer" : "lines of a batch");
    }
  }

  #settled(key: string, receipt: string | undefined): void {
    assert.ok(receipt !== undefined && this.receiptByKey.get(key) === undefined, "one receipt for each key");
    this.receiptByKey.set(key, receipt);
  }

  async #again(why: string): Promise<void> {
    assert.ok([...failures, "no answer", "lines of a batch"].includes(why), why);
    this.sentAgain[why] = (this.sentAgain[why] ?? 0) + 1;
    await pause(100);
  }

  #send(
    method: string,
    path: string,
    { key, body, type = "application/json" }: { key?: string | undefined; body?: unknown; type?: string },
  ) {
    const headers = {
      authorization: this.#authorization,
      ...(body !== undefined && { "content-type": type }),
      ...(key !== undefined && { "idempotency-key": key }),
    };
    return send(this.#url, method, path, { headers, body });
  }
}
