/** Where a ledger is kept. `address` is how it was named. */
export type StorePlace =
  | { readonly kind: "memory"; readonly address: string }
  | { readonly kind: "sqlite"; readonly address: string; readonly path: string }
  | { readonly kind: "postgres"; readonly address: string };

/** Where a command works: a running server, or a store that this process opens. */
export type Place = StorePlace | { readonly kind: "server"; readonly address: string };

/** Undefined if the address is none of http(s)://…, sqlite:PATH, postgres://… and memory:. */
export function parsePlace(address: string): Place | undefined {
  return /^https?:\/\//.test(address) && URL.canParse(address)
    ? { kind: "server", address }
    : parseStorePlace(address);
}

export function parseStorePlace(address: string): StorePlace | undefined {
  if (address === "memory:") return { kind: "memory", address };
  if (/^sqlite:./.test(address)) return { kind: "sqlite", address, path: address.slice("sqlite:".length) };
  return /^postgres(ql)?:\/\/./.test(address) ? { kind: "postgres", address } : undefined;
}
