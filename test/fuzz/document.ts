import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

/** A schema of the OpenAPI document, with the keywords that requests are made from. */
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
  readonly examples?: readonly unknown[];
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Response {
  readonly description: string;
  readonly content?: Content;
  readonly headers?: Readonly<Record<string, { readonly schema: Schema }>>;
}

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  /** The least role of a token; undefined if none is needed. */
  readonly role: string | undefined;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly type: string; readonly schema: Schema; readonly isOptional: boolean } | undefined;
  readonly responses: Readonly<Record<string, Response>>;
}

interface Published {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          Pick<Operation, "operationId" | "parameters" | "responses"> & {
            readonly security: readonly { readonly token?: readonly string[] }[];
            readonly requestBody?: { readonly required: boolean; readonly content: Content };
          }
        >
      >
    >
  >;
}

const formats: Readonly<Record<string, RegExp | true>> = {
  uuid: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i,
  date: /^\d{4}-[01]\d-[0-3]\d$/,
  "date-time": /^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  uri: /^[a-z][a-z0-9+.-]*:\S+$/,
  "uri-reference": /^\S+$/,
  int32: true,
  int64: true,
  double: true,
};

/** The OpenAPI document of a server. */
export class ApiDocument {
  readonly operations: readonly Operation[];
  readonly #document: Published;
  readonly #ajv = new Ajv2020({ strict: false, formats });
  readonly #compiled = new Map<Schema, ValidateFunction>();

  constructor(document: unknown) {
    this.#document = document as Published;
    this.#ajv.addSchema({ ...(document as object), $id: "document" });
    this.operations = Object.entries(this.#document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { security, requestBody, ...operation }]) => {
        const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
        return {
          ...operation,
          method: method.toUpperCase(),
          path,
          role: security[0]?.token?.[0],
          body:
            type === undefined || content === undefined
              ? undefined
              : { type, schema: content.schema, isOptional: requestBody?.required === false },
        };
      }),
    );
  }

  /** The schema with its reference resolved. */
  resolved(schema: Schema): Schema {
    let found = schema;
    while (found.$ref !== undefined) {
      const parts = found.$ref.replace(/^#\//, "").split("/");
      found = parts.reduce<unknown>(
        (part, name) => (part as Record<string, unknown>)[name],
        this.#document,
      ) as Schema;
    }
    return found;
  }

  /** The violation of the schema by `value`; undefined if there is none. */
  faultOf(schema: Schema, value: unknown): string | undefined {
    let validate = this.#compiled.get(schema);
    if (validate === undefined) {
      const { $ref } = schema;
      validate = this.#ajv.compile($ref === undefined ? schema : { $ref: `document${$ref}` });
      this.#compiled.set(schema, validate);
    }
    return validate(value) ? undefined : this.#ajv.errorsText(validate.errors);
  }
}
