import type { TestContext } from "node:test";
import { adult } from "../support/fixture.ts";
import { type HttpAnswer, send } from "../support/http.ts";
import { type Served, startFx } from "../support/run-fx.ts";

export interface Order {
  readonly pesel: string;
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly toBuy?: number;
  readonly toSell?: number;
}

export interface OrderAnswer extends HttpAnswer {
  /** Id of the exchange; empty without one. */
  readonly receipt: string;
  readonly replayed: boolean;
}

/** Starts a server over a ledger in a file, which ends with the test. */
export async function serveFile(t: TestContext, path: string, cwd = "."): Promise<Served> {
  const server = await startFx(["--db", `sqlite:${path}`, "--rates", "demo", "--log-level", "silent"], {
    cwd,
  });
  t.after(() => server.stop());
  return server;
}

/** Opens an account with 1,000 PLN, and returns the status of the answer. */
export async function openAccount({ url }: { readonly url: string }, pesel = adult()): Promise<number> {
  const body = { name: "Jan", surname: "Kowalski", pesel, pln: 1000 };
  return (await send(url, "POST", "/api/user", { body })).status;
}

/** An order for one US cent. */
export function centOrder(pesel: string, key: string): Order {
  return { pesel, key, from: "PLN", to: "USD", toBuy: 0.01 };
}

export async function sendOrder(url: string, { key, ...body }: Order): Promise<OrderAnswer> {
  const headers = { "content-type": "application/json", "idempotency-key": key };
  const answer = await send(url, "POST", `/api/exchange/${body.pesel}`, { headers, body });
  return {
    ...answer,
    receipt: answer.headers.get("fx-receipt")?.split("/").at(-1) ?? "",
    replayed: answer.headers.has("idempotency-replayed"),
  };
}
