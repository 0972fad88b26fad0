import { FxError } from "../core/errors.ts";
import { parseJson } from "../wire/requests.ts";
import { cleanCell } from "./cell.ts";
import { type BatchFormat, type BatchLine, isObject, type TextLine, valueOrError } from "./line.ts";

/** A JSON body a line, which may also name its key. */
export const ndjson: BatchFormat = {
  holds: "orders, new accounts, deposits and withdrawals",
  needsRates: true,
  header: undefined,
  unread: [],
  read: (lines) => lines.map(readLine).filter(({ text }) => text !== ""),
};

function readLine({ number, text: written, fault }: TextLine): BatchLine {
  const text = cleanCell(written);
  const named = (key: string) => withKey(text, key);
  if (fault !== undefined) return { number, text, fault, withKey: named };
  const body = valueOrError(() => parseJson(text, "line"));
  if (body instanceof FxError) return { number, text, fault: body, withKey: named };
  if (!isObject(body)) return { number, text, body, withKey: named };
  for (const [name, value] of Object.entries(body)) {
    if (typeof value === "string") body[name] = cleanCell(value);
  }
  if (!Object.hasOwn(body, "key")) return { number, text, body, withKey: named };
  const { key, ...rest } = body;
  return { number, text, body: rest, key, withKey: named };
}

/** Leaves the rest of the text as it is, because parsing could round its numbers. */
function withKey(text: string, key: string): string {
  const body = parsed(text);
  if (!isObject(body)) return JSON.stringify({ key, line: text });
  const field = `"key":${JSON.stringify(key)}`;
  const written = Object.hasOwn(body, "key")
    ? text.replace(/"key"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[^\s"{}[\],]+)/g, field)
    : text.replace("{", Object.keys(body).length === 0 ? `{${field}` : `{${field},`);
  const result = parsed(written);
  return isObject(result) && result.key === key ? written : JSON.stringify({ ...body, key });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
