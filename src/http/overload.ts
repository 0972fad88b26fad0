import type { FastifyInstance } from "fastify";
import { type OperationId, operations } from "../wire/operations.ts";
import { limitAnswers } from "./answers.ts";

/** Operations that are always answered, so that an overload can be seen. */
const unlimited = (["live", "ready", "metrics", "openApi"] satisfies OperationId[]).map(
  (id) => operations[id].path as string,
);

/** Answers 503 `overloaded` while this many requests are under way: more could not be answered soon. */
export function refuseOverload(app: FastifyInstance, requestsAtMost = 2048): void {
  const begin = limitAnswers(requestsAtMost, "requests", 1);
  // Counted from when the body has arrived: a client that sends it slowly takes no place from others.
  app.addHook("preValidation", async (request, reply) => {
    if (!unlimited.includes(request.routeOptions.url ?? "")) begin(reply);
  });
}
