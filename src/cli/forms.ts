/** What the text of a setting has to be. */
import { isIP } from "node:net";

export function wholeNumber(text: string, most: number): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= most ? Number(text) : undefined;
}

export function trueOrFalse(text: string): boolean | undefined {
  return text === "true" ? true : text === "false" ? false : undefined;
}

/** Reads texts with commas between, none of which may be wrong or blank. The empty text is the empty list. */
export function listOf(isOne: (text: string) => boolean): (text: string) => readonly string[] | undefined {
  return (text) => {
    const texts = text === "" ? [] : text.split(",").map((part) => part.trim());
    return texts.every(isOne) ? texts : undefined;
  };
}

/** Refuses a key itself, which FX_TLS_KEY_FILE may bring, before an error can show it. */
export function pathOf(text: string): string | undefined {
  return text.includes("\n") ? undefined : text;
}

export function isNetwork(text: string): boolean {
  if (/^(loopback|linklocal|uniquelocal)$/.test(text)) return true;
  const [, address = "", bits = "0"] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  return Number(bits) <= { 0: -1, 4: 32, 6: 128 }[isIP(address) as 0 | 4 | 6];
}
