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

/** The tokens in force. */
export interface Tokens {
  /**
   * Whose token a request's `Authorization` has; it may have expired. Asked at every request, so it takes less than
   * 1 µs.
   */
  callerOf(authorization: string): Caller | undefined;
}

export function includes(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}
