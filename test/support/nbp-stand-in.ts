/**
 * A stand-in for the bank's API on loopback, which can be made to fail in many ways while it runs. In tests:
 * `startNbpStandIn()`. By hand, with the recorded tables moved to end today, so that they are traded on:
 *
 *   node --import tsx test/support/nbp-stand-in.ts 8099
 *   npx fx serve --rates http://127.0.0.1:8099
 *   curl -X POST http://127.0.0.1:8099/mode/html     (see `modes`; "refuses" closes the port for 20 s)
 */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { addDays, warsawDate } from "../../src/core/date.ts";
import { publishedDemo } from "../../src/rates/recorded.ts";

const fixture = (name: string) =>
  readFileSync(new URL(`../fixtures/nbp/${name}`, import.meta.url), "utf8").trim();

/** The bank's table 108/C/NBP/2026 as it printed it, as the text of one element of its array. */
export const publishedTable = fixture("table-c-2026-06-08.json").slice(1, -1);
export const noDataText = fixture("404-no-data.txt");
export const overLimitText = fixture("400-tables-last-over-67.txt");

/** The 67 recorded tables of 2022, moved so that the last one takes effect on `last`. */
export function tablesUpTo(last: string): string[] {
  const tables = publishedDemo();
  const shift = Math.round((Date.parse(last) - Date.parse(tables.at(-1)?.effectiveDate ?? "")) / 86_400_000);
  return tables.map((table) => {
    const effectiveDate = addDays(table.effectiveDate ?? "", shift);
    const tradingDate = addDays(table.tradingDate ?? "", shift);
    return JSON.stringify({
      ...table,
      no: `${table.no?.slice(0, -4)}${effectiveDate.slice(0, 4)}`,
      tradingDate,
      effectiveDate,
    });
  });
}

const text = (status: number, body: string) => (_request: IncomingMessage, response: ServerResponse) => {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(body);
};
/** Compressed, unless the request rules that out: without `accept-encoding`, any coding is allowed. */
const json = (body: string) => (request: IncomingMessage, response: ServerResponse) => {
  const isPlain = request.headers["accept-encoding"] === "identity";
  const headers = { "content-type": "application/json; charset=utf-8" };
  response.writeHead(200, isPlain ? headers : { ...headers, "content-encoding": "gzip" });
  response.end(isPlain ? body : gzipSync(body));
};

/** What the stand-in does with a request, other than to answer it, and "refuses", which closes its port. */
const failures = {
  hangs: () => {},
  hangsUp: (request: IncomingMessage) => request.socket.destroy(),
  drips: (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/json" });
    const timer = setInterval(() => response.write(" "), 20);
    response.on("close", () => clearInterval(timer));
  },
  huge: (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/json" });
    const more = () => {
      while (!response.destroyed && response.write(" ".repeat(64 * 1024))) {}
    };
    response.on("drain", more);
    more();
  },
  html: (_request: IncomingMessage, response: ServerResponse) => {
    response
      .writeHead(200, { "content-type": "text/html" })
      .end("<!doctype html><title>Maintenance</title><p>Back soon.");
  },
  nonsense: json('[{"table":"C","no":7}]'),
  object: json('{"rates":[]}'),
  text: text(200, "Przerwa techniczna"),
  empty: json("[]"),
  "400": text(400, overLimitText),
  "404": text(404, noDataText),
  "500": text(500, "Internal Server Error"),
  redirect: (request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(302, { location: `http://127.0.0.1:9${request.url}` }).end();
  },
};

export type Mode = "answers" | "refuses" | keyof typeof failures;
export const modes: readonly Mode[] = ["answers", "refuses", ...(Object.keys(failures) as Mode[])];

export interface NbpStandIn {
  /** To give to fx as the base URL. */
  readonly url: string;
  /** The texts of the tables it has, oldest first. Change it at will. */
  tables: string[];
  /** The paths that were asked for, in order, whatever became of it. */
  readonly requests: string[];
  /** The time that its answers carry. Change it at will. */
  clock: () => Date;
  /** For how long a cache has had its answers. */
  ageSeconds: number;
  /** Resolves with the next request. */
  asked(): Promise<void>;
  /** The most requests that were ever open at once. */
  readonly mostAtOnce: number;
  mode(mode: Mode): Promise<void>;
  close(): Promise<void>;
}

export async function startNbpStandIn(tables: string[] = [publishedTable], port = 0): Promise<NbpStandIn> {
  const standIn = { tables, requests: [] as string[], clock: () => new Date(), ageSeconds: 0, mostAtOnce: 0 };
  let mode: Mode = "answers";
  let open = 0;

  const answer = (path: string, request: IncomingMessage, response: ServerResponse) => {
    const asked = /^\/exchangerates\/tables\/C\/(?:last\/(\d+)\/)?$/.exec(path);
    const count = Number(asked?.[1] ?? 1);
    if (asked === null || standIn.tables.length === 0) text(404, noDataText)(request, response);
    else if (count > 67) text(400, overLimitText)(request, response);
    else json(`[${standIn.tables.slice(-count).join(",")}]`)(request, response);
  };
  let onAsked: (() => void)[] = [];
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://stand-in").pathname;
    standIn.requests.push(request.url ?? "/");
    response.setHeader("date", standIn.clock().toUTCString());
    if (standIn.ageSeconds > 0) response.setHeader("age", standIn.ageSeconds);
    for (const resolve of onAsked) resolve();
    onAsked = [];
    open += 1;
    standIn.mostAtOnce = Math.max(standIn.mostAtOnce, open);
    response.on("close", () => {
      open -= 1;
    });
    const wanted = /^\/mode\/(.+)$/.exec(path)?.[1];
    if (request.method === "POST" && wanted !== undefined) void control(wanted, response);
    else if (mode === "answers" || mode === "refuses") answer(path, request, response);
    else failures[mode](request, response);
  });
  // A connection that is kept alive would be found dead, where a closed port has to be found.
  server.maxRequestsPerSocket = 1;
  const listen = (at: number) =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(at, "127.0.0.1", resolve);
    });
  const stopListening = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  await listen(port);
  const { port: bound } = server.address() as AddressInfo;

  const setMode = async (next: Mode) => {
    mode = next;
    if (next === "refuses") await stopListening();
    else if (!server.listening) await listen(bound);
  };
  const control = async (wanted: string, response: ServerResponse) => {
    const known = modes.find((candidate) => candidate === wanted);
    response
      .writeHead(known === undefined ? 404 : 200)
      .end(known === undefined ? `modes: ${modes.join(" ")}\n` : `${known}\n`);
    if (known === undefined) return;
    await new Promise((resolve) => response.once("close", resolve));
    await setMode(known);
    if (known === "refuses") setTimeout(() => void setMode("answers"), 20_000);
  };
  return Object.assign(standIn, {
    url: `http://127.0.0.1:${bound}`,
    asked: () => new Promise<void>((resolve) => onAsked.push(resolve)),
    mode: setMode,
    close: stopListening,
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { url } = await startNbpStandIn(tablesUpTo(warsawDate(new Date())), Number(process.argv[2] ?? 8099));
  process.stderr.write(`${url} answers. curl -X POST ${url}/mode/MODE, of: ${modes.join(" ")}\n`);
}
