import { Watched } from "./watched.ts";

/** The browser tab's `sessionStorage`, which survives a reload. */
export interface Kept {
  getItem(name: string): string | null;
  setItem(name: string, text: string): void;
  removeItem(name: string): void;
}

const tokenName = "fx-token";
const sealedName = "fx-sealed-token";
const iterations = 600_000;
/** The number of wrong PINs after which the token is needed. */
export const mostWrongPins = 3;

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

/**
 * Whether the page is in use, and the caller's token, in the storage of the browser tab. While the page is locked, the
 * token is there only encrypted with the PIN, or not at all.
 */
export class Session extends Watched {
  readonly #storage: Kept;
  /** Open, or what lets the teller in again. */
  #stage: "open" | "pin" | "token" | "button";
  #isRefused = false;
  #wrongPins: number;

  /** The session after a reload, which a lock outlives with the wrong PINs so far. */
  constructor(storage: Kept) {
    super();
    this.#storage = storage;
    this.#stage = this.token === undefined && this.#sealed !== undefined ? "pin" : "open";
    this.#wrongPins = this.#sealed?.wrongPins ?? 0;
  }

  get stage() {
    return this.#stage;
  }

  get token(): string | undefined {
    return this.#storage.getItem(tokenName) ?? undefined;
  }

  /** Whether the server refused the token that it was sent, or no server would take the one that was typed. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** The wrong PINs since the last right one. */
  get wrongPins(): number {
    return this.#wrongPins;
  }

  lock(): void {
    if (this.#stage !== "open") return;
    const withoutPin = this.token === undefined ? "button" : "token";
    this.#change(this.#sealed === undefined ? withoutPin : "pin");
    this.#storage.removeItem(tokenName);
  }

  /** Asks for a token, because the server does. What comes while the page is locked changes nothing. */
  unauthorized(hadToken: boolean): void {
    if (this.#stage === "open") this.#change("token", hadToken);
  }

  /** Goes on with a token that was typed, and keeps it; with a PIN, also in the form that a lock leaves. */
  async enter(token: string, pin: string): Promise<void> {
    // No token of a server has other characters, and no header takes them.
    if (!/^[\x21-\x7e]+$/.test(token)) return this.#change("token", true);
    this.#storage.removeItem(sealedName);
    if (pin !== "") {
      const salt = crypto.getRandomValues(new Uint8Array(16));
      const iv = crypto.getRandomValues(new Uint8Array(12));
      const key = await keyOf(pin, salt);
      const text = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, new TextEncoder().encode(token));
      this.#seal({ salt: [...salt], iv: [...iv], text: [...new Uint8Array(text)], wrongPins: 0 });
    }
    this.#open(token);
  }

  /**
   * Goes on with the kept token, if the PIN is right. An attempt counts before it is made, so that a reload does not take
   * it back; after the last wrong one the token is forgotten.
   */
  async unlock(pin: string): Promise<void> {
    const sealed = this.#sealed;
    if (sealed === undefined) return;
    const wrongPins = sealed.wrongPins + 1;
    if (wrongPins < mostWrongPins) this.#seal({ ...sealed, wrongPins });
    else this.#storage.removeItem(sealedName);
    const key = await keyOf(pin, new Uint8Array(sealed.salt));
    const algorithm = { name: "AES-GCM", iv: new Uint8Array(sealed.iv) };
    const bytes = await crypto.subtle
      .decrypt(algorithm, key, new Uint8Array(sealed.text))
      .catch(() => undefined);
    // The token was forgotten meanwhile.
    if (this.#stage !== "pin") return;
    if (bytes === undefined) {
      this.#wrongPins = wrongPins;
      return this.#change(wrongPins < mostWrongPins ? "pin" : "token");
    }
    this.#seal({ ...sealed, wrongPins: 0 });
    this.#open(new TextDecoder().decode(bytes));
  }

  /** Asks for a token in place of the PIN: another teller has come. */
  forget(): void {
    this.#storage.removeItem(sealedName);
    this.#wrongPins = 0;
    this.#change("token");
  }

  /** Goes on without a token. */
  goOn(): void {
    if (this.#stage === "button") this.#change("open");
  }

  #open(token: string): void {
    this.#storage.setItem(tokenName, token);
    this.#wrongPins = 0;
    this.#change("open");
  }

  #change(stage: Session["stage"], isRefused = false): void {
    this.#stage = stage;
    this.#isRefused = isRefused;
    this.changed();
  }

  get #sealed(): Sealed | undefined {
    return JSON.parse(this.#storage.getItem(sealedName) ?? "null") ?? undefined;
  }

  #seal(sealed: Sealed): void {
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
