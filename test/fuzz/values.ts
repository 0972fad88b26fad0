import type { Chance } from "../support/chance.ts";
import { adult } from "../support/fixture.ts";
import type { ApiDocument, Schema } from "./document.ts";
import { Members, type Node } from "./json.ts";

const accounts = 500;
const currencies = ["PLN", "USD", "EUR", "JPY", "GBP", "CHF", "HUF", "XDR", "usd", "XAU", "XXX"];
const amounts = [0.01, 0.1, 1, 1.5, 10, 12.34, 100, 99.99, 1000, 5000.01, 1_000_000, 9_999_999_999_999.99];
const names = [
  "Jan",
  "Anna Maria",
  "Żaneta",
  "Gżegżółka",
  "O'Neil",
  "Kowalska-Nowak",
  "Łucja",
  "Μαρία",
  "李小龍",
  "d’Arc",
];
const words = ["kow", "jan k", "żan", "anna", "gżeg", "o'neil", "nowak", "zzz", "a"];
/** A few are fed again and again, each by all of the clients. */
const sharedKeys = 300;

/** What a client has heard from the server and may send back to it. */
export class Heard {
  readonly receipts: string[] = [];
  readonly cursors: string[] = [];
  readonly tables: string[] = [];
  checkpoint: Buffer | undefined;

  /** Keeps the newest few. */
  static keep(list: string[], text: string): void {
    list.push(text);
    if (list.length > 50) list.shift();
  }
}

/** Makes values that a schema takes, of what the ledger may have. */
export class Values {
  readonly #document: ApiDocument;
  readonly #chance: Chance;
  readonly #heard: Heard;
  readonly #key: string;

  /** @param key one that no other request has */
  constructor(document: ApiDocument, chance: Chance, heard: Heard, key: string) {
    this.#document = document;
    this.#chance = chance;
    this.#heard = heard;
    this.#key = key;
  }

  pesel(): string {
    return adult(this.#chance.below(accounts));
  }

  of(given: Schema, name = ""): Node {
    const chance = this.#chance;
    const schema = this.#document.resolved(given);
    const known = this.#known(name, schema);
    if (known !== undefined) return known;
    const either = schema.oneOf ?? schema.anyOf;
    if (either !== undefined) return this.of(chance.pick(either), name);
    if (schema.const !== undefined) return schema.const as Node;
    if (schema.enum !== undefined) return chance.pick(schema.enum) as Node;
    const {
      type,
      properties = {},
      required = [],
      items = {},
      examples,
      minimum = 0,
      maximum = 1000,
    } = schema;
    switch (type) {
      case "object":
        return new Members(
          Object.entries(properties)
            .filter(([member]) => required.includes(member) || chance.percent(50))
            .map(([member, value]) => [member, this.of(value, member)]),
        );
      case "array":
        return Array.from({ length: chance.below(4) }, () => this.of(items));
      case "integer":
        return minimum + chance.below(Math.min(maximum - minimum, 10_000) + 1);
      case "number":
        return chance.pick(amounts);
      case "boolean":
        return chance.percent(50);
      default:
        return String(examples === undefined ? chance.pick(names) : chance.pick(examples));
    }
  }

  #known(name: string, { type, format, pattern }: Schema): string | undefined {
    const chance = this.#chance;
    if (type !== "string") return undefined;
    if (format === "date")
      return new Date(Date.now() - 86_400_000 * chance.below(4)).toISOString().slice(0, 10);
    if (format === "date-time") return new Date(Date.now() - 10_500 - 1000 * chance.below(60)).toISOString();
    if (pattern === "^[A-Za-z]{3}$") return chance.pick(currencies);
    switch (name) {
      case "pesel":
        return this.pesel();
      case "id":
        return this.#heardOf(this.#heard.receipts);
      case "cursor":
        return this.#heardOf(this.#heard.cursors);
      case "Fx-Table":
      case "table":
        return this.#heardOf(this.#heard.tables);
      case "key":
      case "Idempotency-Key":
        return chance.percent(60) ? this.#key : `shared-${chance.below(sharedKeys)}`;
      case "name":
        return chance.pick(pattern === "[^\\s]" ? words : names);
      case "surname":
      case "note":
      case "reason":
        return chance.pick(names);
      case "format":
        return /\(([^)]+)\)/.exec(pattern ?? "")?.[1]?.split("|")[chance.below(4)];
      default:
        return undefined;
    }
  }

  #heardOf(list: readonly string[]): string | undefined {
    return list.length === 0 ? undefined : this.#chance.pick(list);
  }
}
