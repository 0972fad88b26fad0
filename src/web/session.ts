/** Whether the page is in use; if not, what lets the teller in again. */
export interface Session {
  readonly stage: "open" | "pin" | "token" | "button";
  readonly wrongPins: number;
  /** Whether the server refused the token that it was sent. */
  readonly isRefused: boolean;
}

export type SessionEvent =
  | { readonly is: "locks"; readonly hasToken: boolean; readonly hasPin: boolean }
  | { readonly is: "unauthorized"; readonly hadToken: boolean }
  | { readonly is: "wrong pin" }
  | { readonly is: "enters" };

export const openSession: Session = { stage: "open", wrongPins: 0, isRefused: false };

/** The session after a reload, which a lock outlives with the wrong PINs so far. */
export function sessionOf({
  isLocked,
  wrongPins,
}: {
  readonly isLocked: boolean;
  readonly wrongPins: number;
}): Session {
  return isLocked ? { ...openSession, stage: "pin", wrongPins } : openSession;
}

/** The number of wrong PINs after which the token is needed. */
export const mostWrongPins = 3;

/** The session after an event. A refusal that comes while the page is locked changes nothing. */
export function stepSession(state: Session, event: SessionEvent): Session {
  const { stage } = state;
  switch (event.is) {
    case "locks":
      if (stage !== "open") return state;
      return { ...openSession, stage: event.hasPin ? "pin" : event.hasToken ? "token" : "button" };
    case "unauthorized":
      return stage === "open" ? { ...openSession, stage: "token", isRefused: event.hadToken } : state;
    case "wrong pin": {
      if (stage !== "pin") return state;
      const wrongPins = state.wrongPins + 1;
      return { ...state, wrongPins, stage: wrongPins < mostWrongPins ? "pin" : "token" };
    }
    case "enters":
      return openSession;
  }
}
