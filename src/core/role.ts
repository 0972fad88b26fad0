/** What a token allows. Each role includes those before it. */
export const roles = ["viewer", "teller", "operator"] as const;

export type Role = (typeof roles)[number];

/** Whose token a request has. */
export interface Caller {
  /** Of the token. */
  readonly name: string;
  readonly role: Role;
  /** When the token stops counting. */
  readonly expires: Date | undefined;
}

export function includes(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}
