/** The OpenAPI document, and whether an answer is as it says. */
import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { bulkType } from "../../src/wire/bulk.ts";
import { openApiDocument } from "../../src/wire/openapi.ts";
import { hasLines, type Operation } from "../../src/wire/operation.ts";
import { type OperationId, operations } from "../../src/wire/operations.ts";
import { type HttpAnswer, isProblem } from "./http.ts";

export const document = openApiDocument("1.2.3");

/** A schema of the document, with the keywords that the tests look at. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly additionalProperties?: boolean;
  readonly discriminator?: {
    readonly propertyName: string;
    readonly mapping: Readonly<Record<string, string>>;
  };
  readonly examples?: readonly unknown[];
}

const formats: Readonly<Record<string, RegExp | true>> = {
  uuid: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i,
  date: /^\d{4}-[01]\d-[0-3]\d$/,
  "date-time": /^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  uri: /^[a-z][a-z0-9+.-]*:\S+$/,
  "uri-reference": /^\S+$/,
  ...{ int32: true, int64: true, double: true },
};
const ajv = new Ajv2020({ strict: false, formats });
ajv.addSchema({ $id: "document", ...document });
const compiled = new Map<Schema, ValidateFunction>();

/** The schema with its reference resolved. */
export function resolved(schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  return document.components.schemas[schema.$ref.split("/").at(-1) ?? ""] as Schema;
}

/** Asserts that a value fits a schema of the document. */
export function fits(schema: Schema, value: unknown, what: string): void {
  const { $ref } = schema;
  const validate =
    compiled.get(schema) ?? ajv.compile($ref === undefined ? schema : { $ref: `document${$ref}` });
  compiled.set(schema, validate);
  assert.ok(validate(value), `${what}: ${ajv.errorsText(validate.errors)}`);
}

/** The operation that the document has for a method and a path. */
export function operationAt(method: string, path: string): OperationId | undefined {
  const [plain = ""] = path.split("?");
  const found = Object.entries<Operation>(operations).find(
    ([, each]) =>
      each.method === method && new RegExp(`^${each.path.replace(/\{\w+\}/g, "[^/]+")}$`).test(plain),
  );
  return found?.[0] as OperationId | undefined;
}

interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly schema: Schema }>>;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

/** Asserts that an answer has the status, code, headers, type and body that the document gives its operation. */
export function conforms(id: OperationId, answer: HttpAnswer, { isHead = false } = {}): void {
  const { method, path }: Operation = operations[id];
  const { status, headers, text } = answer;
  const responses = document.paths[path]?.[method.toLowerCase()]?.responses as Record<string, Response>;
  const response = responses[status] ?? assert.fail(`status ${status}, which is not documented`);
  for (const [name, { schema }] of Object.entries(response.headers ?? {})) {
    const value = headers.get(name);
    if (value === null) assert.ok(!["Allow", "WWW-Authenticate"].includes(name), `no ${name}`);
    else fits(schema, schema.type === "integer" ? Number(value) : value, name);
  }
  const content = response.content ?? {};
  const type = headers.get("content-type")?.split(";")[0];
  const types = Object.keys(content);
  assert.ok(type === undefined ? types.length === 0 : types.includes(type), `content type ${type}`);
  const schema = content[type ?? ""]?.schema;
  if (isHead || schema === undefined) assert.equal(text, "");
  else if (type === "application/problem+json") {
    const { code } = isProblem(answer);
    assert.ok(response.description.includes(`\`${code}\``), `code ${code}, which is not documented`);
  } else if (type === bulkType) {
    if (schema.type === "string") return;
    for (const line of linesIn(text)) fits(schema, JSON.parse(line), "a line");
  } else if (type === "application/json") {
    fits(schema, answer.json, "the body");
    const operation: Operation = operations[id];
    if (operation.answer === undefined || hasLines(operation, "answer")) return;
    // Encoding what was decoded drops every field that the shape does not have.
    const encoded = operation.answer.encode(operation.answer.decode(answer.json));
    assert.deepEqual(JSON.parse(JSON.stringify(encoded)), answer.json);
  }
}

/** The lines of an answer, of which each has its end. */
export function linesIn(text: string): readonly string[] {
  assert.ok(text === "" || text.endsWith("\n"), "the last line has no end");
  return text.split("\n").slice(0, -1);
}
