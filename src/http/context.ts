import type { FastifyReply, FastifyRequest } from "fastify";
import type { CalendarDate } from "../core/date.ts";
import type { ExchangeService } from "../core/service.ts";
import type { OperationId } from "../wire/operations.ts";
import type { TokenJson } from "../wire/server.ts";
import type { AccessOptions } from "./access.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { LongReads } from "./long-reads.ts";
import type { Metrics, Probes } from "./metrics.ts";
import type { RateLimit } from "./rate-limit.ts";

/** A handler for each operation. What it throws is answered as a problem. */
export type Handlers = Readonly<Record<OperationId, Handler>>;
export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** The options that routes depend on. */
export interface ApiOptions extends Pick<AccessOptions, "tokens"> {
  /** The server closes it, last, when it is closed. */
  readonly service: ExchangeService;
  readonly probes: Probes;
  readonly now: () => Date;
  /** The office that runs the server, as printed receipts name it. */
  readonly office?: TokenJson["office"];
  /** A path such as "/fx" that links begin with. Requests are answered with and without it. */
  readonly prefix?: string;
  /** 10 s and 5 s if absent. */
  readonly slowAnswers?: SlowAnswers | undefined;
  /** A batch ends when no byte has moved either way for this long. 30 s if absent. */
  readonly bulkIdleTimeoutMs?: number;
  /** Where the build put the page for tellers. */
  readonly page?: string | undefined;
}

/** The longest that an answer may take before its first byte, and then between two bytes. */
export interface SlowAnswers {
  readonly firstMs: number;
  readonly nextMs: number;
}

/** The parts that handlers depend on. */
export interface HandlerContext extends ApiOptions {
  readonly prefix: string;
  /** The date in Warsaw. */
  readonly today: () => CalendarDate;
  readonly metrics: Metrics;
  readonly lifecycle: Lifecycle;
  readonly limit: RateLimit | undefined;
  readonly longReads: { readonly lists: LongReads; readonly journal: LongReads };
}
