import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { BulkLine } from "../../src/core/service.ts";
import { adult, opening } from "../support/fixture.ts";
import { send } from "../support/http.ts";
import { startServer } from "../support/server.ts";
import { answersTo } from "../support/service.ts";

const heldUpAtMostMs = 200;
const accounts = 2000;
const attacked = adult(0);
const other = adult(1);

/**
 * Processor time of this process until the work is done, in milliseconds: what other processes take of the machine says
 * nothing about the server.
 */
async function processorMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

for (const kind of [
  "pipelines orders",
  "pipelines more than is taken",
  "reads nothing",
  "sends halves",
  "resets its connections",
  "asks for long lists",
]) {
  test(`A client that ${kind} on 64 connections holds up the orders of others for 0.2 s at most`, async (t) => {
    const server = await startServer();
    t.after(() => server.close());
    const lines = Array.from({ length: accounts }, (_, index): BulkLine => {
      return { kind: "opening", ...opening({ index, pln: "1000000" }) };
    });
    await answersTo(server.service, lines);
    const body = { pesel: other, from: "PLN", to: "USD", toBuy: 0.01 };
    const placeOrder = async () => {
      const { status } = await send(server.url, "POST", `/api/exchange/${other}`, { body });
      assert.equal(status, 200);
    };
    // Code that V8 has not optimized yet is many times slower.
    for (let rounds = 0; rounds < 20; rounds += 1) await Promise.all(Array.from({ length: 20 }, placeOrder));
    const client = fork(
      fileURLToPath(new URL("hostile-client.ts", import.meta.url)),
      [kind, server.url, attacked],
      {
        execArgv: ["--import", "tsx"],
      },
    );
    t.after(() => client.kill("SIGKILL"));
    await once(client, "message");
    await pause(200);
    const held: number[] = [];
    for (let orders = 0; orders < 20; orders += 1) held.push(await processorMs(placeOrder));
    client.kill("SIGKILL");
    await once(client, "exit");
    assert.ok(Math.max(...held) <= heldUpAtMostMs, held.map(Math.round).join(" "));
  });
}
