import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Server } from "node:https";
import { createSecureContext } from "node:tls";
import type { FastifyBaseLogger } from "fastify";
import type { KeyPair } from "../../../http/server.ts";
import { reasonOf, UsageError } from "../../errors.ts";
import { poll } from "../../polling.ts";
import type { Settings } from "../../settings.ts";

const checkMs = 1000;
const dayMs = 86_400_000;
/** A certificate that is valid for fewer days is warned of: authorities renew earlier. */
const warnedDays = 14;

export class KeyPairFiles {
  readonly #settings: Settings;
  pair: KeyPair;

  /** @throws UsageError if one is not given, or they cannot be used */
  static open(settings: Settings): KeyPairFiles | undefined {
    const pair = readKeyPair(settings);
    return pair && new KeyPairFiles(settings, pair);
  }

  private constructor(settings: Settings, pair: KeyPair) {
    this.#settings = settings;
    this.pair = pair;
  }

  get expires(): Date {
    return expiryOf(this.pair);
  }

  warnIfExpiring(log: FastifyBaseLogger): void {
    const days = Math.floor((this.expires.getTime() - Date.now()) / dayMs);
    const what = days < 0 ? "has expired" : "expires";
    if (days < warnedDays) log.warn({ expires: this.expires, days }, `the TLS certificate ${what}: renew it`);
  }

  /**
   * Puts a changed pair in force for new connections, until the signal. One that cannot be used, or has expired, leaves the
   * last in force: of two files, one is replaced first.
   */
  follow(server: Server, log: FastifyBaseLogger, signal: AbortSignal): Promise<void> {
    const look = () => {
      const pair = readKeyPair(this.#settings, this.pair);
      if (pair === undefined || pair === this.pair) return;
      if (expiryOf(pair) < new Date()) {
        throw new UsageError(`The certificate ${this.#settings.tlsCert} has expired.`);
      }
      server.setSecureContext(pair);
      this.pair = pair;
      log.info("certificate read again");
      this.warnIfExpiring(log);
    };
    return poll(checkMs, signal, look, (reason) =>
      log.warn({ reason }, "certificate not read again: the old one stays"),
    );
  }
}

function expiryOf({ cert }: KeyPair): Date {
  return new Date(new X509Certificate(cert).validTo);
}

/**
 * @param last the pair in force, which is returned where the files have it
 * @throws UsageError
 */
function readKeyPair({ tlsCert, tlsKey }: Settings, last?: KeyPair): KeyPair | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new UsageError("--tls-cert and --tls-key belong together. Name both, or neither.");
  }
  try {
    const pair = { cert: readFileSync(tlsCert), key: readFileSync(tlsKey) };
    if (last?.cert.equals(pair.cert) && last.key.equals(pair.key)) return last;
    createSecureContext(pair);
    return pair;
  } catch (error) {
    const { reason = reasonOf(error) } = error as { reason?: string };
    throw new UsageError(`The certificate ${tlsCert} and the key ${tlsKey} cannot be used (${reason}).`);
  }
}
