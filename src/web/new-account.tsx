import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useApp, useCustomer } from "./app.ts";
import { orderOut } from "./customer.ts";
import { digitsOf, type OpeningDraft } from "./desk.ts";
import { Button } from "./elements.tsx";
import { AmountField, Field } from "./field.tsx";
import { useFocusReturn } from "./focus.ts";
import { groupedPesel, typedAmount } from "./format.ts";
import { peselFault } from "./pesel-fault.ts";
import { Asked } from "./question.tsx";
import { fill } from "./texts.ts";

interface NewAccountProps {
  readonly onOpened: (pesel: string) => void;
  readonly onClose: () => void;
}

export function NewAccount({ onOpened, onClose }: NewAccountProps) {
  const { desk, texts, format } = useApp();
  const { pesel, name, surname, initial } = desk.opening;
  const holder = { name: name.trim(), surname: surname.trim() };
  const digits = digitsOf(pesel);
  const customer = useCustomer(digits);
  const [fault, setFault] = useState<string>();
  const form = useRef<HTMLFormElement>(null);
  useFocusReturn();
  useLayoutEffect(() => form.current?.querySelector("input")?.focus(), []);
  const out = orderOut(customer);
  const { isOpened } = desk;
  useEffect(() => {
    if (!isOpened) return;
    desk.setOpening(undefined);
    onOpened(digits);
  }, [isOpened]);

  const typedFault = digits.length >= 11 ? peselFault(digits, texts) : undefined;
  const amount = typedAmount(initial === "" ? "0" : initial, "PLN", { zero: true });
  const wrong =
    peselFault(digits, texts) ??
    (holder.name === "" || holder.surname === "" ? texts.nameMissing : undefined) ??
    ("fault" in amount ? texts.amountFault[amount.fault] : undefined);
  const edit = (draft: Partial<OpeningDraft>) => {
    setFault(undefined);
    desk.setOpening(draft);
  };
  const open = () => {
    setFault(wrong);
    if (wrong !== undefined || "fault" in amount) return;
    void desk.carryOut(digits, { kind: "opening", ...holder, pln: amount.amount }, holder);
  };
  const close = () => {
    desk.endOpening();
    onClose();
  };

  return (
    <section class="card" aria-labelledby="new-account">
      <h2 id="new-account">{texts.newAccount}</h2>
      <form ref={form} noValidate onSubmit={open}>
        <fieldset class="fields" disabled={out !== undefined}>
          <Field
            label={texts.pesel}
            value={pesel}
            onValue={(value) => edit({ pesel: value })}
            inputMode="numeric"
            maxLength={16}
            fault={fault === undefined ? typedFault : undefined}
          />
          <Field label={texts.firstName} value={name} onValue={(value) => edit({ name: value })} />
          <Field label={texts.surname} value={surname} onValue={(value) => edit({ surname: value })} />
          <AmountField
            label={texts.initialBalance}
            value={initial}
            onValue={(value) => edit({ initial: value })}
            placeholder="PLN"
            currency="PLN"
            zero
            isTold={fault !== undefined}
          />
          {fault !== undefined && <p role="alert">{fault}</p>}
          {wrong === undefined && customer.told === undefined && "amount" in amount && (
            <p class="figures" role="status">
              {fill(
                texts.wouldOpen,
                `${holder.name} ${holder.surname}`,
                groupedPesel(digits),
                format.money({ symbol: "PLN", amount: amount.amount }),
              )}
            </p>
          )}
        </fieldset>
        <Asked pesel={digits} kinds={["opening"]} label={texts.openAccount} />
        <p class="actions">
          {out === undefined && (
            <button type="submit" class="primary">
              {texts.openAccount}
            </button>
          )}
          <Button label={texts.cancel} class="plain" onClick={close} />
        </p>
      </form>
    </section>
  );
}
