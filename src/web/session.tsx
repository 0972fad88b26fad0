import { useCallback, useEffect, useState } from "preact/hooks";
import type { Texts } from "./texts.ts";

const idleMs = 10 * 60_000;
const lookMs = 5000;
const signs = ["pointerdown", "keydown", "wheel", "touchstart"] as const;

/** Locks the page when nobody has used it for ten minutes. */
export function useIdleLock(
  onLock: () => void,
): readonly [isLocked: boolean, lock: () => void, unlock: () => void] {
  const [isLocked, setLocked] = useState(false);
  const lock = useCallback(() => {
    onLock();
    setLocked(true);
  }, []);
  useEffect(() => {
    let last = Date.now();
    // Timers stand still while a machine sleeps, its clock does not: the first sign of use after that locks, too.
    const look = () => {
      if (Date.now() - last >= idleMs) lock();
    };
    const used = () => {
      look();
      last = Date.now();
    };
    const timer = setInterval(look, lookMs);
    for (const sign of signs) addEventListener(sign, used, { passive: true });
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      for (const sign of signs) removeEventListener(sign, used);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return [isLocked, lock, useCallback(() => setLocked(false), [])];
}

interface LockProps {
  readonly texts: Texts;
  /** Whether the server refused the token that it was given. */
  readonly isWrong: boolean;
  readonly onToken?: (token: string) => void;
  readonly onUnlock?: () => void;
}

/** In place of everything else: asks for a token, or that somebody is there. */
export function Lock({ texts, isWrong, onToken, onUnlock }: LockProps) {
  const [token, setToken] = useState("");
  return (
    <main class="lock">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          if (onToken === undefined) onUnlock?.();
          else if (token.trim() !== "") onToken(token.trim());
        }}
      >
        <h1>{onToken === undefined ? texts.locked : texts.tokenAsked}</h1>
        <p>{onToken === undefined ? texts.lockedHint : texts.tokenHint}</p>
        {isWrong && <p role="alert">{texts.tokenWrong}</p>}
        {onToken !== undefined && (
          <label class="field">
            {texts.token}
            <input
              type="password"
              autocomplete="off"
              autofocus
              spellcheck={false}
              value={token}
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          </label>
        )}
        <button type="submit" class="primary">
          {onToken === undefined ? texts.unlock : texts.enter}
        </button>
      </form>
    </main>
  );
}
