import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { measure } from "../../bench/load.ts";
import { readText, writeReads } from "../../bench/requests.ts";
import {
  type Attack,
  compare,
  isOpenAtServer,
  memoryOf,
  openSocket,
  othersAlone,
  othersDuring,
  pause,
  type Row,
  startServer,
  startTarget,
  timed,
  waitRow,
} from "./attack.ts";
import type { Client } from "./client.ts";

const halfBody =
  "POST /api/user HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

const pipelines: Readonly<Record<string, readonly [count: number, path: string]>> = {
  "`GET /api/users?limit=1000`": [1400, "/api/users?limit=1000"],
  "`GET /api/audit`": [200, "/api/audit"],
  "`GET /metrics`": [1800, "/metrics"],
  "`GET /api/rates/USD/history?days=1500`": [1100, "/api/rates/USD/history?days=1500"],
  "`GET /health/live`": [1500, "/health/live"],
};

/** Requests sent at once, over and over, over one connection and over twelve. */
export const pipelined: Attack = async function* (setting) {
  for (const [what, [count, path]] of Object.entries(pipelines)) {
    for (const connections of [1, 12]) {
      const target = await startTarget(setting);
      try {
        const { url } = target;
        const file = writeReads(setting.folder, Array(count).fill(path), { isOneText: true });
        const assault = { how: "ask", url, connections, file, atOnce: count } as const;
        const compared = await compare(target, setting.seconds, assault);
        yield waitRow(`${connections} × ${count} × ${what} without waiting`, compared, {
          seen: `, ${compared.answersPerSecond} answers/s, ${compared.moreMb} MB more`,
          holds: compared.moreMb < 150,
        });
      } finally {
        await target.stop();
      }
    }
  }
};

/** Connections that a stop must not wait for. */
export const stops: Attack = async function* () {
  const half: Readonly<Record<string, string>> = {
    "that sent nothing": "",
    "with half a header": "GET / HTTP/1.1\r\nHo",
    "with half a body": halfBody,
    "that does not read": readText("/openapi.json").repeat(5000),
  };
  for (const [what, text] of Object.entries(half)) {
    const server = await startServer();
    const socket = await openSocket(server.url);
    socket.pause();
    socket.write(text);
    await pause(500);
    const ended = Promise.race([server.stop(), pause(20_000)]);
    const took = await timed(() => ended);
    server.signal("SIGKILL");
    socket.destroy();
    yield {
      tried: `SIGTERM and a connection ${what}`,
      mustBe: "ends within 10 s",
      seen: took < 19_000 ? seconds(took) : "not within 20 s",
      holds: took < 11_500,
    };
  }
};

/** Requests that do not come, and answers that nobody takes. */
export const slow: Attack = async function* () {
  const server = await startServer();
  const lasts: Readonly<Record<string, (socket: Socket) => void>> = {
    "sends nothing": () => {},
    "sends half a header": (socket) => void socket.write("GET / HTTP/1.1\r\nHo"),
    "sends a body a byte a second": (socket) => {
      socket.write(halfBody.replace("9", "999"));
      const timer = setInterval(() => socket.write(" "), 1000);
      socket.once("close", () => clearInterval(timer));
    },
    "does not read its answers": (socket) => {
      socket.pause();
      socket.write(readText("/openapi.json").repeat(5000));
    },
  };
  const rows = Object.entries(lasts).map(async ([what, act]): Promise<Row> => {
    const socket = await openSocket(server.url);
    act(socket);
    const took = await timed(async () => {
      for (let polls = 0; polls < 360 && isOpenAtServer(socket); polls += 1) await pause(250);
    });
    socket.destroy();
    return {
      tried: `a client that ${what}`,
      mustBe: "cut off after 30 s",
      seen: took < 90_000 ? seconds(took) : "not within 90 s",
      holds: took < 35_000,
    };
  });
  yield* await Promise.all(rows);
  await server.stop();
};

/** Two thousand connections that end at once: because the server cuts them off, and because their client is killed. */
export const cut: Attack = async function* (setting) {
  const target = await startTarget(setting);
  const alone = await othersAlone(target, setting.seconds);
  const longestMs = alone.max + 50;
  // Two thousand requests at once take what they take: this is about their end.
  const settle = () => pause(3000);
  try {
    const sockets = await Promise.all(Array.from({ length: 2000 }, () => openSocket(target.url)));
    for (const socket of sockets) socket.write(halfBody);
    await settle();
    const during = await othersDuring(target, 1, async () => {
      while (sockets.some((socket) => !socket.closed)) await pause(500);
    });
    yield waitRow(
      "2,000 connections with half a body, cut off by the server",
      { alone, during },
      { longestMs },
    );
    const ends: Readonly<Record<string, string>> = {
      "closed by a client that is killed": halfBody,
      "reset by one that has not read an answer before": readText("/health/live") + halfBody,
    };
    for (const [how, text] of Object.entries(ends)) {
      const client = fork(fileURLToPath(new URL("client.ts", import.meta.url)), {
        execArgv: ["--import", "tsx"],
      });
      client.send({ url: target.url, connections: 2000, text } satisfies Client);
      await once(client, "message");
      await settle();
      const during = await othersDuring(target, setting.seconds, async () => {
        await pause(1000);
        client.kill("SIGKILL");
      });
      yield waitRow(`2,000 connections with half a body, ${how}`, { alone, during }, { longestMs });
    }
  } finally {
    await target.stop();
  }
};

/** Clients that make a new connection for each request, as fast as they can. */
export const reconnecting: Attack = async function* (setting) {
  const text = "GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  for (const connections of [200, 1000]) {
    const target = await startTarget(setting);
    const { url } = target;
    try {
      const compared = await compare(target, setting.seconds, { how: "reconnect", url, connections, text });
      yield waitRow(`${connections} clients that connect for each request`, compared, {
        seen: `, ${compared.answersPerSecond} answers/s`,
        longestMs: 500,
      });
    } finally {
      await target.stop();
    }
  }
};

/** More connections than there may be. */
export const limit: Attack = async function* () {
  const server = await startServer({ FX_MAX_CONNECTIONS: "500" });
  const sockets = await Promise.all(Array.from({ length: 1000 }, () => openSocket(server.url)));
  const open = () => sockets.filter((socket) => !socket.closed).length;
  for (let polls = 0; polls < 50 && open() > 500; polls += 1) await pause(100);
  const left = open();
  yield {
    tried: "1,000 connections to a server with `--max-connections 500`",
    mustBe: "500 are open",
    seen: `${left} are open`,
    holds: left === 500,
  };
  for (const socket of sockets) socket.destroy();
  await server.stop();
};

/** A pipe whose reader has stalled takes the log. */
export const log: Attack = async function* ({ folder }) {
  const launcher =
    process.env.FX_ATTACK_COMMAND ?? fileURLToPath(new URL("../../bin/fx.js", import.meta.url));
  const args = [launcher, "serve", "--port", "0", "--rates", "demo", "--log-level", "info"];
  // Nobody reads its stderr.
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  try {
    const [said] = await once(child.stdout.setEncoding("utf8"), "data");
    const url = /http:\S+/.exec(said)?.[0] ?? "";
    const before = memoryOf(child.pid);
    const load = { url, file: writeReads(folder, ["/api/rates"]), connections: 1, seconds: 1 };
    let answered = 0;
    for (let times = 0; times < 60 && answered < 60_000; times += 1) {
      answered += (await measure(load)).requests;
    }
    const more = memoryOf(child.pid) - before;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    const took = await timed(() => Promise.race([exited, pause(20_000)]));
    yield {
      tried: `a log that nobody reads, ${answered} requests, then SIGTERM`,
      mustBe: "memory flat, ends",
      seen: `${more} MB more, ${took < 19_000 ? `ends after ${seconds(took)}` : "not within 20 s"}`,
      holds: answered >= 60_000 && more < 60 && took < 5000,
    };
  } finally {
    child.kill("SIGKILL");
  }
};

/** Requests that Node takes otherwise than they were meant. */
export const malformed: Attack = async function* () {
  const server = await startServer();
  const answerTo = async (text: string): Promise<string> => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write(text);
    let answer = "";
    const ends = new Promise((resolve) => socket.once("close", resolve));
    socket.setEncoding("utf8").on("data", (chunk) => {
      answer += chunk;
    });
    await Promise.race([ends, pause(1000)]);
    socket.destroy();
    return answer;
  };
  const isProblem = (answer: string) => /^HTTP\/1\.1 400 [\s\S]*application\/problem\+json/.test(answer);
  const brief = (answer: string) => {
    const [, status] = /^HTTP\/1\.1 (\d+)/.exec(answer) ?? [];
    return `${status}${answer.includes("problem+json") ? " with a problem document" : ""}`;
  };
  const many = await answerTo(`GET /health/live HTTP/1.1\r\nHost: localhost\r\n${"a:\r\n".repeat(2000)}\r\n`);
  yield { tried: "2,001 headers", mustBe: "400", seen: brief(many), holds: isProblem(many) };
  const hostless = await answerTo("GET /health/live HTTP/1.1\r\n\r\n");
  yield {
    tried: "HTTP/1.1 without a Host",
    mustBe: "400 with a problem document",
    seen: brief(hostless),
    holds: isProblem(hostless),
  };
  const order = await answerTo(`${readText("/health/live")}${readText("/health/live")}no HTTP\r\n\r\n`);
  const statuses = [...order.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status).join(", ");
  yield {
    tried: "two requests and then bytes that are no HTTP, at once",
    mustBe: "200, 200, 400",
    seen: statuses,
    holds: statuses === "200, 200, 400",
  };
  await server.stop();
};
