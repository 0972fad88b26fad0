import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useApp } from "./app.ts";
import { useChange } from "./change.ts";
import { Field } from "./field.tsx";
import { typedAmount } from "./format.ts";
import { peselFault } from "./pesel-fault.ts";

interface NewAccountProps {
  readonly onOpened: (pesel: string) => void;
  readonly onClose: () => void;
}

export function NewAccount({ onOpened, onClose }: NewAccountProps) {
  const { texts } = useApp();
  const [pesel, setPesel] = useState("");
  const [name, setName] = useState("");
  const [surname, setSurname] = useState("");
  const [initial, setInitial] = useState("");
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => form.current?.querySelector("input")?.focus(), []);

  const digits = pesel.replace(/\s/g, "");
  const { fault, isSending, setFault, send } = useChange<undefined>(() => onOpened(digits));
  const typedFault = digits.length >= 11 ? peselFault(digits, texts) : undefined;

  const open = async () => {
    const amount = typedAmount(initial === "" ? "0" : initial, "PLN", { zero: true });
    const wrong =
      peselFault(digits, texts) ??
      (name.trim() === "" || surname.trim() === "" ? texts.nameMissing : undefined) ??
      ("fault" in amount ? texts.amountFault[amount.fault] : undefined);
    setFault(wrong);
    if (wrong !== undefined || "fault" in amount) return;
    await send("api/user", { pesel: digits, name, surname, pln: amount.amount });
  };

  return (
    <section class="card" aria-labelledby="new-account">
      <h2 id="new-account">{texts.newAccount}</h2>
      <form
        ref={form}
        class="fields"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void open();
        }}
      >
        <Field
          label={texts.pesel}
          value={pesel}
          onValue={setPesel}
          inputMode="numeric"
          maxLength={16}
          fault={fault === undefined ? typedFault : undefined}
        />
        <Field label={texts.firstName} value={name} onValue={setName} />
        <Field label={texts.surname} value={surname} onValue={setSurname} />
        <Field
          label={texts.initialBalance}
          value={initial}
          onValue={setInitial}
          inputMode="decimal"
          placeholder="PLN"
        />
        {fault !== undefined && <p role="alert">{fault}</p>}
        <p class="actions">
          <button type="submit" class="primary" aria-busy={isSending}>
            {texts.openAccount}
          </button>
          <button type="button" class="plain" onClick={onClose}>
            {texts.cancel}
          </button>
        </p>
      </form>
    </section>
  );
}
