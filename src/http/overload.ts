import type { FastifyInstance, FastifyRequest } from "fastify";
import { FxError } from "../core/errors.ts";
import { type OperationId, operations } from "../wire/operations.ts";
import { whenOver } from "./connections.ts";

const tellMs = 10_000;

/** Operations that are always answered, so that an overload can be seen. */
const unlimited = (["live", "ready", "metrics", "openApi"] satisfies OperationId[]).map(
  (id) => operations[id].path as string,
);

/** Answers 503 `overloaded` while this many requests are under way: more could not be answered soon. */
export function refuseOverload(app: FastifyInstance, requestsAtMost = 2048): void {
  const underWay = new Set<FastifyRequest>();
  let refused = 0;
  let toldAt = Number.NEGATIVE_INFINITY;

  function overloaded(): FxError {
    refused += 1;
    if (performance.now() - toldAt >= tellMs) {
      toldAt = performance.now();
      app.log.warn({ code: "overloaded", refused }, "more requests than can be answered soon");
      refused = 0;
    }
    return new FxError(
      "overloaded",
      "The server has more requests than it can answer soon. Nothing was begun. Try again in a moment.",
      { retryAfterSeconds: 1 },
    );
  }

  // Counted from when the body has arrived: a client that sends it slowly takes no place from others.
  app.addHook("preValidation", (request, reply, next) => {
    if (unlimited.includes(request.routeOptions.url ?? "")) return next();
    if (underWay.size >= requestsAtMost) return next(overloaded());
    underWay.add(request);
    whenOver(reply, () => underWay.delete(request));
    next();
  });
}
