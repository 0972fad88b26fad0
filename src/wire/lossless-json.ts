import { compareDecimals, parseDecimal } from "../core/decimal.ts";

/** A name with its colon, another string, a bracket of an object, or a number. */
const tokens = /("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]|-?\d[\d.eE+-]*/g;

/**
 * The first thing in a JSON text that JSON.parse would lose: the name of a member that its object has twice, or a number
 * that a double does not hold exactly. Nothing, if all of the text is kept.
 */
export function lossOf(text: string): { readonly name: string } | { readonly number: string } | undefined {
  const open: Set<string>[] = [];
  for (const [token, quoted] of text.matchAll(tokens)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (quoted !== undefined) {
      const name = JSON.parse(quoted) as string;
      const names = open.at(-1);
      if (names?.has(name)) return { name };
      names?.add(name);
    } else if (!token.startsWith('"') && !isExact(token)) return { number: token };
  }
  return undefined;
}

/** Whether a double holds the number of a JSON text. */
function isExact(number: string): boolean {
  const kept = String(Number(number));
  if (kept === number) return true;
  const [exact, read] = [parseDecimal(number), parseDecimal(kept)];
  return exact !== undefined && read !== undefined && compareDecimals(exact, read) === 0;
}
