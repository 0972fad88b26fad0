import { FxError } from "../core/errors.ts";
import type { AuditOptions, AuditReport, ExchangeService, ExportRequest, Position } from "../core/service.ts";
import { SingleFlight } from "./single-flight.ts";

/** Audits, and positions, that wait for their turn. */
const mostWaiting = 16;
const exportsAtOnce = 4;

/**
 * Reads of the whole journal: one audit, one position and four exports at a time. Whoever asks while an audit or the same
 * position is under way shares the next one, which has all that was answered before.
 */
export class JournalReads {
  readonly #service: Pick<ExchangeService, "audit" | "position" | "export">;
  readonly #audits = turns();
  readonly #positions = turns();
  #exporting = 0;

  constructor(service: Pick<ExchangeService, "audit" | "position" | "export">) {
    this.#service = service;
  }

  audit(signal: AbortSignal): Promise<AuditReport> {
    return this.#audits.run("", (signal) => this.#service.audit({ signal }), signal);
  }

  /** For a checkpoint, which has one client's heads. */
  checkpoint(options: Pick<AuditOptions, "onStart" | "onHeads" | "against">, signal: AbortSignal) {
    return this.#audits.run(undefined, (signal) => this.#service.audit({ ...options, signal }), signal);
  }

  position(at: Date | undefined, signal: AbortSignal): Promise<Position> {
    const read = (signal: AbortSignal) => this.#service.position(at, signal);
    return this.#positions.run(`${at?.getTime()}`, read, signal);
  }

  /** @throws FxError overloaded */
  async *export(request: ExportRequest): AsyncGenerator<string> {
    if (this.#exporting >= exportsAtOnce) throw busy(`${exportsAtOnce} exports are under way`);
    this.#exporting += 1;
    try {
      yield* this.#service.export(request);
    } finally {
      this.#exporting -= 1;
    }
  }
}

function turns(): SingleFlight {
  const why = `${mostWaiting} audits or positions wait for their turn`;
  return new SingleFlight({ mostWaiting, busy: () => busy(why) });
}

function busy(why: string): FxError {
  return new FxError("overloaded", `${why}, and no more are made at once.`, { retryAfterSeconds: 5 });
}
