/** Roles of tokens. Each includes those before it. */
export const roles = ["viewer", "teller", "operator"] as const;

export type Role = (typeof roles)[number];

/** The token that a request came with. */
export interface Caller {
  /** The name of the token. */
  readonly name: string;
  readonly role: Role;
  /** When the token stops counting. */
  readonly expires: Date | undefined;
}

/** The tokens in force. */
export interface Tokens {
  /**
   * Finds the token of an `Authorization` header, which may have expired. It is called for every request, so it takes less than
   * 1 µs.
   */
  callerOf(authorization: string): Caller | undefined;
}

export function includes(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}
