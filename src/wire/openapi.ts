import * as z from "zod";
import type { AnswerCode } from "../core/errors.ts";
import { bulkType } from "./bulk.ts";
import { housePlace } from "./cash.ts";
import { pesel, symbol, tableInForce } from "./fields.ts";
import { errorsOf, hasLines, type Operation, takesKey } from "./operation.ts";
import { operations } from "./operations.ts";
import { idempotencyKey, receiptId } from "./parameters.ts";
import { statusOf } from "./problem.ts";

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

interface DocumentOptions {
  /** The path under which clients reach the server, such as "/fx". */
  readonly prefix?: string;
  /** Whether the server asks for tokens. */
  readonly tokens?: boolean;
}

/** The document of all operations, made from their shapes. */
export function openApiDocument(version: string, { prefix = "", tokens = true }: DocumentOptions = {}) {
  const paths: Record<string, Record<string, ReturnType<typeof describe>>> = {};
  for (const [id, operation] of Object.entries<Operation>(operations)) {
    const { path, method } = operation;
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(id, operation, tokens) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "fx",
      version,
      description:
        "Currency exchange accounts: one per PESEL, settled at the bid and ask of the National Bank of Poland. " +
        "Every error is problem details (RFC 9457); tell errors apart by `code`.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: prefix || "/" }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas: componentSchemas(), securitySchemes: { ...(tokens && { token }) } },
  };
}

const token = {
  type: "http",
  scheme: "bearer",
  description:
    "A token of `fx token create`. An operation names the role that it takes: `viewer`, `teller`, which includes " +
    "viewer, or `operator`, which includes both. Send it over TLS: over plain HTTP the network can read it.",
};

const tags: Readonly<Record<Operation["tag"], string>> = {
  accounts: "Open an account, and read it",
  exchange: "Exchange one currency for another",
  changes: "Deposit, withdraw, undo an entry, change the name, block and close",
  rates: "The bank's bid and ask",
  ledger: "For operators: all accounts, the house's position, the audit",
  server: "For monitoring and tools",
};

function describe(operationId: string, operation: Operation, tokens: boolean) {
  const { method, path, summary, description, tag, role, query, headers = [], body } = operation;
  const { isBodyOptional = false, answer, types = [], answerHeaders = [], sameShape } = operation;
  const contentOf = (schema: z.ZodType, part: "body" | "answer", example?: string) => ({
    [hasLines(operation, part) ? bulkType : "application/json"]: {
      schema: { $ref: referenceTo(schema) },
      ...(example && { example }),
    },
  });
  const recorded = takesKey(operation) ? (["Fx-Receipt", "Idempotency-Replayed"] as const) : [];
  const content = {
    ...(answer && contentOf(answer, "answer")),
    ...Object.fromEntries(types.map(plainContent)),
  };
  const responses: Record<string, OpenApiResponse> = {
    [Object.keys(content).length > 0 ? 200 : 204]: response("Done", [...answerHeaders, ...recorded], content),
    ...(sameShape && { [sameShape]: response("Not ready", [], content) }),
    ...problems(
      errorsOf(operation).filter((code) => tokens || code !== "unauthorized"),
      takesKey(operation),
    ),
  };
  return {
    operationId,
    summary,
    description,
    tags: [tag],
    security: tokens && role !== "anyone" ? [{ token: [role] }] : [],
    parameters: [
      ...pathParameters(path),
      ...queryParameters(query),
      ...headers.map((name) => parameter(name, "header", false, jsonSchema(requestHeaders[name]))),
    ],
    ...(method === "POST" &&
      body && {
        requestBody: { required: !isBodyOptional, content: contentOf(body, "body", operation.example) },
      }),
    responses,
  };
}

interface OpenApiResponse {
  readonly description: string;
  readonly headers?: object;
  readonly content?: object;
}

function response(
  description: string,
  names: readonly (keyof typeof responseHeaders)[],
  content: object,
): OpenApiResponse {
  return {
    description,
    ...(names.length > 0 && { headers: headersNamed(names) }),
    ...(Object.keys(content).length > 0 && { content }),
  };
}

/** @param replayed whether a refusal may be the answer to an earlier request with the same key */
function problems(codes: readonly AnswerCode[], replayed: boolean): Record<string, OpenApiResponse> {
  const content = { "application/problem+json": { schema: { $ref: reference("Problem") } } };
  const statuses = new Set(codes.map((code) => statusOf[code]));
  return Object.fromEntries(
    [...statuses].map((status) => {
      const listed = codes.filter((code) => statusOf[code] === status);
      const isLater = listed.includes("rates-unavailable") || status === 429 || status === 503;
      const names = [
        ...(status === 405 ? (["Allow"] as const) : []),
        ...(isLater ? (["Retry-After"] as const) : []),
        ...(status === 401 ? (["WWW-Authenticate"] as const) : []),
        ...(replayed && [400, 404, 409].includes(status) ? (["Idempotency-Replayed"] as const) : []),
      ];
      return [status, response(listed.map((code) => `\`${code}\``).join(", "), names, content)];
    }),
  );
}

function headersNamed(names: readonly (keyof typeof responseHeaders)[]) {
  return Object.fromEntries(names.map((name) => [name, responseHeaders[name]]));
}

function pathParameters(path: string): object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) =>
    parameter(name, "path", true, jsonSchema(inPath[name] as z.ZodType)),
  );
}

const inPath: Readonly<Record<string, z.ZodType>> = {
  pesel,
  account: housePlace,
  id: receiptId,
  code: symbol,
};

function queryParameters(query: z.ZodType | undefined): object[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = jsonSchema(query);
  return Object.entries(properties).map(([name, schema]) =>
    parameter(name, "query", required.includes(name), schema as JsonSchema),
  );
}

type JsonSchema = ReturnType<typeof jsonSchema>;

function parameter(name: string, place: string, required: boolean, { description, ...schema }: JsonSchema) {
  // The request can be sent as the examples fill it in: required parameters and, of the optional ones, an amount to buy.
  const isFilled = required || name === "toBuy";
  const [example] = isFilled ? (schema.examples ?? []) : [];
  return { name, in: place, required, description, schema, ...(example !== undefined && { example }) };
}

const requestHeaders = { "Idempotency-Key": idempotencyKey, "Fx-Table": tableInForce };

const responseHeaders = {
  Allow: { description: "The methods of the path", schema: { type: "string", examples: ["GET, HEAD"] } },
  "WWW-Authenticate": {
    description: "Asks for a bearer token (RFC 6750)",
    schema: { type: "string", examples: ['Bearer realm="fx"'] },
  },
  "Retry-After": {
    description: "Seconds to wait before trying again, if known",
    schema: { type: "integer", format: "int32", minimum: 1 },
  },
  "Fx-Account": {
    description: "Present if the account is closed or blocked",
    schema: { type: "string", enum: ["closed", "blocked"] },
  },
  "Fx-Receipt": {
    description: "The path of the receipt",
    schema: {
      type: "string",
      format: "uri-reference",
      examples: ["/api/receipts/019e9a70-3c5e-7000-8000-5d1f0c2b7a11"],
    },
  },
  "Idempotency-Replayed": {
    description: "This is the answer to an earlier request with the same key",
    schema: { type: "string", enum: ["true"] },
  },
};

function plainContent(type: string) {
  return [type, { schema: { type: type === "application/json" ? "object" : "string" } }];
}

function referenceTo(schema: z.ZodType): string {
  // The published side of a codec is its JSON.
  const json = schema instanceof z.ZodCodec ? (schema.in as z.ZodType) : schema;
  const id = json.meta()?.id;
  if (id === undefined) throw new TypeError("a schema of the document has no id");
  return reference(id);
}

/**
 * The JSON of codecs. zod leaves out their examples and defaults, which it takes for values of the other side. A format
 * says all that the pattern beside it does.
 */
const conversion = {
  io: "input",
  override: ({
    zodSchema,
    jsonSchema,
  }: {
    zodSchema: z.core.$ZodType;
    jsonSchema: z.core.JSONSchema.BaseSchema;
  }) => {
    const { examples, alternatives, default: usual } = z.globalRegistry.get(zodSchema) ?? {};
    delete jsonSchema.alternatives;
    delete jsonSchema.readOnly;
    if (alternatives !== undefined) publishAlternatives(jsonSchema, alternatives);
    if (Array.isArray(examples)) jsonSchema.examples = examples;
    if (usual !== undefined) jsonSchema.default = usual as string | number;
    if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  },
} as const;

declare module "zod" {
  interface GlobalMeta {
    /** Sets of optional fields, of which a body has exactly one. */
    readonly alternatives?: readonly (readonly string[])[];
  }
}

/** Publishes a complete object for each alternative, from which generated clients get exact types. */
function publishAlternatives(
  schema: z.core.JSONSchema.BaseSchema,
  alternatives: readonly (readonly string[])[],
): void {
  const { properties = {}, required = [] } = schema;
  const choices = alternatives.flat();
  schema.oneOf = alternatives.map((chosen) => ({
    type: "object",
    properties: Object.fromEntries(
      Object.entries(properties).filter(([name]) => !choices.includes(name) || chosen.includes(name)),
    ),
    required: [...required, ...chosen],
    additionalProperties: false,
  }));
  for (const name of ["properties", "required", "type", "additionalProperties"]) delete schema[name];
}

function jsonSchema(schema: z.ZodType) {
  const { $schema, ...rest } = z.toJSONSchema(schema, conversion);
  return rest;
}

/** In the order of their ids: that of the registry depends on which module was imported first. */
function componentSchemas(): Record<string, object> {
  const components = z.toJSONSchema(z.globalRegistry, { ...conversion, uri: reference }).schemas;
  return Object.fromEntries(
    Object.entries(components)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([id, { $schema, $id, id: _, ...schema }]) => [id, schema]),
  );
}

function reference(id: string): string {
  return `#/components/schemas/${id}`;
}
