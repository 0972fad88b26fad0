import { X509Certificate } from "node:crypto";
import { readFileSync, unwatchFile, watchFile } from "node:fs";
import type { Server } from "node:https";
import { createSecureContext } from "node:tls";
import type { FastifyBaseLogger } from "fastify";
import type { KeyPair } from "../../../http/server.ts";
import { UsageError } from "../../errors.ts";
import { reasonOf } from "../../reason.ts";
import type { Settings } from "../../settings.ts";

const checkMs = 1000;
const dayMs = 86_400_000;
/** A certificate that is valid for fewer days is warned of: authorities renew earlier. */
const warnedDays = 14;

/** A certificate and its key in two files. */
export class KeyPairFiles {
  readonly #settings: Settings;
  #pair: KeyPair;

  /** @throws UsageError if one is not given, or they cannot be used */
  static open(settings: Settings): KeyPairFiles | undefined {
    const pair = readKeyPair(settings);
    return pair && new KeyPairFiles(settings, pair);
  }

  private constructor(settings: Settings, pair: KeyPair) {
    this.#settings = settings;
    this.#pair = pair;
  }

  get pair(): KeyPair {
    return this.#pair;
  }

  get expires(): Date {
    return new Date(new X509Certificate(this.#pair.cert).validTo);
  }

  warnIfExpiring(log: FastifyBaseLogger): void {
    const days = Math.floor((this.expires.getTime() - Date.now()) / dayMs);
    if (days < warnedDays) log.warn({ expires: this.expires, days }, "the TLS certificate expires: renew it");
  }

  /**
   * Puts a changed pair in force for new connections. One that cannot be used leaves the last in force: of two files, one
   * is replaced first.
   * @returns what ends it
   */
  follow(server: Server, log: FastifyBaseLogger): () => void {
    const files = [this.#settings.tlsCert, this.#settings.tlsKey].filter((file) => file !== undefined);
    const read = () => {
      try {
        const pair = readKeyPair(this.#settings);
        if (pair === undefined) return;
        server.setSecureContext(pair);
        this.#pair = pair;
        log.info("certificate read again");
        this.warnIfExpiring(log);
      } catch (error) {
        log.warn({ reason: (error as Error).message }, "certificate not read again: the old one stays");
      }
    };
    // Polled: the system's events miss a link that is set to another folder, as containers have it.
    for (const file of files) watchFile(file, { interval: checkMs, persistent: false }, read);
    return () => {
      for (const file of files) unwatchFile(file, read);
    };
  }
}

/** @throws UsageError */
function readKeyPair({ tlsCert, tlsKey }: Settings): KeyPair | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new UsageError("--tls-cert and --tls-key belong together. Name both, or neither.");
  }
  try {
    const pair = { cert: readFileSync(tlsCert), key: readFileSync(tlsKey) };
    createSecureContext(pair);
    return pair;
  } catch (error) {
    const { reason = reasonOf(error) } = error as { reason?: string };
    throw new UsageError(`The certificate ${tlsCert} and the key ${tlsKey} cannot be used (${reason}).`);
  }
}
