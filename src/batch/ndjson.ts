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
  *read(lines, start) {
    for (let at = start; at < lines.length; at += 1) {
      const line = lines.at(at) as TextLine;
      const text = cleanCell(line.text);
      if (text !== "") yield readLine(line, text);
    }
  },
};

function readLine({ number, fault }: TextLine, text: string): BatchLine {
  const line = { number, text, withKey: (key: string) => withKey(text, key) };
  if (fault !== undefined) return { ...line, fault };
  const body = valueOrError(() => parseJson(text, "line"));
  if (body instanceof FxError) return { ...line, fault: body };
  if (!isObject(body)) return { ...line, body };
  for (const [name, value] of Object.entries(body)) {
    if (typeof value === "string") body[name] = cleanCell(value);
  }
  if (!Object.hasOwn(body, "key")) return { ...line, body };
  const { key, ...rest } = body;
  return { ...line, body: rest, key };
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
