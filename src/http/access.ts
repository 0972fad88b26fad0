import type { FastifyRequest } from "fastify";
import { FxError } from "../core/errors.ts";
import type { Operation } from "../wire/operation.ts";
import { type Caller, includes, type Role, type Tokens } from "../wire/role.ts";
import { clientAddress } from "./client-address.ts";
import type { Stream } from "./lifecycle.ts";
import { isRepeated } from "./request-form.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Who is asking; undefined where no tokens are in force. Set before the handler runs. */
    caller: Caller | undefined;
  }
  interface FastifyContextConfig {
    /** The role that the route's operation takes. */
    role?: Operation["role"];
  }
}

export interface AccessOptions {
  readonly now: () => Date;
  /** The tokens in force; if absent, requests need none. */
  readonly tokens?: Tokens | undefined;
}

/** Says why a request may not do what needs this role. */
export type RefusalOf = (request: FastifyRequest, role: Operation["role"]) => FxError | undefined;

/** Refuses a request by its token, or sets its caller. */
export function openAccess({ tokens, now }: AccessOptions): RefusalOf {
  return (request, role) => {
    if (tokens === undefined || role === "anyone") return undefined;
    const { authorization } = request.headers;
    if (authorization === undefined) {
      return unauthorized(`This server asks for a token, and the request has none. ${howToSend}`);
    }
    if (isRepeated(request.raw, "authorization")) {
      return unauthorized(`The request has more than one Authorization header. ${howToSend}`);
    }
    const caller = tokens.callerOf(authorization);
    if (caller === undefined) {
      return refused(
        request,
        "unknown",
        `The request's token is not one of this server's. It may have been revoked: ask for another. ${howToSend}`,
      );
    }
    const { name, expires } = caller;
    if (expires !== undefined && expires <= now()) {
      return refused(
        request,
        "expired",
        `The token ${name} expired at ${expires.toISOString()}. Ask for another.`,
        name,
      );
    }
    request.caller = caller;
    return includes(caller.role, role) ? undefined : tooLittle(caller, role, "This");
  };
}

const howToSend = "Send it as Authorization: Bearer TOKEN.";

/** @param name of a token that was valid */
function refused(
  request: FastifyRequest,
  fault: "unknown" | "expired",
  message: string,
  name?: string,
): FxError {
  const { id, server } = request;
  server.log.warn({ id, address: clientAddress(request), fault, by: name }, "token refused");
  return unauthorized(message);
}

function unauthorized(message: string): FxError {
  return new FxError("unauthorized", message);
}

/**
 * @param what the thing that needs the role, as the subject of the message
 * @throws FxError forbidden
 */
export function requireRole(caller: Caller | undefined, needed: Role, what = "This"): void {
  if (caller !== undefined && !includes(caller.role, needed)) throw tooLittle(caller, needed, what);
}

function tooLittle({ name, role }: Caller, needed: Role, what: string): FxError {
  return new FxError(
    "forbidden",
    `${what} takes the role ${needed}, and the token ${name} has the role ${role}.`,
  );
}

/** The `WWW-Authenticate` header of a 401 (RFC 6750, 3). */
export function challengeOf({ headers }: FastifyRequest): string {
  return `Bearer realm="fx"${headers.authorization === undefined ? "" : ', error="invalid_token"'}`;
}

/** Says why a request that was let in may not go on: its token has been revoked or has expired. */
export function refusedSince(access: RefusalOf, request: FastifyRequest): FxError | undefined {
  return access(request, request.routeOptions.config.role ?? "anyone");
}

/** Ends the streams whose token has been revoked or has expired. */
export function endRefused(access: RefusalOf, streams: Set<Stream>): void {
  for (const stream of streams) {
    const refused = refusedSince(access, stream.request);
    if (refused === undefined) continue;
    streams.delete(stream);
    stream.end(refused);
  }
}
