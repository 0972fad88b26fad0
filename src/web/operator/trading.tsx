import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { newKey } from "../answers.ts";
import { useApp, useFailureText, useTask } from "../app.ts";
import { Button } from "../elements.tsx";
import { Field, useWrong } from "../field.tsx";
import { takeFocus, useFocusReturn } from "../focus.ts";

/** Suspends or resumes trading, and has the rates read again. */
function useTrading() {
  const { api, reads } = useApp();
  const failureText = useFailureText();
  const { failure, run } = useTask<string>();
  const send = (path: "suspension" | "resumption", body: object) =>
    run(() =>
      api
        .change(`api/trading/${path}`, { body, key: newKey() })
        .finally(() => reads.stale("api/rates", "health/ready")),
    );
  return { send, fault: failure === undefined ? undefined : failureText(failure) };
}

interface SureProps {
  readonly question: string;
  readonly onYes: () => void;
  readonly onNo: () => void;
}

/** A question before what every counter notices. It closes when it is answered. */
function Sure({ question, onYes, onNo }: SureProps) {
  const { texts } = useApp();
  const group = useRef<HTMLSpanElement>(null);
  useFocusReturn();
  useLayoutEffect(() => takeFocus(group.current?.querySelector("button")), []);
  const yes = () => {
    onNo();
    onYes();
  };
  return (
    <span ref={group} role="status" onKeyDown={({ key }) => key === "Escape" && onNo()}>
      {question} <Button label={texts.carryOut} onClick={yes} />{" "}
      <Button label={texts.cancel} class="plain" onClick={onNo} />
    </span>
  );
}

/** The form that suspends trading. It is not there while trading is suspended. */
export function Suspend() {
  const { rates, texts } = useApp();
  const { send, fault } = useTrading();
  const [draft, setDraft] = useState({ reason: "" });
  const [isAsked, setAsked] = useState(false);
  const { reason } = draft;
  const isMissing = reason.trim() === "";
  const [missing, refuse] = useWrong(draft, isMissing ? texts.reasonMissing : undefined);
  if (rates === undefined || rates.suspension) return null;
  const submit = () => {
    if (isMissing) refuse();
    else setAsked(true);
  };
  return (
    <form class="card" noValidate onSubmit={submit}>
      <h2>{texts.trading}</h2>
      <p class="muted">{texts.tradingIntro}</p>
      <Field
        label={texts.reason}
        value={reason}
        maxLength={200}
        onValue={(typed) => {
          setDraft({ reason: typed });
          setAsked(false);
        }}
        fault={missing}
      />
      {fault !== undefined && <p role="alert">{fault}</p>}
      <p class="actions">
        {isAsked ? (
          <Sure
            question={texts.suspendSure}
            onYes={() => send("suspension", { reason })}
            onNo={() => setAsked(false)}
          />
        ) : (
          <button type="submit">{texts.suspendTrading}</button>
        )}
      </p>
    </form>
  );
}

/** The button that resumes trading. */
export function Resume() {
  const { texts } = useApp();
  const { send, fault } = useTrading();
  const [isAsked, setAsked] = useState(false);
  return (
    <>
      {" "}
      {isAsked ? (
        <Sure question={texts.resumeSure} onYes={() => send("resumption", {})} onNo={() => setAsked(false)} />
      ) : (
        <Button label={texts.resumeTrading} onClick={() => setAsked(true)} />
      )}
      {fault !== undefined && <span role="alert"> {fault}</span>}
    </>
  );
}
