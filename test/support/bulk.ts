import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from "node:http";
import { type ProblemJson, problem } from "../../src/wire/problem.ts";

export interface BulkAnswerJson {
  readonly line: number | null;
  readonly status: number;
  readonly receipt?: string;
  readonly replayed?: boolean;
  readonly account?: { readonly currencies: readonly { symbol: string; amount: number }[] };
  readonly sold?: { readonly symbol: string; readonly amount: number };
  readonly bought?: { readonly symbol: string; readonly amount: number };
  readonly problem?: ProblemJson;
}

export const linesType = { "content-type": "application/x-ndjson" };

/** A batch request that a test writes and reads step by step. */
export class BulkClient {
  readonly request: ClientRequest;
  readonly #response: Promise<IncomingMessage>;
  #answers: AsyncGenerator<BulkAnswerJson> | undefined;

  constructor(url: string, options: RequestOptions = {}) {
    this.request = request(`${url}/api/bulk`, { method: "POST", headers: linesType, ...options });
    this.request.flushHeaders();
    this.#response = once(this.request, "response").then(([response]) => response as IncomingMessage);
    // A client that is cut off does not wait for answers.
    this.#response.catch(() => {});
    this.request.on("error", () => {});
  }

  response(): Promise<IncomingMessage> {
    return this.#response;
  }

  /** Writes lines: text and bytes verbatim, anything else as JSON. */
  write(...lines: readonly unknown[]): boolean {
    return this.request.write(textOf(lines));
  }

  end(...lines: readonly unknown[]): void {
    this.request.end(textOf(lines));
  }

  async next(): Promise<BulkAnswerJson | undefined> {
    this.#answers ??= readAnswers(await this.#response);
    const { value, done } = await this.#answers.next();
    return done ? undefined : value;
  }

  /** The remaining answers. */
  async rest(): Promise<BulkAnswerJson[]> {
    const answers: BulkAnswerJson[] = [];
    for (let answer = await this.next(); answer !== undefined; answer = await this.next())
      answers.push(answer);
    return answers;
  }

  cut(): void {
    this.request.destroy();
  }
}

/** Sends lines in one batch request, and returns their answers. */
export async function sendBulk(
  url: string,
  lines: readonly unknown[],
  options: RequestOptions = {},
): Promise<BulkAnswerJson[]> {
  const client = new BulkClient(url, options);
  client.end(...lines);
  return client.rest();
}

/** A short text of an answer with line, status and code: "3 400 invalid-request". */
export function brief({
  line,
  status,
  problem: { code } = {} as ProblemJson,
  replayed,
}: BulkAnswerJson): string {
  return [line, status, ...(code === undefined ? [] : [code]), ...(replayed ? ["replayed"] : [])].join(" ");
}

function textOf(lines: readonly unknown[]): Buffer {
  return Buffer.concat(
    lines.map((line) => {
      if (line instanceof Uint8Array) return Buffer.concat([line, Buffer.from("\n")]);
      return Buffer.from(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
    }),
  );
}

async function* readAnswers(response: IncomingMessage): AsyncGenerator<BulkAnswerJson> {
  assert.equal(response.statusCode, 200);
  let rest = "";
  for await (const chunk of response.setEncoding("utf8")) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const answer = JSON.parse(line) as BulkAnswerJson;
      if (answer.problem !== undefined) problem.strict().parse(answer.problem);
      yield answer;
    }
  }
  assert.equal(rest, "", "the last line has no end");
}
