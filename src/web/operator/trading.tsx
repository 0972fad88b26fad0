import { useState } from "preact/hooks";
import { newKey } from "../answers.ts";
import { useApp, useFailureText, useTask } from "../app.ts";
import { Button } from "../elements.tsx";
import { Field, useWrong } from "../field.tsx";

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

/** The form that suspends trading. It is not there while trading is suspended. */
export function Suspend() {
  const { rates, texts } = useApp();
  const { send, fault } = useTrading();
  const [draft, setDraft] = useState({ reason: "" });
  const { reason } = draft;
  const isMissing = reason.trim() === "";
  const [missing, refuse] = useWrong(draft, isMissing ? texts.reasonMissing : undefined);
  if (rates === undefined || rates.suspension) return null;
  const submit = () => {
    if (isMissing) refuse();
    else send("suspension", { reason });
  };
  return (
    <form class="card" noValidate onSubmit={submit}>
      <h2>{texts.trading}</h2>
      <p class="muted">{texts.tradingIntro}</p>
      <Field
        label={texts.reason}
        value={reason}
        maxLength={200}
        onValue={(typed) => setDraft({ reason: typed })}
        fault={missing}
      />
      {fault !== undefined && <p role="alert">{fault}</p>}
      <p class="actions">
        <button type="submit">{texts.suspendTrading}</button>
      </p>
    </form>
  );
}

/** The button that resumes trading. */
export function Resume() {
  const { texts } = useApp();
  const { send, fault } = useTrading();
  return (
    <>
      {" "}
      <Button label={texts.resumeTrading} onClick={() => send("resumption", {})} />
      {fault !== undefined && <span role="alert"> {fault}</span>}
    </>
  );
}
