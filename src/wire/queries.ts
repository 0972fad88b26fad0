import type {
  AccountsRequest,
  ExportFormat,
  ExportRequest,
  PageRequest,
  StatementRequest,
} from "../core/service.ts";
import { parseNameSought } from "./name-sought.ts";
import * as schemas from "./query-schemas.ts";
import { checkedKey, read } from "./requests.ts";

/**
 * Queries about pages, periods and times as the wire has them, both ways.
 * @throws FxError invalid-request, from every parser, naming the fields
 */

export function parseStatementQuery(query: unknown): StatementRequest {
  const { key, ...rest } = read(schemas.statementQuery, query, "query");
  return { ...rest, key: checkedKey(key) };
}

export function encodeStatementQuery({ from, to, key, ...page }: StatementRequest): Record<string, string> {
  return given({ ...encodePage(page), from, to, key });
}

/** The time of a query. */
export function parseAtQuery(query: unknown): Date | undefined {
  return timeOf(read(schemas.atQuery, query, "query").at);
}

export function encodeAtQuery(at: Date | undefined): Record<string, string> {
  return given({ at: at?.toISOString() });
}

export function parseAccountsQuery(query: unknown): AccountsRequest {
  const { name, at, ...page } = read(schemas.accountsQuery, query, "query");
  return { ...page, name: name === undefined ? undefined : parseNameSought(name), at: timeOf(at) };
}

export function encodeAccountsQuery({ name, at, ...page }: AccountsRequest): Record<string, string> {
  return given({ ...encodePage(page), name: name?.join(" "), at: at?.toISOString() });
}

export function parseExportQuery(query: unknown): ExportRequest {
  const { format, at, full, ...period } = read(schemas.exportQuery, query, "query");
  return { ...period, format: format as ExportFormat, at: timeOf(at), full: full === "true" };
}

export function encodeExportQuery({ format, from, to, at, full }: ExportRequest): Record<string, string> {
  return given({ format, from, to, at: at?.toISOString(), full: full ? "true" : undefined });
}

function encodePage({ limit, cursor }: PageRequest): Record<string, string> {
  return given({ limit: String(limit), cursor });
}

function timeOf(at: string | undefined): Date | undefined {
  return at === undefined ? undefined : schemas.timeIn(at);
}

function given(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])),
  );
}

export function parseBulkQuery(query: unknown): { readonly dryRun: boolean } {
  return { dryRun: read(schemas.bulkQuery, query, "query").dryRun === "true" };
}
