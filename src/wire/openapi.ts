import * as z from "zod";
import { type Operation, operations } from "./operations.ts";
import { statusOf } from "./problem.ts";

/** An OpenAPI 3.1 document, as far as its makers and readers here need to know it. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: object;
  readonly tags: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters: readonly object[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: object }>>;
}

/** The document of all operations, made from the schemas that validate them. */
export function openApiDocument(version: string): OpenApiDocument {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const [id, operation] of Object.entries<Operation>(operations)) {
    const { path, method } = operation;
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(id, operation) };
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
    tags: ["accounts", "exchange", "rates", "ledger", "server"].map((name) => ({ name })),
    paths,
    components: { schemas: componentSchemas() },
  };
}

function describe(id: string, operation: Operation): OpenApiOperation {
  const { method, path, summary, tag, body, success, errors } = operation;
  return {
    operationId: id,
    summary,
    tags: [tag],
    parameters: [
      ...pathParameters(path),
      ...queryParameters(operation.query),
      ...headerParameters(operation),
    ],
    ...(method === "POST" && body && { requestBody: { required: true, content: json(body) } }),
    responses: {
      [success.status]: {
        description: success.status === 302 ? "See Location" : "Done",
        ...(success.headers && {
          headers: Object.fromEntries(success.headers.map((name) => [name, responseHeaders[name]])),
        }),
        ...(success.schema && { content: json(success.schema) }),
        ...(success.type && { content: { [success.type]: { schema: {} } } }),
      },
      ...(operation.sameShape &&
        success.schema && {
          [operation.sameShape]: { description: "Not ready", content: json(success.schema) },
        }),
      ...problems([...errors, "internal"], success.headers?.includes("Idempotency-Replayed") === true),
    },
  };
}

/** @param replayed whether a refusal may be the answer to an earlier request with the same key */
function problems(codes: Operation["errors"], replayed: boolean) {
  const byStatus = new Map<number, string[]>();
  for (const code of codes) byStatus.set(statusOf[code], [...(byStatus.get(statusOf[code]) ?? []), code]);
  const content = { "application/problem+json": { schema: { $ref: reference("Problem") } } };
  const headers = { "Idempotency-Replayed": responseHeaders["Idempotency-Replayed"] };
  return Object.fromEntries(
    [...byStatus].map(([status, listed]) => {
      const mayBeReplayed = replayed && [400, 404, 409].includes(status);
      return [status, { description: listed.join(", "), ...(mayBeReplayed && { headers }), content }];
    }),
  );
}

function pathParameters(path: string): object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameters(query: z.ZodType | undefined): object[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: "input" });
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }));
}

function headerParameters({ headers = [] }: Operation): object[] {
  return headers.map((name) => ({ name, in: "header", required: false, ...requestHeaders[name] }));
}

const requestHeaders = {
  "Idempotency-Key": {
    description:
      "A request repeated with the same key and body has no further effect and gets the first answer, also a refusal " +
      "(for 30 days). Only rate-changed, 5xx and requests that are wrong in themselves leave the key free",
    schema: { type: "string", pattern: "^[!-~]{1,255}$" },
  },
  "Fx-Table": {
    description: "Exchange only at this table, named by its number or its id",
    schema: { type: "string", examples: ["108/C/NBP/2026"] },
  },
};

const responseHeaders = {
  "Fx-Receipt": { description: "The path of the receipt", schema: { type: "string" } },
  "Idempotency-Replayed": {
    description: "This is the answer to an earlier request with the same key",
    schema: { type: "string", enum: ["true"] },
  },
};

function json(schema: z.ZodType) {
  const id = schema.meta()?.id;
  if (id === undefined) throw new TypeError("a schema of the document has no id");
  return { "application/json": { schema: { $ref: reference(id) } } };
}

function componentSchemas(): Record<string, object> {
  const { schemas } = z.toJSONSchema(z.globalRegistry, { io: "input", uri: reference });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema, $id, id: _, ...schema }]) => [id, schema]),
  );
}

function reference(id: string): string {
  return `#/components/schemas/${id}`;
}
