import { type FieldError, FxError } from "../core/errors.ts";
import { nearMiss } from "./near-miss.ts";
import { type Operation, type OrderHeader, orderHeaders } from "./operation.ts";
import { fieldsNamed, invalid, mayBeTold, unknownName } from "./requests.ts";

/**
 * Refuses parameters that the operation does not take, and those that are given more than once.
 * @throws FxError invalid-request
 */
export function requireKnownParameters(parameters: unknown, { query }: Operation): void {
  const known = Object.keys(query?.shape ?? {});
  const fields = Object.entries(Object(parameters)).flatMap(([name, value]) => {
    if (!known.includes(name)) return [unknownParameter(name, known)];
    return Array.isArray(value) ? [{ pointer: `/${name}`, detail: "is given more than once" }] : [];
  });
  if (fields.length > 0) throw invalid("query", fields.slice(0, fieldsNamed));
}

function unknownParameter(name: string, known: readonly string[]): FieldError {
  if (mayBeTold(name, known)) return { pointer: `/${name}`, detail: "is not a known parameter" };
  return { pointer: "", detail: unknownName("parameter", known) };
}

/**
 * Refuses a header that resembles one of those of orders, one that the operation does not take, and one that is given
 * more than once. A request whose key was not read would be carried out again when it is sent again.
 * @param names of all headers of the request
 * @throws FxError invalid-request
 */
export function requireKnownHeaders(names: readonly string[], { headers: taken }: Operation): void {
  if (taken === undefined) return;
  const given = new Set<OrderHeader>();
  for (const name of names) {
    const meant = headerMeant(name);
    if (meant === undefined) continue;
    if (name.toLowerCase() !== meant.toLowerCase()) {
      throw invalidHeader(`A header resembles ${meant}, and is not known. Correct its name.`);
    }
    if (!taken.includes(meant)) throw invalidHeader(`This operation does not take the header ${meant}.`);
    if (given.has(meant)) throw invalidHeader(`The header ${meant} is given more than once.`);
    given.add(meant);
  }
}

function invalidHeader(message: string): FxError {
  return new FxError("invalid-request", message);
}

const headersByLetters: ReadonlyMap<string, OrderHeader> = new Map(
  orderHeaders.map((header) => [lettersOf(header), header]),
);
/** With up to three slips, a name still has one of these parts. To count slips for every header would take long. */
const partOfHeader = /idem|pote|ncy|key|fx|table/;

/** The header of orders that `name` is or resembles: by other marks between its words, an X before it, or slips. */
function headerMeant(name: string): OrderHeader | undefined {
  const letters = lettersOf(name);
  if (!partOfHeader.test(letters)) return undefined;
  if (letters.includes("idempot")) return "Idempotency-Key";
  if (/^(x-?)?fx[-_]/i.test(name)) return "Fx-Table";
  return headersByLetters.get(nearMiss(letters.replace(/^x/, ""), [...headersByLetters.keys()]) ?? "");
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, "");
}
