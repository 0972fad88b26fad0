import { useState } from "preact/hooks";
import { newKey } from "../answers.ts";
import { useApp, useFailureText, useTask } from "../app.ts";
import { Button } from "../elements.tsx";
import { Field } from "../field.tsx";

/** Suspends or resumes trading, which every counter notices, after a question; and has the rates read again. */
function useTrading(path: "suspension" | "resumption", question: string) {
  const { api, reads } = useApp();
  const failureText = useFailureText();
  const { failure, run } = useTask<string>();
  const send = (body: object) => {
    if (!confirm(question)) return;
    run(() => api.change(`api/trading/${path}`, { body, key: newKey() }).finally(() => reads.refresh()));
  };
  return { send, fault: failure === undefined ? undefined : failureText(failure) };
}

/** The form that suspends trading. It is not there while trading is suspended. */
export function Suspend() {
  const { rates, texts } = useApp();
  const { send, fault } = useTrading("suspension", texts.suspendSure);
  const [reason, setReason] = useState("");
  if (rates === undefined || rates.suspension) return null;
  return (
    <form class="card" onSubmit={() => send({ reason })}>
      <h2>{texts.trading}</h2>
      <p class="muted">{texts.tradingIntro}</p>
      <Field label={texts.reason} value={reason} required maxLength={200} onValue={setReason} />
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
  const { send, fault } = useTrading("resumption", texts.resumeSure);
  return (
    <>
      {" "}
      <Button label={texts.resumeTrading} onClick={() => send({})} />
      {fault !== undefined && <span role="alert"> {fault}</span>}
    </>
  );
}
