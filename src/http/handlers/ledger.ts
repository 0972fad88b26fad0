import { lettersSought } from "../../wire/name-sought.ts";
import { requireRole } from "../access.ts";
import type { HandlerContext } from "../context.ts";
import type { ReadHandlers } from "../reads.ts";

/** The letters that a teller's search needs: with fewer, it would show most of the list. */
const fewestLetters = 3;

export function ledgerHandlers({ service, today }: HandlerContext, reads: ReadHandlers) {
  return {
    accounts: reads.inTurn("accounts", async ({ query, caller }) => {
      if (lettersSought(query.name ?? []) < fewestLetters) {
        requireRole(caller, "operator", "A list without a name of three letters or more");
      }
      return service.accounts(query);
    }),
    position: reads.slowly("position", ({ query: { at } }, signal) => service.position(at, signal)),
    till: reads.inTurn("till", async ({ query, caller }, signal) => {
      const { date = today(), by = caller?.name } = query;
      if (by !== caller?.name) requireRole(caller, "operator", "The till of another token");
      return service.till({ date, by }, signal);
    }),
    audit: reads.slowly("audit", (_, signal) => service.audit({ signal })),
  };
}
