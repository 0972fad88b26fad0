import * as z from "zod";
import type { AnswerCode } from "../core/errors.ts";
import { bulkType } from "./bulk.ts";
import { idempotencyKey, pesel, receiptId, symbol, tableInForce } from "./fields.ts";
import { housePlace } from "./house.ts";
import { errorsOf, hasLines, type Operation } from "./operation.ts";
import { operations } from "./operations.ts";
import { statusOf } from "./problem.ts";

/** An OpenAPI 3.1 document, as far as its makers and readers here need to know it. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: object;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly object[];
  readonly requestBody?: object;
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly content?: object;
        readonly headers?: Readonly<Record<string, object>>;
      }
    >
  >;
}

interface DocumentOptions {
  /** The path under which clients reach the server, such as "/fx". */
  readonly prefix?: string;
  /** Whether the server asks for tokens. */
  readonly tokens?: boolean;
}

/** The document of all operations, made from their shapes. */
export function openApiDocument(
  version: string,
  { prefix = "", tokens = true }: DocumentOptions = {},
): OpenApiDocument {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
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
    components: { schemas: componentSchemas(), securitySchemes: tokens ? { token } : {} },
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
  changes: "Put money in and take it out, undo, change the name, close",
  rates: "The bank's bid and ask",
  ledger: "For operators: all accounts, the house's position, the audit",
  server: "For monitoring and tools",
};

function describe(id: string, operation: Operation, tokens: boolean): OpenApiOperation {
  const { method, path, summary, description, tag, role, body, isBodyOptional = false, success } = operation;
  const takesToken = tokens && role !== "anyone";
  const json = (schema: z.ZodType, part: "body" | "answer" = "answer") => ({
    [hasLines(operation, part) ? bulkType : "application/json"]: {
      schema: { $ref: referenceTo(schema) },
      ...(part === "body" && operation.example && { example: operation.example }),
    },
  });
  return {
    operationId: id,
    summary,
    description,
    tags: [tag],
    security: takesToken ? [{ token: [role] }] : [],
    parameters: [
      ...pathParameters(path),
      ...queryParameters(operation.query),
      ...headerParameters(operation),
    ],
    ...(method === "POST" &&
      body && { requestBody: { required: !isBodyOptional, content: json(body, "body") } }),
    responses: {
      [success.status]: {
        description: "Done",
        ...(success.headers && { headers: headersNamed(success.headers) }),
        ...((success.schema ?? success.types) && {
          content: {
            ...(success.schema && json(success.schema)),
            ...Object.fromEntries((success.types ?? []).map(plainContent)),
          },
        }),
      },
      ...(operation.sameShape &&
        success.schema && {
          [operation.sameShape]: { description: "Not ready", content: json(success.schema) },
        }),
      ...problems(
        [...errorsOf(operation).filter((code) => tokens || code !== "unauthorized"), ...anywhere],
        success.headers?.includes("Idempotency-Replayed") === true,
      ),
    },
  };
}

/** Codes of every path: for a method that it does not have, and for a bug. */
const anywhere = ["method-not-allowed", "internal"] as const;

/** @param replayed whether a refusal may be the answer to an earlier request with the same key */
function problems(codes: readonly AnswerCode[], replayed: boolean) {
  const byStatus = new Map<number, Set<AnswerCode>>();
  for (const code of codes) {
    byStatus.set(statusOf[code], (byStatus.get(statusOf[code]) ?? new Set()).add(code));
  }
  const content = { "application/problem+json": { schema: { $ref: reference("Problem") } } };
  return Object.fromEntries(
    [...byStatus].map(([status, listed]) => {
      const mayBeReplayed = replayed && [400, 404, 409].includes(status);
      const names: (keyof typeof responseHeaders)[] = [
        ...(status === 405 ? (["Allow"] as const) : []),
        ...(listed.has("rates-unavailable") || status === 429 || status === 503
          ? (["Retry-After"] as const)
          : []),
        ...(status === 401 ? (["WWW-Authenticate"] as const) : []),
        ...(mayBeReplayed ? (["Idempotency-Replayed"] as const) : []),
      ];
      const description = [...listed].map((code) => `\`${code}\``).join(", ");
      return [status, { description, ...(names.length > 0 && { headers: headersNamed(names) }), content }];
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

function headerParameters({ headers = [] }: Operation): object[] {
  return headers.map((name) => parameter(name, "header", false, jsonSchema(requestHeaders[name])));
}

type JsonSchema = ReturnType<typeof jsonSchema>;

function parameter(name: string, place: string, required: boolean, { description, ...schema }: JsonSchema) {
  // With what is filled in, the request can be sent as it is: of what may be left out, an amount to buy.
  const isFilled = required || name === "toBuy";
  const [example] = isFilled ? (schema.examples ?? []) : [];
  return { name, in: place, required, description, schema, ...(example !== undefined && { example }) };
}

const requestHeaders = { "Idempotency-Key": idempotencyKey, "Fx-Table": tableInForce };

const responseHeaders = {
  Allow: { description: "The methods of the path", schema: { type: "string", examples: ["GET, HEAD"] } },
  "WWW-Authenticate": {
    description: "That a bearer token is asked for (RFC 6750)",
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

function componentSchemas(): Record<string, object> {
  const components = z.toJSONSchema(z.globalRegistry, { ...conversion, uri: reference }).schemas;
  return Object.fromEntries(
    Object.entries(components).map(([id, { $schema, $id, id: _, ...schema }]) => [id, schema]),
  );
}

function reference(id: string): string {
  return `#/components/schemas/${id}`;
}
