import { UsageError } from "./errors.ts";

/** @throws UsageError with the line and column of the fault, without what stands there: it may be a secret */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const before = text.slice(0, faultIn(text)).split("\n");
    const column = (before.at(-1) ?? "").length + 1;
    throw new UsageError(`${what} is not JSON: it has a fault in line ${before.length}, column ${column}.`);
  }
}

/** The members of all objects in a JSON text. JSON.parse takes the last of those that have one name, and says nothing. */
export function countMembers(text: string): number {
  const strings = text.replaceAll(/\\./g, "").matchAll(/"[^"]*"(\s*:)?/g);
  return [...strings].filter(([, colon]) => colon !== undefined).length;
}

const blank = /[ \t\r\n]*/y;
const string = /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[\da-f]{4}))*"/iuy;
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
/** Files of settings and tokens nest less. */
const deepest = 10;

/** The offset at which a text stops being JSON. JSON.parse tells it on some versions of Node, and for some faults. */
function faultIn(text: string): number {
  let at = 0;
  const take = (form: RegExp): boolean => {
    form.lastIndex = at;
    const [found] = form.exec(text) ?? [];
    at += found?.length ?? 0;
    if (form !== blank) take(blank);
    return found !== undefined;
  };
  const items = (close: RegExp, item: () => boolean): boolean => {
    if (take(close)) return true;
    do {
      if (!item()) return false;
    } while (take(/,/y));
    return take(close);
  };
  const value = (depth: number): boolean => {
    if (depth > deepest) return false;
    if (take(/\{/y)) return items(/\}/y, () => take(string) && take(/:/y) && value(depth + 1));
    if (take(/\[/y)) return items(/\]/y, () => value(depth + 1));
    return take(string) || take(scalar);
  };
  take(blank);
  value(0);
  return at;
}
