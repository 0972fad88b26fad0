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
  // Other programs' URLs, such as sqlite:///fx.db and sqlite:fx.db?mode=memory, would name other files.
  const [, path] = /^sqlite:(?!\/\/|file:|:memory:)([^?]+)$/s.exec(address) ?? [];
  if (path !== undefined) return { kind: "sqlite", address, path };
  return /^postgres(ql)?:\/\/./.test(address) ? { kind: "postgres", address } : undefined;
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
