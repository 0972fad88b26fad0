import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { ErrorCode } from "../../src/core/errors.ts";
import { maskPesels } from "../../src/core/mask.ts";
import { type ProblemJson, problem, statusOf } from "../../src/wire/problem.ts";

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The text as JSON; undefined if it is not JSON. */
  readonly json: unknown;
}

export interface HttpRequest {
  readonly headers?: Record<string, string>;
  /** Text and bytes are sent verbatim, anything else as JSON. */
  readonly body?: unknown;
}

const jsonHeaders = { "content-type": "application/json" };

/** Sends one request to `url` + `path`. */
export async function send(
  url: string,
  method: string,
  path: string,
  { headers, body }: HttpRequest = {},
): Promise<HttpAnswer> {
  const text = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  const response = await fetch(`${url}${path}`, {
    method,
    redirect: "manual",
    headers: headers ?? (body === undefined ? {} : jsonHeaders),
    ...(text !== undefined && { body: text }),
  });
  const answer = await response.text();
  return { status: response.status, headers: response.headers, text: answer, json: parse(answer) };
}

/** Sends a request with any headers; `fetch` does not allow some, such as Host. */
export async function sendWithHeaders(
  url: string,
  line: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
): Promise<HttpAnswer> {
  const [method, path] = line.split(" ");
  const text = body && JSON.stringify(body);
  const sent = { ...(text && { ...jsonHeaders, "content-length": Buffer.byteLength(text) }), ...headers };
  const [response] = (await once(
    request(`${url}${path}`, { method, headers: sent }).end(text),
    "response",
  )) as [IncomingMessage];
  const answer = (await response.setEncoding("utf8").toArray()).join("");
  return {
    status: response.statusCode ?? 0,
    headers: new Headers(response.headers as Record<string, string>),
    text: answer,
    json: parse(answer),
  };
}

/** Asserts that an answer is a well-formed problem with this code and without a PESEL. */
export function isProblem(answer: HttpAnswer, code?: ErrorCode): ProblemJson {
  assert.equal(answer.headers.get("content-type"), "application/problem+json; charset=utf-8", answer.text);
  const body = problem.strict().parse(answer.json);
  if (code !== undefined) assert.equal(body.code, code, answer.text);
  assert.equal(body.status, answer.status);
  assert.equal(answer.status, statusOf[body.code]);
  assert.equal(body.type, `urn:fx:error:${body.code}`);
  assert.equal(body.instance, `urn:fx:request:${answer.headers.get("x-request-id") ?? "none"}`);
  assert.ok(body.detail.isWellFormed() && body.detail.length < 1000, "an unfit detail");
  assert.equal(maskPesels(answer.text), answer.text);
  return body;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
