import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import fc from "fast-check";
import { maskPesels } from "../../src/core/mask.ts";
import type { Operation } from "../../src/wire/operation.ts";
import { operations } from "../../src/wire/operations.ts";
import { includes, type Role } from "../../src/wire/role.ts";
import { conforms, linesIn } from "../support/document.ts";
import { type HttpAnswer, isProblem } from "../support/http.ts";
import { runFx } from "../support/run-fx.ts";
import { type Asked, anyRequest, type Draft, type Heard, type Tokens } from "./requests.ts";
import { names } from "./values.ts";

/** The most requests of a run, each over a connection of its own. */
const atOnce = 8;
const longestLine = 16_384;
/** Statuses allowed for a path or a method that is undocumented, or spelled otherwise than documented. */
const elsewhere = [200, 204, 302, 304, 400, 401, 403, 404, 405, 409, 422, 503];

/** Asserts that an answer is as the document says, to a token that may have it, and tells no token. */
export function check(asked: Asked, answer: HttpAnswer): void {
  const { status, headers, text } = answer;
  assert.ok(status < 500 || status === 503, `status ${status}`);
  assert.ok(headers.has("x-request-id") || [400, 503].includes(status), "no X-Request-Id");
  assert.ok(!`${[...headers].join("\n")}\n${text}`.includes("fxt_"), "a token in the answer");
  if (asked.operation === undefined) {
    assert.ok(elsewhere.includes(status), `status ${status}`);
    if (status >= 400 && asked.method !== "HEAD") isProblem(answer);
    return;
  }
  conforms(asked.operation, answer, { isHead: asked.method === "HEAD" });
  if (status >= 400) return;
  const { role }: Operation = operations[asked.operation];
  const isAllowed = role === "anyone" || (asked.role !== undefined && includes(asked.role, role));
  assert.ok(isAllowed, `a success for ${asked.role ?? "nobody"}`);
  if (asked.operation === "bulk") checkLines(asked.body, answer);
}

/** Asserts that a batch answers every line that is not blank, in order. */
function checkLines(body: Buffer, { text, headers }: HttpAnswer): void {
  const lines = body
    .toString("latin1")
    .replace(/^\xef\xbb\xbf/, "")
    .split("\n");
  const given = lines.flatMap((line, index) => {
    const isBlank = line.length <= longestLine && /^[ \t]*\r?$/.test(line);
    return isBlank ? [] : [index + 1];
  });
  const answers = linesIn(text).map((line) => JSON.parse(line));
  assert.deepEqual(
    answers.map(({ line }) => line),
    given,
    "the lines that are answered",
  );
  const type = { "content-type": "application/problem+json; charset=utf-8" };
  const id = { "x-request-id": headers.get("x-request-id") ?? "none" };
  for (const { status, problem } of answers) {
    assert.ok(status < 500, `status ${status} of a line`);
    if (status < 400) continue;
    isProblem({
      status,
      headers: new Headers({ ...type, ...id }),
      text: JSON.stringify(problem),
      json: problem,
    });
  }
}

/** Two valid tokens of each role; the invalid ones are a revoked one, unknown ones, and other texts. */
export async function makeTokens(file: string): Promise<Tokens> {
  const fx = async (...line: string[]) => {
    const { stdout, stderr, exit } = await runFx(["token", ...line, "--tokens", file]);
    if (exit !== 0) throw new Error(stderr);
    return stdout.trim();
  };
  const two = async (role: Role) => [
    await fx("create", `${role}-1`, "--role", role),
    await fx("create", `${role}-2`, "--role", role, "--expires", "1d"),
  ];
  const valid = { viewer: await two("viewer"), teller: await two("teller"), operator: await two("operator") };
  const revoked = await fx("create", "revoked", "--role", "operator");
  await fx("revoke", "revoked");
  const near = `${valid.operator[0]?.slice(0, -1)}~`;
  return {
    valid,
    invalid: [revoked, near, `fxt_${"Zq7".repeat(16)}a`, "abc", "80010112340", "a".repeat(5000)],
  };
}

const personal = ["Gżegżółka", "7318.37", ...names.filter((name) => name.length > 3)];
const spellings = personal.flatMap((text) => [
  text,
  encodeURIComponent(text),
  JSON.stringify(text).slice(1, -1),
]);

/** Lines with a token, or with a PESEL, a name or a balance in any spelling that is sent. */
export function leaksIn(written: string): string[] {
  return (
    written
      .split("\n")
      // The time of a line of the log, and the value of a metric, have as many digits.
      .map((line) => line.replace(/"time":\d+|^process_\w+ \d+$|(?<= )\d+\.\d{9,}(e-\d+)?$/, ""))
      .filter(
        (line) =>
          maskPesels(line) !== line ||
          /fxt_|Zng6Znh0X|\d{6}-\d{5}(?!\d)|８００１/.test(line) ||
          spellings.some((text) => line.toLowerCase().includes(text.toLowerCase())),
      )
  );
}

/** Sends requests, and checks their answers. */
export class Play {
  /** Number of answers by status, and of connections that ended without one. */
  readonly answers: Record<string, number> = {};
  /** Operations that were answered with a success. */
  readonly done = new Set<string>();
  /** Number of answers, and lines of answers, with a receipt that is not of an earlier request. */
  entries = 0;
  readonly #url: string;
  readonly #onAnswer: ((answer: HttpAnswer) => void) | undefined;
  readonly #heard: Heard = { receipt: [], cursor: [], table: [], checkpoint: undefined };
  /** A connection for each request: one that is kept could be closed by the server just as it is used again. */
  readonly #agent = new Agent({ maxSockets: atOnce });

  /** @param onAnswer is given each answer, in place of the checks */
  constructor(url: string, onAnswer?: (answer: HttpAnswer) => void) {
    this.#url = url;
    this.#onAnswer = onAnswer;
  }

  /** Sends about this many requests. Returns a fault that was found, with few requests that show it. */
  async run(requests: number, tokens: Tokens, seed: number): Promise<string | undefined> {
    const runs = fc.array(anyRequest(tokens), { minLength: 1, maxLength: atOnce });
    const property = fc.asyncProperty(runs, async (drafts) => {
      const sent = await Promise.allSettled(drafts.map((draft) => this.#send(draft)));
      for (const each of sent) if (each.status === "rejected") throw each.reason;
    });
    const details = await fc.check(property, { seed, numRuns: Math.ceil((2 * requests) / (1 + atOnce)) });
    this.#agent.destroy();
    return details.failed
      ? `after ${details.numRuns} runs: ${Object(details.errorInstance).message}`
      : undefined;
  }

  async #send(draft: Draft): Promise<void> {
    const asked = draft(this.#heard);
    const answer = await this.#answerTo(asked);
    const what = String(answer?.status ?? "none");
    this.answers[what] = (this.answers[what] ?? 0) + 1;
    if (this.#onAnswer === undefined) this.#check(asked, answer);
    if (answer === undefined) return;
    this.#onAnswer?.(answer);
    if (asked.operation !== undefined && answer.status < 400) this.done.add(asked.operation);
    this.#hear(answer);
  }

  #check(asked: Asked, answer: HttpAnswer | undefined): void {
    try {
      // The answer to a large request may be lost, as the server closes the connection before it has read all of it.
      const size = `${asked.target}${asked.headers.flat().join("")}`.length + asked.body.length;
      if (answer === undefined) assert.ok(size > 16_384, "no answer");
      else check(asked, answer);
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${shown(asked)}\n${shownAnswer(answer)}`);
    }
  }

  /** The answer to a request; undefined if its connection ends without one. */
  async #answerTo({ method, target, headers, body, chunk }: Asked): Promise<HttpAnswer | undefined> {
    const { hostname, port } = new URL(this.#url);
    const options = { hostname, port, method, path: target, agent: this.#agent, headers: headers.flat() };
    const sent = request(options as unknown as Parameters<typeof request>[0]);
    // The rest of a body may be refused after the answer has begun.
    const failed = new Promise<undefined>((resolve) => sent.once("error", () => resolve(undefined)));
    for (let at = 0; at < body.length; at += chunk ?? body.length)
      sent.write(body.subarray(at, at + (chunk ?? body.length)));
    sent.end();
    const response = await Promise.race([once(sent, "response"), failed]).catch(() => undefined);
    if (response === undefined) return undefined;
    const [message] = response as [IncomingMessage];
    const parts = await message.setEncoding("utf8").toArray();
    const text = parts.join("");
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {}
    return {
      status: message.statusCode ?? 0,
      headers: new Headers(message.headers as Record<string, string>),
      text,
      json,
    };
  }

  #hear({ headers, text }: HttpAnswer): void {
    if (headers.has("fx-receipt") && !headers.has("idempotency-replayed")) this.entries += 1;
    const isLines = headers.get("content-type")?.startsWith("application/x-ndjson");
    const isNew = (line: string) => /^\{"line":.*"receipt":"[^"]/.test(line) && !/"replayed":true/.test(line);
    if (isLines) this.entries += text.split("\n").filter(isNew).length;
    const keep = (list: string[], value: string | undefined) => {
      if (value !== undefined) list.push(value);
      if (list.length > 50) list.shift();
    };
    if (text.length > 200_000) return;
    keep(this.#heard.receipt, headers.get("fx-receipt")?.split("/").at(-1));
    keep(this.#heard.cursor, /"next":"([^"]+)"/.exec(text)?.[1]);
    keep(this.#heard.table, /"(?:table|tableId)":"([^"]+)"/.exec(text)?.[1]);
    if (text.startsWith('{"checkpoint":')) this.#heard.checkpoint = Buffer.from(text);
  }
}

function shown({ method, target, headers, body }: Asked): string {
  const lines = headers.map((header) => header.join(": "));
  return shortened([`${method} ${target}`, ...lines, "", body.toString("latin1")].join("\n"));
}

function shownAnswer(answer: HttpAnswer | undefined): string {
  if (answer === undefined) return "--> no answer";
  const lines = [...answer.headers].map((header) => header.join(": "));
  return shortened([`--> ${answer.status}`, ...lines, "", answer.text].join("\n"));
}

function shortened(text: string): string {
  const visible = text.replaceAll(/[^\n -~]/g, (each) => JSON.stringify(each).slice(1, -1));
  return visible.length > 4000 ? `${visible.slice(0, 4000)}… (${visible.length})` : visible;
}
