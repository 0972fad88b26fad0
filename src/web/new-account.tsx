import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { ListedAccountJson } from "../wire/accounts.ts";
import { useApp, useCustomer, useDraft, useGet } from "./app.ts";
import { orderOf, orderOut } from "./customer.ts";
import { openingForm } from "./drafts.ts";
import { Button } from "./elements.tsx";
import { AmountField, Field, useWrong } from "./field.tsx";
import { useFocusReturn } from "./focus.ts";
import { digitsOf, groupedPesel, typedAmount } from "./format.ts";
import { isTypedWhole, peselFault } from "./pesel-fault.ts";
import { Asked } from "./question.tsx";
import { accountUrl, opening } from "./requests.ts";
import { fill } from "./texts.ts";

interface NewAccountProps {
  readonly onOpened: (pesel: string) => void;
  readonly onClose: () => void;
}

export function NewAccount({ onOpened, onClose }: NewAccountProps) {
  const { desk, texts, format } = useApp();
  const draft = desk.draft(openingForm);
  const digits = digitsOf(draft.pesel);
  const customer = useCustomer(digits);
  const form = useRef<HTMLFormElement>(null);
  useFocusReturn();
  useLayoutEffect(() => form.current?.querySelector("input")?.focus(), []);
  const { opened } = desk;
  useEffect(() => {
    if (opened === undefined) return;
    desk.endOpening();
    onOpened(opened);
  }, [opened]);
  const isOut = orderOut(customer) !== undefined;
  const order = orderOf(customer, ["opening"]);
  const holder = { name: draft.name.trim(), surname: draft.surname.trim() };
  const amount = typedAmount(draft.initial === "" ? "0" : draft.initial, "PLN", { zero: true });
  const pln = "amount" in amount ? amount.amount : 0;
  const ofPesel = peselFault(digits, texts);
  const existing = useGet<ListedAccountJson>(ofPesel === undefined ? accountUrl(digits) : undefined).value;
  const isTaken = !isOut && existing !== undefined && existing.closed !== true;
  const wrong =
    ofPesel ??
    (isTaken ? texts.hasAccount : undefined) ??
    (holder.name === "" || holder.surname === "" ? texts.nameMissing : undefined) ??
    ("fault" in amount ? texts.amountFault[amount.fault] : undefined);
  const [fault, refuse] = useWrong(draft, wrong);
  const open = () => {
    if (order !== undefined) return;
    if (wrong !== undefined) return refuse();
    const request = opening(digits, holder, pln);
    // Cash that is paid in is asked about, as it is in a deposit.
    if (pln > 0) desk.show(request, holder);
    else void desk.carryOut(request, holder);
  };
  const leave = (then: () => void) => {
    desk.endOpening();
    then();
  };
  return (
    <section class="card" aria-labelledby="new-account">
      <h2 id="new-account">{texts.newAccount}</h2>
      <form ref={form} noValidate onSubmit={open}>
        <fieldset class="fields" disabled={isOut}>
          <OpeningFields isTold={fault !== undefined} isTaken={isTaken} />
          {fault !== undefined && <p role="alert">{fault}</p>}
          {wrong === undefined && order === undefined && customer.message === undefined && (
            <p class="figures" role="status">
              {fill(
                texts.wouldOpen,
                `${holder.name} ${holder.surname}`,
                groupedPesel(digits),
                format.money({ symbol: "PLN", amount: pln }),
              )}
            </p>
          )}
        </fieldset>
        <Asked pesel={digits} kinds={["opening"]} label={texts.carryOut} />
        <p class="actions" hidden={order !== undefined && !isOut}>
          {isTaken && <Button label={texts.showAccount} onClick={() => leave(() => onOpened(digits))} />}
          {!isOut && (
            <button type="submit" class="primary">
              {texts.openAccount}
            </button>
          )}
          <Button label={texts.cancel} class="plain" onClick={() => leave(onClose)} />
        </p>
      </form>
    </section>
  );
}

interface OpeningFieldsProps {
  readonly isTold: boolean;
  readonly isTaken: boolean;
}

function OpeningFields({ isTold, isTaken }: OpeningFieldsProps) {
  const { desk, texts } = useApp();
  const digits = digitsOf(desk.draft(openingForm).pesel);
  const [{ pesel, name, surname, initial }, edit] = useDraft(openingForm, digits);
  const typedFault = isTypedWhole(digits)
    ? (peselFault(digits, texts) ?? (isTaken ? texts.hasAccount : undefined))
    : undefined;
  return (
    <>
      <Field
        label={texts.pesel}
        value={pesel}
        onValue={(value) => edit({ pesel: value })}
        inputMode="numeric"
        maxLength={16}
        fault={isTold ? undefined : typedFault}
      />
      <Field label={texts.firstName} value={name} onValue={(value) => edit({ name: value })} />
      <Field label={texts.surname} value={surname} onValue={(value) => edit({ surname: value })} />
      <AmountField
        label={texts.cashPaidIn}
        value={initial}
        onValue={(value) => edit({ initial: value })}
        placeholder="PLN"
        currency="PLN"
        zero
        isTold={isTold}
      />
    </>
  );
}
