import { mostWrongPins } from "./session.ts";

/** The browser tab's `sessionStorage`, which survives a reload. */
export interface Kept {
  getItem(name: string): string | null;
  setItem(name: string, text: string): void;
  removeItem(name: string): void;
}

const tokenName = "fx-token";
const sealedName = "fx-sealed-token";
const iterations = 600_000;

/** A token encrypted with a key derived from the PIN. */
interface Sealed {
  readonly salt: readonly number[];
  readonly iv: readonly number[];
  readonly text: readonly number[];
  readonly wrongPins: number;
}

/** Whether the browser has the cryptography for PINs: it has on pages of https and of loopback. */
export function mayHavePin(): boolean {
  return globalThis.crypto?.subtle !== undefined;
}

/** The caller's token in the storage of the browser tab; while the page is locked, only encrypted with the PIN. */
export class TokenStore {
  readonly #storage: Kept;

  constructor(storage: Kept) {
    this.#storage = storage;
  }

  get token(): string | undefined {
    return this.#storage.getItem(tokenName) ?? undefined;
  }

  /** Whether a lock outlived a reload: there is only the encrypted token. */
  get isLocked(): boolean {
    return this.token === undefined && this.hasPin;
  }

  get hasPin(): boolean {
    return this.#storage.getItem(sealedName) !== null;
  }

  /** The wrong PINs since the last right one. */
  get wrongPins(): number {
    return this.#sealed?.wrongPins ?? 0;
  }

  /** Keeps a token that was typed; with a PIN, also in the form that a lock leaves. */
  async keep(token: string, pin: string): Promise<void> {
    this.#storage.setItem(tokenName, token);
    this.#storage.removeItem(sealedName);
    if (pin === "") return;
    const salt = crypto.getRandomValues(new Uint8Array(16));
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const key = await keyOf(pin, salt);
    const text = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, new TextEncoder().encode(token));
    this.#write({ salt: [...salt], iv: [...iv], text: [...new Uint8Array(text)], wrongPins: 0 });
  }

  lock(): void {
    this.#storage.removeItem(tokenName);
  }

  /**
   * The token, if the PIN is right. An attempt counts before it is made, so that a reload does not take it back; after
   * the last wrong one the token is forgotten.
   */
  async unlock(pin: string): Promise<string | undefined> {
    const sealed = this.#sealed;
    if (sealed === undefined) return undefined;
    const wrongPins = sealed.wrongPins + 1;
    if (wrongPins < mostWrongPins) this.#write({ ...sealed, wrongPins });
    else this.#storage.removeItem(sealedName);
    const key = await keyOf(pin, new Uint8Array(sealed.salt));
    try {
      const algorithm = { name: "AES-GCM", iv: new Uint8Array(sealed.iv) };
      const bytes = await crypto.subtle.decrypt(algorithm, key, new Uint8Array(sealed.text));
      const token = new TextDecoder().decode(bytes);
      this.#write({ ...sealed, wrongPins: 0 });
      this.#storage.setItem(tokenName, token);
      return token;
    } catch {
      return undefined;
    }
  }

  get #sealed(): Sealed | undefined {
    return JSON.parse(this.#storage.getItem(sealedName) ?? "null") ?? undefined;
  }

  #write(sealed: Sealed): void {
    this.#storage.setItem(sealedName, JSON.stringify(sealed));
  }
}

async function keyOf(pin: string, salt: Uint8Array<ArrayBuffer>) {
  const bytes = new TextEncoder().encode(pin);
  const material = await crypto.subtle.importKey("raw", bytes, "PBKDF2", false, ["deriveKey"]);
  const derivation = { name: "PBKDF2", hash: "SHA-256", salt, iterations };
  const algorithm = { name: "AES-GCM", length: 256 };
  return crypto.subtle.deriveKey(derivation, material, algorithm, false, ["encrypt", "decrypt"]);
}
