import type { OpenApiDocument } from "../../wire/openapi.ts";
import { ready as shape, type TokenJson } from "../../wire/server.ts";
import { sendHead, sendJson, settledWithin } from "../answers.ts";
import type { Handler, HandlerContext } from "../context.ts";
import type { Probes } from "../metrics.ts";

const noOffice: TokenJson["office"] = { name: null, address: null, taxNumber: null };
const pingTimeoutMs = 2000;

/** Probes and metrics. */
export function serverHandlers(
  { probes, office = noOffice, metrics, lifecycle }: HandlerContext,
  document: OpenApiDocument,
) {
  const live: Handler = async (_request, reply) => sendJson(reply, { status: "live" });

  const ready: Handler = async (_request, reply) => {
    const { source, recorded, table, notTraded, heldBack, problem, clock } = probes.rates();
    const status = lifecycle.draining
      ? "draining"
      : (await answersInTime(probes))
        ? "ready"
        : "store-unavailable";
    const body = shape.encode({
      status,
      version: probes.version,
      store: probes.store,
      schemaVersion: probes.schemaVersion,
      rates: {
        source,
        recorded,
        table: table?.number,
        effectiveDate: table?.effectiveDate,
        tradable: notTraded === undefined,
        reason: notTraded?.reason,
        reasonCode: notTraded?.code,
        ...{ heldBack, problem, clock },
      },
    });
    return sendJson(reply, body, status === "ready" ? 200 : 503);
  };

  const text: Handler = async (request, reply) => {
    const { contentType } = metrics;
    return request.method === "HEAD"
      ? sendHead(reply, contentType)
      : reply.type(contentType).send(await metrics.text());
  };

  const token: Handler = async ({ caller }, reply) => {
    const { name = null, role = "operator", expires } = caller ?? {};
    const body: TokenJson = { name, role, expires: expires?.toISOString() ?? null, office };
    return sendJson(reply, body);
  };

  const openApi: Handler = async (_request, reply) => sendJson(reply, document);

  return { token, live, ready, metrics: text, openApi };
}

async function answersInTime(probes: Probes): Promise<boolean> {
  const answered = probes.ping().then(
    () => true,
    () => false,
  );
  return (await settledWithin(answered, pingTimeoutMs)) === true;
}
