import type { HousePlace } from "../core/house.ts";
import { includes, type Role } from "../wire/role.ts";

export type View = "counter" | "position" | "till" | "audit" | "batch";

/** The view shown; at the counter, the customer served or being opened; in the position, the account of the house. */
export interface Place {
  readonly view: View;
  readonly pesel: string | undefined;
  readonly isOpening: boolean;
  readonly house: HousePlace;
}

/** The views that a role may have, in the order of their tabs. */
export function viewsOf(role: Role): readonly View[] {
  if (includes(role, "operator")) return ["counter", "till", "position", "batch", "audit"];
  return includes(role, "teller") ? ["counter", "till"] : ["counter"];
}
