import assert from "node:assert/strict";
import { Readable } from "node:stream";
import type { Change, Request } from "../../src/core/change.ts";
import type { CurrencyCode } from "../../src/core/currency.ts";
import { type ErrorCode, FxError } from "../../src/core/errors.ts";
import { maskPesels } from "../../src/core/mask.ts";
import { formatMoney, type Money } from "../../src/core/money.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import {
  type AuditReport,
  type BulkAnswer,
  type BulkLine,
  type ExchangeService,
  longestPage,
  type Page,
  type PageRequest,
  type Recorded,
  type Settlement,
} from "../../src/core/service.ts";
import { decimal } from "./fixture.ts";
import { instead } from "./instead.ts";

/** Asserts a refusal with this code and message, and returns the error. */
export async function refuses(
  answer: Promise<unknown>,
  code: ErrorCode,
  message?: string | RegExp,
): Promise<FxError> {
  try {
    await answer;
  } catch (error) {
    assert.ok(error instanceof FxError, String(error));
    assert.equal(error.code, code, error.message);
    if (typeof message === "string") assert.equal(error.message, message);
    else if (message !== undefined) assert.match(error.message, message);
    assert.equal(maskPesels(error.message), error.message);
    return error;
  }
  return assert.fail(`not refused with ${code}`);
}

/** An audit's report without the digest. */
export function counted({ digest: _, ...report }: AuditReport): Omit<AuditReport, "digest"> {
  return report;
}

export function texts(balances: readonly Money[]): string[] {
  return balances.map(formatMoney);
}

export async function everyPage<T>(
  load: (page: PageRequest) => Promise<Page<T>>,
  limit = longestPage,
): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await load({ limit, cursor });
    assert.ok(page.items.length <= limit);
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return items;
}

type Cash = { readonly note?: string; readonly key?: string; readonly by?: string };

/** A deposit or a withdrawal of money given as text, such as "100.5 USD". */
export function cash(
  kind: "deposit" | "withdrawal",
  pesel: Pesel,
  words: string,
  { note, key, by }: Cash = {},
): Change {
  const [amount = "", currency] = words.split(" ");
  return { kind, pesel, amount: decimal(amount), currency: currency as CurrencyCode, note, key, by };
}

export function send(service: ExchangeService, request: Request): Promise<Recorded | Settlement> {
  if (request.kind === "opening") return service.createAccount(request);
  return request.kind === "exchange" ? service.exchange(request) : service.change(request);
}

/** The answers to lines that come in these chunks. */
export function answersTo(
  service: Pick<ExchangeService, "bulk">,
  ...chunks: (readonly BulkLine[])[]
): Promise<BulkAnswer[]> {
  return joined(service.bulk(Readable.from(chunks)));
}

/** The answers of a dry run to lines that come in these chunks. */
export function dryRunOf(
  service: Pick<ExchangeService, "dryRun">,
  ...chunks: (readonly (Request | FxError)[])[]
): Promise<BulkAnswer[]> {
  return joined(service.dryRun(Readable.from(chunks)));
}

/** The items of all parts. */
export async function joined<T>(parts: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const part of parts) all.push(...part);
  return all;
}

/** The code of each answer that is a refusal, and "done" of the others. */
export function codesOf(answers: readonly BulkAnswer[]): string[] {
  return answers.map((answer) => (answer instanceof FxError ? answer.code : "done"));
}

/** Adds the token's name to every request, as a server's handlers do. */
export function withToken(service: ExchangeService, by: string | undefined): ExchangeService {
  async function* named(lines: AsyncIterable<readonly BulkLine[]>) {
    for await (const chunk of lines) {
      yield chunk.map((line) => (line instanceof FxError ? line : { ...line, by }));
    }
  }
  return instead(service, {
    createAccount: (opening) => service.createAccount({ ...opening, by }),
    exchange: (order) => service.exchange({ ...order, by }),
    change: (change) => service.change({ ...change, by }),
    changeTrading: (request) => service.changeTrading({ ...request, by }),
    bulk: (lines) => service.bulk(named(lines)),
  });
}
