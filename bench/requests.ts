import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { adult } from "../test/support/fixture.ts";

/** Placeholder of an idempotency key in a request, replaced by `wrk.lua`. */
const keyMark = "\u0001";
/** Separator of the requests in a file. */
const requestEnd = "\0";

/** Writes one order for each account, with an idempotency key, as the bytes of the requests. */
export function writeOrders(folder: string, accounts: number): string {
  const texts = pesels(accounts).map((pesel) => {
    const body = `{"pesel":"${pesel}","from":"PLN","to":"USD","toBuy":0.01}`;
    const headers = [
      ...["Host: 127.0.0.1", "Content-Type: application/json", `Content-Length: ${body.length}`],
      `Idempotency-Key: ${keyMark}`,
    ];
    return `POST /api/exchange/${pesel} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n${body}`;
  });
  return write(folder, "orders", texts.join(requestEnd));
}

/** Writes one read of each account. */
export function writeReads(folder: string, accounts: number): string {
  const texts = pesels(accounts).map((pesel) => `GET /api/user/${pesel} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  return write(folder, "reads", texts.join(requestEnd));
}

/** Writes a file for `fx batch` that opens the accounts with more money than a benchmark can spend. */
export function writeOpenings(folder: string, accounts: number): string {
  const lines = pesels(accounts).map((pesel) => `${pesel},Jan,Kowalski,1000000\n`);
  return write(folder, "openings.csv", `pesel,name,surname,pln\n${lines.join("")}`);
}

/** Writes a file for `fx batch` of distinct orders, spread over the accounts in turn. */
export function writeBatch(folder: string, lines: number, accounts: number): string {
  const owners = pesels(accounts);
  const texts = Array.from({ length: lines }, (_, index) => {
    const cents = Math.floor(index / accounts) + 1;
    return `${owners[index % accounts]},PLN,USD,${cents / 100}\n`;
  });
  return write(folder, "orders.csv", `pesel,from,to,toBuy\n${texts.join("")}`);
}

function write(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** PESELs of adults, ordered so that successive ones are far apart in the database. */
function pesels(accounts: number): string[] {
  return Array.from({ length: accounts }, (_, index) => adult((index * 7919) % accounts));
}
