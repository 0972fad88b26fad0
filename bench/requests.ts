import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { adult } from "../test/support/fixture.ts";

export type Kind = "exchange" | "account" | "create";

/** Stands in a request for its idempotency key, which the generator puts in. */
export const keyMark = "\u0001";
/** Between the requests of a file. */
export const requestEnd = "\0";

interface Wanted {
  readonly accounts: number;
  readonly keys?: boolean;
  /** What each request shows. */
  readonly token?: string;
}

/** Of orders and reads: more than a load of some seconds sends. */
const requestsAtMost = 200_000;

/** Requests over so many accounts, at most one of each, as they go over the connection. */
export function writeRequests(folder: string, kind: Kind, { accounts, keys = false, token }: Wanted): string {
  const path = join(folder, `${kind}-${accounts}${keys ? "-keys" : ""}${token ? "-token" : ""}`);
  const count = kind === "create" ? accounts : Math.min(accounts, requestsAtMost);
  const texts = pesels(accounts, count).map((pesel) => requestText(kind, pesel, keys, token));
  writeFileSync(path, texts.join(requestEnd));
  return path;
}

/** Requests for these paths, in turn, or all in one text. */
export function writeReads(folder: string, paths: readonly string[], { isOneText = false } = {}): string {
  const file = join(folder, "reads");
  writeFileSync(file, paths.map(readText).join(isOneText ? "" : requestEnd));
  return file;
}

export function readText(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
}

function requestText(kind: Kind, pesel: string, keys: boolean, token: string | undefined): string {
  if (kind === "account") return readText(`/api/user/${pesel}`);
  const [path, body] =
    kind === "create" ? ["/api/user", openingText(pesel)] : [`/api/exchange/${pesel}`, orderText(pesel, 1)];
  const headers = [
    "Host: 127.0.0.1",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    ...(token ? [`Authorization: Bearer ${token}`] : []),
    ...(keys ? [`Idempotency-Key: ${keyMark}`] : []),
  ];
  return `POST ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n${body}`;
}

/** Orders for a bulk or a batch, `lines` of them, no two the same, in turn over the accounts. Keys count. */
export function writeLines(
  folder: string,
  { lines, accounts, keys = false }: Wanted & { lines: number },
): string {
  const path = join(folder, `orders-${lines}${keys ? "-keys" : ""}.ndjson`);
  const owners = pesels(accounts);
  const perWrite = 100_000;
  writeFileSync(path, "");
  for (let from = 0; from < lines; from += perWrite) {
    const texts = Array.from({ length: Math.min(perWrite, lines - from) }, (_, index) => {
      const number = from + index;
      const body = orderText(owners[number % accounts] as string, Math.floor(number / accounts) + 1);
      return keys ? `${body.slice(0, -1)},"key":"order-${number}"}\n` : `${body}\n`;
    });
    writeFileSync(path, texts.join(""), { flag: "a" });
  }
  return path;
}

/** Buys some hundredths of a dollar: so little that the balances of an account last, and keep their number of digits. */
function orderText(pesel: string, cents: number): string {
  return `{"pesel":"${pesel}","from":"PLN","to":"USD","toBuy":${cents / 100}}`;
}

function openingText(pesel: string): string {
  return `{"name":"Jan","surname":"Kowalski","pesel":"${pesel}","pln":1000000}`;
}

/** Neighbours in the file are not neighbours in the database. */
function pesels(accounts: number, count = accounts): string[] {
  return Array.from({ length: count }, (_, index) => adult((index * 7919) % accounts));
}
