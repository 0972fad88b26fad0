import { maskPesels } from "../../src/core/mask.ts";
import { problem, statusOf } from "../../src/wire/problem.ts";
import type { Answer } from "./connection.ts";
import type { ApiDocument, Operation, Schema } from "./document.ts";
import type { Asked, Role } from "./requests.ts";

const roles: readonly (Role | undefined)[] = [undefined, "viewer", "teller", "operator"];
const strictProblem = problem.strict();
const longestLine = 16_384;
const problemType = "application/problem+json; charset=utf-8";
/** Statuses allowed for a path or method that is undocumented, or spelled otherwise than documented. */
const elsewhere = [200, 204, 302, 304, 400, 401, 403, 404, 405, 409, 422, 503];

/** A short description of an answer's fault; undefined if there is none. */
export function faultOf(asked: Asked, answer: Answer, document: ApiDocument): string | undefined {
  try {
    check(asked, answer, document);
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

class Fault extends Error {}

function must(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Fault(otherwise);
}

function check(asked: Asked, answer: Answer, document: ApiDocument): void {
  const { operation, method, isHttp } = asked;
  const { status, headers } = answer;
  const described = operation?.responses[status];
  if (operation === undefined) must(elsewhere.includes(status), `status ${status}`);
  else must(described !== undefined, `status ${status}, which is not documented`);
  must(status < 500 || status === 503, `status ${status}`);
  const id = headers.get("x-request-id");
  must(!isHttp || id !== undefined || [400, 503].includes(status), "no X-Request-Id");
  const seen = `${[...headers].join("\n")}\n${answer.body.toString("latin1")}`;
  must(!seen.includes("fxt_"), "a token in the answer");
  for (const [name, { schema }] of Object.entries(described?.headers ?? {})) {
    const value = headers.get(name.toLowerCase());
    if (value === undefined) must(!["Allow", "WWW-Authenticate"].includes(name), `no ${name}`);
    else checkSchema(document, schema, schema.type === "integer" ? Number(value) : value, name);
  }
  if (status >= 400) {
    must(
      headers.get("content-type") === problemType,
      `content type ${headers.get("content-type")} of an error`,
    );
    if (method === "HEAD") return;
    const { code } = checkProblem(parsed(answer.body), status, id);
    const codes = described?.description ?? `\`${code}\``;
    must(codes.includes(`\`${code}\``), `code ${code}, which is not documented for ${status}`);
    return;
  }
  if (operation === undefined) return;
  const needed = roles.indexOf(operation.role as Role | undefined);
  must(roles.indexOf(asked.role) >= needed, `a success for ${asked.role ?? "nobody"}`);
  checkSuccess(operation, asked, answer, document);
}

function checkSuccess(
  operation: Operation,
  { method, body }: Asked,
  answer: Answer,
  document: ApiDocument,
): void {
  const type = answer.headers.get("content-type")?.split(";")[0];
  const content = operation.responses[answer.status]?.content ?? {};
  const types = Object.keys(content);
  must(type === undefined ? types.length === 0 : types.includes(type), `content type ${type}`);
  if (type === undefined) must(answer.body.length === 0, "a body that is not documented");
  if (type === undefined || method === "HEAD") return;
  const schema = content[type]?.schema ?? {};
  if (type === "application/json") checkSchema(document, schema, parsed(answer.body), "the body");
  if (type !== "application/x-ndjson") return;
  const lines = linesOf(answer.body).map((line) => parsed(line));
  if (schema.type !== "string") for (const line of lines) checkSchema(document, schema, line, "a line");
  if (operation.operationId === "bulk")
    checkBulk(lines as BulkAnswer[], body, answer.headers.get("x-request-id"));
}

interface BulkAnswer {
  readonly line: number | null;
  readonly status: number;
  readonly problem?: unknown;
}

/** Requires an answer to every line that is not blank, in order. */
function checkBulk(answers: readonly BulkAnswer[], body: Buffer, id: string | undefined): void {
  const given = splitLines(body).flatMap((line, index) => {
    const text = line
      .toString("latin1")
      .replace(/\r$/, "")
      .replace(index === 0 ? /^\xef\xbb\xbf/ : /^$/, "");
    return text.length <= longestLine && /^[ \t]*$/.test(text) ? [] : [index + 1];
  });
  const answered = answers.map(({ line }) => line);
  must(given.join() === answered.join(), `lines ${answered.join()} answered, of ${given.join()}`);
  for (const { status, problem: told } of answers) {
    must(status < 500, `status ${status} of a line`);
    if (status >= 400) checkProblem(told, status, id);
  }
}

function checkProblem(told: unknown, status: number, id: string | undefined): { readonly code: string } {
  const { data, error } = strictProblem.safeParse(told);
  must(data !== undefined, `no problem: ${error?.message}`);
  must(
    data.status === status && statusOf[data.code] === status,
    `status ${data.status} in a problem of ${status}`,
  );
  must(data.type === `urn:fx:error:${data.code}`, `type ${data.type}`);
  must(data.instance === `urn:fx:request:${id ?? "none"}`, `instance ${data.instance}, of request ${id}`);
  const text = JSON.stringify(data);
  must(maskPesels(text) === text, "a PESEL in a problem");
  must(data.detail.isWellFormed() && data.detail.length < 1000, "an unfit detail");
  return data;
}

function checkSchema(document: ApiDocument, schema: Schema, value: unknown, what: string): void {
  const fault = document.faultOf(schema, value);
  must(fault === undefined, `${what}: ${fault}`);
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw new Fault("the body is no JSON");
  }
}

function linesOf(body: Buffer): Buffer[] {
  const lines = splitLines(body);
  must(lines.length === 0 || body.at(-1) === 0x0a, "the last line has no end");
  return lines;
}

function splitLines(body: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < body.length; ) {
    const end = body.indexOf(0x0a, start);
    lines.push(body.subarray(start, end < 0 ? body.length : end));
    start = end < 0 ? body.length : end + 1;
  }
  return lines;
}
