import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Desk } from "./desk.ts";
import { Button, LanguageButton } from "./elements.tsx";
import { Field } from "./field.tsx";
import { mayHavePin, mostWrongPins, type Session } from "./session.ts";
import { fill, type Language, type Texts } from "./texts.ts";

const idleMs = 10 * 60_000;
const lookMs = 5000;
const signs = ["pointerdown", "keydown", "wheel", "touchstart"] as const;

/** Calls `onIdle` when nobody has used the page for ten minutes. */
export function whenIdle(onIdle: () => void): void {
  let last = Date.now();
  // Timers stand still while a machine sleeps, its clock does not: the first sign of use after that locks, too.
  const look = () => {
    if (Date.now() - last >= idleMs) onIdle();
  };
  const used = () => {
    look();
    last = Date.now();
  };
  setInterval(look, lookMs);
  for (const sign of signs) addEventListener(sign, used, { passive: true });
  document.addEventListener("visibilitychange", look);
}

interface LockProps {
  readonly session: Session;
  readonly desk: Desk;
  readonly texts: Texts;
  readonly language: Language;
  readonly onLanguage: () => void;
}

const leastPinLength = 4;

/** @param left the attempts that are left */
function wrongPinText(stage: Session["stage"], left: number, texts: Texts): string {
  if (stage !== "pin") return texts.pinsWrong;
  return left === 1 ? texts.pinWrongOneLeft : fill(texts.pinWrong, left);
}

/** The page's only content while it is locked: asks for the PIN, the token, or a click. */
export function Lock({ session, desk, texts, language, onLanguage }: LockProps) {
  const { stage, wrongPins, isRefused } = session;
  const [token, setToken] = useState("");
  const [pin, setPin] = useState("");
  const isPinShort = stage === "token" && pin !== "" && pin.length < leastPinLength;
  const messages = [
    desk.out.length > 0 && texts.unsettled,
    desk.isNotSent && stage === "token" && texts.notSentSignIn,
    isRefused && texts.tokenWrong,
    wrongPins > 0 && wrongPinText(stage, mostWrongPins - wrongPins, texts),
  ].filter((text) => text !== false);
  const form = useRef<HTMLFormElement>(null);
  // Browsers honour `autofocus` once for each document.
  useLayoutEffect(() => form.current?.querySelector("input")?.focus(), [stage, isRefused, wrongPins]);
  // Keys are derived from PINs slowly, on purpose.
  const [isBusy, setBusy] = useState(false);
  const enter = async () => {
    if (stage === "button") session.goOn();
    if (isBusy) return;
    setBusy(true);
    setPin("");
    if (stage === "token" && token.trim() !== "") await session.enter(token.trim(), pin);
    if (stage === "pin" && pin !== "") await session.unlock(pin);
    setBusy(false);
  };
  return (
    <main class="lock">
      <form class="card" ref={form} onSubmit={() => void enter()}>
        <h1>{stage === "token" ? texts.tokenAsked : texts.locked}</h1>
        <p>{{ button: texts.lockedHint, pin: texts.pinHint, token: texts.tokenHint, open: "" }[stage]}</p>
        {messages.map((text) => (
          <p key={text} role="alert">
            {text}
          </p>
        ))}
        {stage === "token" && <Field label={texts.token} type="password" value={token} onValue={setToken} />}
        {(stage === "pin" || (stage === "token" && mayHavePin())) && (
          <Field
            key={stage}
            label={stage === "pin" ? texts.pin : texts.newPin}
            type="password"
            inputMode="numeric"
            value={pin}
            onValue={setPin}
            refusal={isPinShort ? texts.pinShort : undefined}
          />
        )}
        <button type="submit" class="primary" aria-busy={isBusy}>
          {stage === "token" ? texts.enter : texts.unlock}
        </button>
        {stage === "pin" && (
          <Button label={texts.anotherToken} class="plain" onClick={() => session.forget()} />
        )}
        <LanguageButton {...{ texts, language }} onClick={onLanguage} />
      </form>
    </main>
  );
}
