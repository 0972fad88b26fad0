/** A stand-in for the bank's API on loopback, with many failure modes. */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { addDays } from "../../src/core/date.ts";
import { publishedDemo } from "../../src/rates/recorded.ts";

const fixture = (name: string) =>
  readFileSync(new URL(`../fixtures/nbp/${name}`, import.meta.url), "utf8").trim();

/** The bank's table 108/C/NBP/2026 as published: the text of one element of its array. */
export const publishedTable = fixture("table-c-2026-06-08.json").slice(1, -1);
export const noDataText = fixture("404-no-data.txt");
export const overLimitText = fixture("400-tables-last-over-67.txt");

/** The 67 recorded tables of 2022, moved so that the last takes effect on `last`. */
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
/** Answers JSON, compressed unless the request rules that out; without `accept-encoding`, any coding is allowed. */
const json = (body: string) => (request: IncomingMessage, response: ServerResponse) => {
  const isPlain = request.headers["accept-encoding"] === "identity";
  const headers = { "content-type": "application/json; charset=utf-8" };
  response.writeHead(200, isPlain ? headers : { ...headers, "content-encoding": "gzip" });
  response.end(isPlain ? body : gzipSync(body));
};

/** Failure modes other than "refuses", which closes the port. */
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

export interface NbpStandIn {
  /** The base URL for fx. */
  readonly url: string;
  /** The texts of its tables, oldest first; may be changed at any time. */
  tables: string[];
  /** The requested paths, in order, whatever the answers. */
  readonly requests: string[];
  /** The clock of the Date header; may be changed at any time. */
  clock: () => Date;
  /** The Age header's value in answers, as from a cache. */
  ageSeconds: number;
  /** Resolves with the next request. */
  asked(): Promise<void>;
  /** Peak number of simultaneous requests. */
  readonly mostAtOnce: number;
  mode(mode: Mode): Promise<void>;
  close(): Promise<void>;
}

export async function startNbpStandIn(tables: string[] = [publishedTable]): Promise<NbpStandIn> {
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
    if (mode === "answers" || mode === "refuses") answer(path, request, response);
    else failures[mode](request, response);
  });
  // A kept-alive connection would be found dead where a test needs a closed port.
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
  await listen(0);
  const { port: bound } = server.address() as AddressInfo;

  const setMode = async (next: Mode) => {
    mode = next;
    if (next === "refuses") await stopListening();
    else if (!server.listening) await listen(bound);
  };
  return Object.assign(standIn, {
    url: `http://127.0.0.1:${bound}`,
    asked: () => new Promise<void>((resolve) => onAsked.push(resolve)),
    mode: setMode,
    close: stopListening,
  });
}
