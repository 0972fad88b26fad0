/**
 * A client of POST /api/bulk on one raw connection: the bytes of a file go out as fast as the server takes them, and
 * the lines that come back are counted. It takes a BulkLoad from its parent, says when it has started, and sends back what it MeasuredBulk.
 */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import type { BulkLoad, MeasuredBulk } from "./bulk-load.ts";

const pieceBytes = 65_536;
const newline = 0x0a;
const carriageReturn = 0x0d;
const refused = Buffer.from('"problem":');

let isStopped = false;

process.once("disconnect", () => process.exit());
process.on("message", async (message: BulkLoad | "stop") => {
  if (message === "stop") isStopped = true;
  else process.send?.({ result: await sendBulk(message) }, () => process.exit());
});

async function sendBulk({ url, file, seconds, times = 1 }: BulkLoad): Promise<MeasuredBulk> {
  const pieces = piecesOf(readFileSync(file));
  const { hostname, port } = new URL(url);
  let [answers, failed] = [0, 0];
  let [head, isHeadRead, before] = ["", false, 0];

  const buffer = Buffer.alloc(pieceBytes);
  const take = (length: number) => {
    const bytes = buffer.subarray(0, length);
    let from = 0;
    if (!isHeadRead) {
      head += bytes.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return true;
      isHeadRead = true;
      if (!head.startsWith("HTTP/1.1 200")) throw new Error(`the bulk was answered ${head}`);
      from = end + 4 - (head.length - length);
    }
    // A newline after a carriage return is of the chunks, not of an answer.
    for (let at = bytes.indexOf(newline, from); at >= 0; at = bytes.indexOf(newline, at + 1)) {
      if ((at > 0 ? bytes[at - 1] : before) !== carriageReturn) answers += 1;
    }
    before = bytes[length - 1] ?? 0;
    for (let at = bytes.indexOf(refused, from); at >= 0; at = bytes.indexOf(refused, at + 1)) failed += 1;
    return true;
  };

  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  const socket = connect({ host: hostname, port: Number(port), onread: { buffer, callback: take } });
  const ended = new Promise<void>((resolve, reject) => {
    socket.once("end", resolve);
    socket.once("error", reject);
  });
  socket.write(
    "POST /api/bulk HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
  );
  const timer = seconds === undefined ? undefined : setTimeout(() => (isStopped = true), seconds * 1000);
  process.send?.({ started: true });
  let lines = 0;
  const write = async () => {
    for (let time = 0; time < times && !isStopped; time += 1) {
      for (const piece of pieces) {
        lines += piece.lines;
        if (!socket.write(piece.chunk)) await new Promise((resolve) => socket.once("drain", resolve));
        if (isStopped) break;
      }
    }
    socket.write("0\r\n\r\n");
  };
  await Promise.all([write(), ended]);
  clearTimeout(timer);
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    lines,
    answers,
    failed,
    seconds: (performance.now() - startedMs) / 1000,
    cpuSeconds: (user + system) / 1e6,
  };
}

/** Whole lines in chunks of HTTP, so that a stream can end after each. */
function piecesOf(bytes: Buffer): { chunk: Buffer; lines: number }[] {
  const pieces: { chunk: Buffer; lines: number }[] = [];
  for (let from = 0; from < bytes.length; ) {
    const to =
      from + pieceBytes >= bytes.length ? bytes.length : bytes.lastIndexOf(newline, from + pieceBytes) + 1;
    const piece = bytes.subarray(from, to);
    let lines = 0;
    for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, at + 1)) lines += 1;
    const chunk = Buffer.concat([
      Buffer.from(`${piece.length.toString(16)}\r\n`),
      piece,
      Buffer.from("\r\n"),
    ]);
    pieces.push({ chunk, lines });
    from = to;
  }
  return pieces;
}
