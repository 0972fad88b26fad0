import type { Chance } from "../support/chance.ts";

/** JSON that may have what JSON.stringify cannot write: members twice, and numbers and texts in any spelling. */
export type Node = string | number | boolean | null | Raw | Node[] | Members;

/** Stands in the text as it is. */
export class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export class Members {
  readonly list: [name: string, value: Node][];
  constructor(list: [name: string, value: Node][]) {
    this.list = list;
  }
}

export function write(node: Node): string {
  if (node instanceof Raw) return node.text;
  if (node instanceof Members) {
    return `{${node.list.map(([name, value]) => `${JSON.stringify(name)}:${write(value)}`).join(",")}}`;
  }
  return Array.isArray(node) ? `[${node.map(write).join(",")}]` : JSON.stringify(node);
}

const numbers = [
  ..."0 -0 -1 -0.01 0.001 0.1 1 99.99 1e2 1E+2 1e-7 1e-400 1e308 1e400 -1e400 1e999999999 0.30000000000000004".split(
    " ",
  ),
  ..."9007199254740993 9999999999999.99 10000000000000 999999999999999 999999999999999.99 1000000000000000".split(
    " ",
  ),
  "123456789012345678901234567890",
  `0.${"0".repeat(300)}1`,
  "9".repeat(5000),
];
/** No JSON, though some parsers take them. */
const oddities = ["NaN", "Infinity", "01", "+1", "1.", ".5", "0x10", "1_000", "undefined", "'a'", "1,", ""];
/** People's numbers where none belongs. */
const numbersOfPeople = [
  "80010112340",
  "80010112340.1",
  "800101-12340",
  "８００１０１１２３４０",
  " 80010112340",
];

export const texts: readonly string[] = [
  ...[
    "",
    " ",
    "\t",
    "a",
    "A".repeat(200),
    "A".repeat(201),
    "A".repeat(17_000),
    "null",
    "true",
    "NaN",
    "1e5",
    "-1",
  ],
  ...[
    "\u0000",
    "a\u0000b",
    "\u0007",
    "\u001b[31m",
    "\u0085",
    "\u009b31m",
    "\ud800",
    "\udfff",
    "\u200b",
    "\u3164",
  ],
  ...["\u2800", "\u00ad", "\u202e", "\u2066a", "\ufeff", "\u2028", "\ufffe", "\u{10ffff}", "🧾", "👩‍👩‍👧‍👦"],
  ...["é", "e\u0301", `e${"\u0301".repeat(500)}`, "Żółć", "ﬁ", "ß", "İ", "Α", "１２", "̈", "𝒳".repeat(150)],
  ...["__proto__", "constructor", "toString", "hasOwnProperty", "then", "length"],
  ...[
    "=cmd|' /C calc'!A0",
    "+1",
    "-1",
    "@a",
    "\ta",
    "\ra",
    '"',
    "\\",
    "'",
    "' or 1=1 --",
    "%00",
    "%",
    "%s",
    "$" + "{x}",
  ],
  ...[
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "a\r\nX-Injected: 1",
    "http://127.0.0.1:1/",
    ...numbersOfPeople,
  ],
];

export function hostileText(chance: Chance): string {
  return chance.percent(5) ? chance.bytes(chance.below(40)).toString("utf16le") : chance.pick(texts);
}

export function hostileValue(chance: Chance): Node {
  const kinds = { number: 6, text: 6, odd: 1, null: 2, boolean: 1, array: 2, object: 2, deep: 1 };
  switch (chance.weighted(kinds)) {
    case "number":
      return new Raw(chance.pick(numbers));
    case "text":
      return hostileText(chance);
    case "odd":
      return new Raw(chance.pick(oddities));
    case "null":
      return null;
    case "boolean":
      return chance.percent(50);
    case "array":
      return Array.from({ length: chance.below(4) }, () => new Raw(chance.pick(numbers)));
    case "object":
      return new Members([[hostileText(chance), new Raw(chance.pick(numbers))]]);
    case "deep":
      return deep(chance);
  }
}

function deep(chance: Chance): Node {
  const depth = chance.pick([10, 200, 2000, 7000]);
  const [open, close] = chance.percent(50) ? ["[", "]"] : ['{"a":', "}"];
  return new Raw(open.repeat(depth) + (open === "[" ? "" : "1") + close.repeat(depth));
}

/** The same with one thing changed somewhere. */
export function changed(chance: Chance, node: Node): Node {
  if (node instanceof Members && node.list.length > 0 && chance.percent(90)) {
    const list = [...node.list];
    const at = chance.below(list.length);
    const [name, value] = list[at] as [string, Node];
    switch (chance.weighted({ value: 8, deeper: 2, without: 3, again: 2, more: 2, named: 1 })) {
      case "value":
        list[at] = [name, hostileValue(chance)];
        break;
      case "deeper":
        list[at] = [name, changed(chance, value)];
        break;
      case "without":
        list.splice(at, 1);
        break;
      case "again":
        list.splice(chance.below(list.length + 1), 0, [
          name,
          chance.percent(50) ? value : hostileValue(chance),
        ]);
        break;
      case "more":
        list.push([hostileText(chance), hostileValue(chance)]);
        break;
      case "named":
        list[at] = [chance.percent(50) ? name.toUpperCase() : ` ${name}`, value];
    }
    return new Members(list);
  }
  return chance.percent(20) ? [node] : hostileValue(chance);
}

/** The bytes of a text that has been damaged on its way. */
export function damaged(chance: Chance, text: string): Buffer {
  const bytes = Buffer.from(text);
  const at = chance.below(bytes.length + 1);
  const spliced = (middle: Buffer | string, skip = 0) =>
    Buffer.concat([bytes.subarray(0, at), Buffer.from(middle as string), bytes.subarray(at + skip)]);
  switch (
    chance.weighted({ cut: 3, random: 3, utf8: 3, mark: 1, utf16: 1, space: 1, twice: 1, large: 1, empty: 1 })
  ) {
    case "cut":
      return bytes.subarray(0, at);
    case "random":
      return spliced(chance.bytes(1 + chance.below(4)), chance.below(3));
    case "utf8":
      return spliced(
        chance
          .pick([[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xc3]])
          .reduce((made, byte) => Buffer.concat([made, Buffer.of(byte)]), Buffer.alloc(0)),
      );
    case "mark":
      return Buffer.concat([Buffer.from("\ufeff"), bytes]);
    case "utf16":
      return Buffer.from(`\ufeff${text}`, "utf16le");
    case "space":
      return spliced(" \n\t\r".repeat(1 + chance.below(50)));
    case "twice":
      return Buffer.concat([bytes, bytes]);
    case "large":
      return spliced(" ".repeat(chance.pick([15_000, 16_384, 17_000, 70_000])));
    case "empty":
      return Buffer.alloc(0);
  }
}
