import { useLayoutEffect, useRef } from "preact/hooks";
import type { ListedAccountJson } from "../wire/accounts.ts";
import { useApp, useGet } from "./app.ts";
import { type Draft, emptyDraft, newHolder } from "./desk.ts";
import { Button } from "./elements.tsx";
import { AmountField, Field, useWrong } from "./field.tsx";
import { useFocusReturn } from "./focus.ts";
import { digitsOf, typedAmount } from "./format.ts";
import { peselFault } from "./pesel-fault.ts";
import { CurrentOrder } from "./question.tsx";
import { accountUrl, opening } from "./requests.ts";
import { refusalText } from "./server-words.ts";
import { fill, holderText } from "./texts.ts";

interface NewAccountProps {
  readonly onOpened: (pesel: string) => void;
  readonly onClose: () => void;
}

export function NewAccount({ onOpened, onClose }: NewAccountProps) {
  const { desk, language, texts } = useApp();
  const draft = desk.draft(newHolder);
  const digits = digitsOf(draft.pesel);
  const form = useRef<HTMLFormElement>(null);
  useFocusReturn();
  useLayoutEffect(() => form.current?.querySelector("input")?.focus(), []);
  const leave = (then: () => void) => {
    // The next customer may see the form.
    desk.edit(newHolder, emptyDraft);
    then();
  };
  const isOut = desk.isOut(digits);
  /** The PESEL of an opening that was sent from this form, which is emptied when it is done. */
  const sent = useRef("");
  if (digits !== "") sent.current = isOut ? digits : "";
  const isOpened = sent.current !== "" && desk.customer(sent.current).done?.kind === "opening";
  useLayoutEffect(() => (isOpened ? onOpened(sent.current) : undefined), [isOpened]);
  const holder = { name: (draft.name ?? "").trim(), surname: (draft.surname ?? "").trim() };
  const amount = typedAmount(draft.sum === "" ? "0" : draft.sum, "PLN", { zero: true });
  const unfit = peselFault(digits);
  const existing = useGet<ListedAccountJson>(unfit === undefined ? accountUrl(digits) : undefined).value;
  const isTaken = !isOut && existing !== undefined && existing.closed !== true;
  const wrongPesel = unfit === undefined ? isTaken && texts.hasAccount : refusalText(unfit, language);
  const wrong = wrongPesel || ("fault" in amount ? texts.amountFault[amount.fault] : undefined);
  const [fault, refuse] = useWrong(draft, wrong);
  const open = () => {
    if ("fault" in amount || wrong !== undefined) refuse();
    else desk.askAtOnce(opening(digits, holder, amount.amount), holder);
  };
  return (
    <>
      <section class="card" aria-labelledby="new-account">
        <h2 id="new-account">{texts.newAccount}</h2>
        <form ref={form} onSubmit={open}>
          <fieldset class="fields" disabled={isOut}>
            <OpeningFields isTold={fault !== undefined} wrongPesel={wrongPesel || undefined} />
            {!isOut && existing?.closed === true && (
              <p role="status">{fill(texts.hadAccount, holderText(existing, texts))}</p>
            )}
            {fault !== undefined && <p role="alert">{fault}</p>}
          </fieldset>
          <p class="actions">
            {isTaken && <Button label={texts.showAccount} onClick={() => leave(() => onOpened(digits))} />}
            <button type="submit" class="primary" disabled={isOut}>
              {texts.openAccount}
            </button>
            <Button label={texts.cancel} class="plain" onClick={() => leave(onClose)} />
          </p>
        </form>
      </section>
      <CurrentOrder pesel={digits} kind="opening" />
    </>
  );
}

interface OpeningFieldsProps {
  readonly isTold: boolean;
  readonly wrongPesel: string | undefined;
}

function OpeningFields({ isTold, wrongPesel }: OpeningFieldsProps) {
  const { desk, texts } = useApp();
  const { pesel, name = "", surname = "", sum } = desk.draft(newHolder);
  const edit = (change: Partial<Draft>) => desk.edit(newHolder, change);
  const digits = digitsOf(pesel);
  // More digits may make it right.
  const isTypedWhole = digits.length >= 11 || /\D/.test(digits);
  return (
    <>
      <Field
        label={texts.pesel}
        value={pesel}
        onValue={(value) => edit({ pesel: value })}
        inputMode="numeric"
        maxLength={16}
        fault={isTypedWhole && !isTold ? wrongPesel : undefined}
      />
      <Field
        label={texts.firstName}
        value={name}
        required
        refusal={name.trim() === "" ? texts.nameMissing : undefined}
        onValue={(value) => edit({ name: value })}
      />
      <Field
        label={texts.surname}
        value={surname}
        required
        refusal={surname.trim() === "" ? texts.nameMissing : undefined}
        onValue={(value) => edit({ surname: value })}
      />
      <AmountField
        label={texts.cashPaidIn}
        value={sum}
        onValue={(value) => edit({ sum: value })}
        placeholder="PLN"
        currency="PLN"
        zero
        isTold={isTold}
      />
    </>
  );
}
