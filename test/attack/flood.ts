/**
 * Sends the requests of a file in turn over many connections, each the next as soon as it is answered. It takes a Flood
 * from its parent, and sends back what was Flooded.
 */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { requestEnd } from "../../bench/requests.ts";

export interface Flood {
  readonly url: string;
  readonly file: string;
  readonly connections: number;
  readonly seconds: number;
}

export interface Flooded {
  /** How many answers there were of each status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Other than 200 and without Retry-After. */
  readonly bare: number;
  /** Of those that are 200. */
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number };
}

process.once("disconnect", () => process.exit());
process.on("message", async (flood: Flood) => {
  process.send?.({ result: await send(flood) }, () => process.exit());
});

async function send({ url, file, connections, seconds }: Flood): Promise<Flooded> {
  const requests = readFileSync(file, "latin1").split(requestEnd);
  const { hostname, port } = new URL(url);
  const statuses: Record<string, number> = {};
  const latencies: number[] = [];
  let [sent, bare, isOver] = [0, 0, false];

  const open = () =>
    new Promise<void>((resolve, reject) => {
      const buffer = Buffer.alloc(4096);
      let sentAtMs = 0;
      const next = () => {
        if (isOver) return void socket.destroy();
        sent += 1;
        sentAtMs = performance.now();
        socket.write(requests[sent % requests.length] as string, "latin1");
      };
      const callback = (length: number) => {
        const answer = buffer.toString("latin1", 0, length);
        const status = answer.slice(9, 12);
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (status === "200") latencies.push(performance.now() - sentAtMs);
        else if (!/retry-after: \d/i.test(answer)) bare += 1;
        next();
        return true;
      };
      const socket = connect({ host: hostname, port: Number(port), onread: { buffer, callback } });
      socket.setNoDelay(true);
      socket.once("connect", () => {
        next();
        resolve();
      });
      socket.once("error", (error) => {
        statuses[error.name] = (statuses[error.name] ?? 0) + 1;
        reject(error);
      });
    });

  await Promise.all(Array.from({ length: connections }, open));
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  isOver = true;
  // Those under way are answered, and counted.
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { statuses, bare, latencyMs: { p50: at(0.5), p99: at(0.99), max: at(1) } };
}
