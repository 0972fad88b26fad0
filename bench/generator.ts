/**
 * A load from raw sockets: prepared bytes go out, and answers are only counted. It takes a Load from its parent,
 * says when it has started, and sends back what it Measured. Without `seconds` it goes on until its parent says "stop".
 */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import type { Load, Measured } from "./load.ts";
import { keyMark, requestEnd } from "./requests.ts";

const statusLine = Buffer.from("HTTP/1.1 ");
const success = Buffer.from("2")[0];

/** One text at a time. */
interface Connection {
  readonly socket: Socket;
  /** Of its requests, those that are not answered. */
  unanswered: number;
  /** Of several answers, the end of what was read: a status line may begin there. */
  tail: Buffer;
  /** When its request should have been sent. */
  dueMs: number;
}

let stop = () => {};

process.once("disconnect", () => process.exit());
process.on("message", async (message: Load | "stop") => {
  if (message === "stop") stop();
  else process.send?.({ result: await sendLoad(message) }, () => process.exit());
});

async function sendLoad(load: Load): Promise<Measured> {
  const {
    url,
    file,
    connections,
    seconds,
    rate,
    warmUpSeconds = 0,
    keyPrefix = "",
    once = false,
    atOnce = 1,
  } = load;
  const requests = readFileSync(file, "latin1").split(requestEnd);
  const latencies: number[] = [];
  const idle: Connection[] = [];
  /** When those should have been sent for which no connection is idle. */
  const late: number[] = [];
  let [sent, answered, failed] = [0, 0, 0];
  let isEnding = false;
  let countedFromMs = Number.NEGATIVE_INFINITY;
  let finish = () => {};

  const send = (connection: Connection, dueMs: number) => {
    connection.dueMs = dueMs;
    connection.unanswered = atOnce;
    const text = requests[sent % requests.length] as string;
    sent += 1;
    connection.socket.write(keyPrefix === "" ? text : text.replace(keyMark, keyPrefix + sent), "latin1");
  };
  const next = (connection: Connection, nowMs: number) => {
    if (isEnding && answered + failed >= sent) finish();
    if (isEnding || (once && sent >= requests.length)) return;
    if (rate === undefined) return send(connection, nowMs);
    const dueMs = late.shift();
    if (dueMs === undefined) idle.push(connection);
    else send(connection, dueMs);
  };
  const take = (connection: Connection, read: Buffer) => {
    const { tail } = connection;
    const bytes = tail.length === 0 ? read : Buffer.concat([tail, read]);
    if (atOnce > 1) connection.tail = Buffer.from(bytes.subarray(-statusLine.length));
    for (let at = bytes.indexOf(statusLine); at >= 0 && at + statusLine.length < bytes.length; ) {
      const nowMs = performance.now();
      if (bytes[at + statusLine.length] === success) answered += 1;
      else failed += 1;
      if (connection.dueMs >= countedFromMs) latencies.push(nowMs - connection.dueMs);
      if (once && answered + failed >= requests.length) finish();
      connection.unanswered -= 1;
      if (connection.unanswered === 0) next(connection, nowMs);
      at = bytes.indexOf(statusLine, at + statusLine.length);
    }
  };
  const open = async (): Promise<Connection> => {
    const buffer = Buffer.alloc(4096);
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const callback = (length: number) => {
        take(connection, buffer.subarray(0, length));
        return true;
      };
      const socket = connect({ host: hostname, port: Number(port), onread: { buffer, callback } });
      const connection: Connection = { socket, unanswered: 0, tail: Buffer.alloc(0), dueMs: 0 };
      socket.setNoDelay(true);
      socket.once("connect", () => resolve(connection));
      socket.once("error", reject);
      socket.once("close", () => reject(new Error("the server closed a connection")));
    });
  };

  const opened = await Promise.all(Array.from({ length: connections }, open));
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  countedFromMs = startedMs + warmUpSeconds * 1000;
  const ended = new Promise<void>((resolve) => {
    finish = resolve;
  });
  // Those that were sent are still waited for at a fixed rate: they may be the slowest.
  stop = () => {
    isEnding = true;
    if (rate === undefined || answered + failed >= sent) finish();
  };
  process.send?.({ started: true });
  if (seconds !== undefined) setTimeout(stop, (warmUpSeconds + seconds) * 1000);
  for (const connection of opened) next(connection, startedMs);
  if (rate !== undefined) {
    let due = 0;
    const tick = () => {
      if (isEnding) return;
      const nowMs = performance.now();
      for (; ; due += 1) {
        const dueMs = startedMs + (due * 1000) / rate;
        if (dueMs > nowMs) break;
        const connection = idle.pop();
        if (connection === undefined) late.push(dueMs);
        else send(connection, dueMs);
      }
      setTimeout(tick, 1);
    };
    tick();
  }
  await ended;
  const { user, system } = process.cpuUsage(cpuBefore);
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return {
    requests: answered,
    seconds: (performance.now() - startedMs) / 1000,
    failed,
    cpuSeconds: (user + system) / 1e6,
    latencyMs: { p50: at(0.5), p99: at(0.99), max: at(1) },
  };
}
