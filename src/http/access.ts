import type { Caller } from "../core/role.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Who is asking; undefined where no tokens are in force. Set before the handler runs. */
    caller: Caller | undefined;
  }
}
