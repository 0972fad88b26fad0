/** A hostile client in a process of its own: `hostile-client.ts KIND URL PESEL`. Runs until it is ended. */
import { connect, type Socket } from "node:net";

const [, , kind = "", url = "", pesel = ""] = process.argv;
const { port } = new URL(url);
const connections = 64;

const order = JSON.stringify({ pesel, from: "PLN", to: "USD", toBuy: 0.01 });
const post = `POST /api/exchange/${pesel} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${order.length}\r\n\r\n`;
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const lists = [
  "/api/users?limit=200",
  `/api/user/${pesel}/history?limit=200`,
  "/api/rates/USD/history?days=3660",
];

/** Sends `text` again whenever `answers` answers have come. A connection that ends is replaced. */
function repeat(text: string, answers: number): void {
  const socket = open(() => repeat(text, answers));
  let count = 0;
  socket.on("data", (bytes) => {
    count += bytes.toString("latin1").split("HTTP/1.1 ").length - 1;
    if (count < answers) return;
    count = 0;
    socket.write(text);
  });
  socket.write(text);
}

function open(again: () => void): Socket {
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => {});
  socket.once("close", () => setTimeout(again, 5));
  return socket;
}

const attacks: Readonly<Record<string, () => void>> = {
  "pipelines orders": () => repeat(`${post}${order}`.repeat(16), 16),
  "pipelines more than is taken": () => repeat(get(`/api/user/${pesel}`).repeat(40), 40),
  "reads nothing": () => {
    open(() => {})
      .pause()
      .write(get("/docs/static/swagger-ui-bundle.js"));
  },
  "sends halves": () => {
    const socket = open(attacks["sends halves"] as () => void);
    socket.write(post);
    for (const at of [1, 2, 3]) setTimeout(() => socket.write("{"), 100 * at);
  },
  "resets its connections": () => {
    const socket = open(attacks["resets its connections"] as () => void);
    socket.write(`${post}${order}`, () => setTimeout(() => socket.resetAndDestroy(), 2));
  },
  "asks for long lists": () => repeat(get(lists[Math.floor(Math.random() * lists.length)] ?? ""), 1),
};

const attack = attacks[kind];
if (attack === undefined) throw new Error(`There is no attack "${kind}".`);
for (let opened = 0; opened < connections; opened += 1) attack();
// Connections that are not read from do not keep a process.
setInterval(() => {}, 1000);
process.send?.("begun");
