import { readFileSync, unwatchFile, watchFile } from "node:fs";
import type { Server } from "node:https";
import { createSecureContext } from "node:tls";
import type { FastifyBaseLogger } from "fastify";
import type { KeyPair } from "../../../http/server.ts";
import type { Settings } from "../../config.ts";
import { UsageError } from "../../errors.ts";
import { reasonOf } from "../../reason.ts";

const checkMs = 1000;

/** @throws UsageError */
export function readKeyPair({ tlsCert, tlsKey }: Settings): KeyPair | undefined {
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

/**
 * Puts a pair that has changed in force for new connections. One that cannot be used leaves the last in force: of two
 * files, one is replaced first.
 * @returns ends it
 */
export function followKeyPair(settings: Settings, server: Server, log: FastifyBaseLogger): () => void {
  const files = [settings.tlsCert, settings.tlsKey].filter((file) => file !== undefined);
  const read = () => {
    try {
      const pair = readKeyPair(settings);
      if (pair === undefined) return;
      server.setSecureContext(pair);
      log.info("certificate read again");
    } catch (error) {
      log.warn({ reason: (error as Error).message }, "certificate not read again: the old one stays");
    }
  };
  // By looking, not by the system's events: those miss a link that is set to another folder, as containers have it.
  for (const file of files) watchFile(file, { interval: checkMs, persistent: false }, read);
  return () => {
    for (const file of files) unwatchFile(file, read);
  };
}
