import { secretName } from "../wire/plain-http.ts";

/** A store of accounts. `address` is its name as it was given. */
export type StoreTarget =
  | { readonly kind: "memory"; readonly address: string }
  | { readonly kind: "sqlite"; readonly address: string; readonly path: string }
  | { readonly kind: "postgres"; readonly address: string };

/** The target of a command: a running server, or a store that this process opens. */
export type Target = StoreTarget | { readonly kind: "server"; readonly address: string };

/** Reads http(s)://…, sqlite:PATH, postgres://… or memory:; undefined for any other address. */
export function parseTarget(address: string): Target | undefined {
  return /^https?:\/\//.test(address) && URL.canParse(address)
    ? { kind: "server", address }
    : parseStoreTarget(address);
}

export function parseStoreTarget(address: string): StoreTarget | undefined {
  if (address === "memory:") return { kind: "memory", address };
  if (/^sqlite:./.test(address) && sqliteAdvice(address) === undefined)
    return { kind: "sqlite", address, path: address.slice("sqlite:".length) };
  return /^postgres(ql)?:\/\/./.test(address) ? { kind: "postgres", address } : undefined;
}

/** Suggests the form that fx takes in place of another program's URL of SQLite. */
export function sqliteAdvice(address: string): string | undefined {
  const [, slashes = "", path = "", query] = /^sqlite:(\/\/+)?(?:file:)?([^?]*)(\?.*)?$/s.exec(address) ?? [];
  if (path === ":memory:" || /[?&]mode=memory/.test(query ?? "")) {
    return "A ledger in memory is memory:.";
  }
  if (slashes !== "") {
    return `A path follows sqlite: as it is, without //: sqlite:${path}, or sqlite:/${path} from the root folder.`;
  }
  if (query !== undefined || /^sqlite:file:/.test(address)) {
    return `A path without parameters follows sqlite:, as in sqlite:${path || "fx.db"}.`;
  }
  return undefined;
}

/** An address as it may be shown: without a password and, if it is an http(s) URL, without user and query. */
export function withoutSecrets(address: string): string {
  return isUrl(address)
    ? address.replace(/([?#]).*/, "$1***").replace(/^(\w+:\/\/).*@/, "$1***@")
    : address.replace(/^(\w+:\/\/[^/@:]*):.*@/, "$1:***@").replace(/([?&]password=)[^&]+/i, "$1***");
}

/** Whether an address has a password, the user of an http(s) URL, or a parameter that may be a key. */
export function holdsSecret(address: string): boolean {
  if (!isUrl(address)) return withoutSecrets(address) !== address;
  return /^\w+:\/\/[^/?#]*@/.test(address) || secretName.test(address);
}

function isUrl(address: string): boolean {
  return /^https?:/i.test(address);
}
