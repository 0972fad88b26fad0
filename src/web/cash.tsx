import { useState } from "preact/hooks";
import type { AccountJson } from "../wire/schemas.ts";
import { useApp, useCustomer, useMay } from "./app.ts";
import { type CashDraft, orderOf, orderOut } from "./customer.ts";
import { CurrencyField, Field } from "./field.tsx";
import { typedAmount } from "./format.ts";
import { Asked } from "./question.tsx";

interface CashProps {
  readonly account: AccountJson;
}

/** Money over the counter, and the holder's name. */
export function Cash({ account }: CashProps) {
  const { texts } = useApp();
  const mayClose = useMay("operator");
  const out = orderOut(useCustomer(account.pesel));
  const isHere = out !== undefined && out.kind !== "exchange" && out.kind !== "reversal";
  const [isOpened, setOpened] = useState(false);
  return (
    <details
      class="card cash"
      open={isOpened || isHere}
      onToggle={({ currentTarget }) => setOpened(currentTarget.open)}
    >
      <summary>{texts.cash}</summary>
      <Money pesel={account.pesel} />
      <Name key={`${account.name} ${account.surname}`} account={account} />
      {(mayClose || out?.kind === "closing") && <Closing pesel={account.pesel} />}
    </details>
  );
}

function Money({ pesel }: { readonly pesel: string }) {
  const { desk, texts } = useApp();
  const customer = useCustomer(pesel);
  const { typed, currency, note } = customer.cash;
  const [fault, setFault] = useState<string>();
  const order = orderOf(customer, ["deposit", "withdrawal"]);
  const ask = (kind: "deposit" | "withdrawal") => {
    const amount = typedAmount(typed, currency);
    if ("fault" in amount) {
      setFault(texts.amountFault[amount.fault]);
      desk.tell(pesel, { is: "cancels" });
      return;
    }
    const money = { symbol: currency, amount: amount.amount };
    void desk.ask(pesel, { kind, money, note: note.trim() === "" ? undefined : note });
  };
  const edit = (cash: Partial<CashDraft>) => {
    setFault(undefined);
    desk.tell(pesel, { is: "typed", cash });
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (order === undefined) ask("deposit");
        else void desk.confirm(pesel, order.key);
      }}
    >
      <fieldset class="fields" disabled={orderOut(customer) !== undefined}>
        <Field
          label={texts.cashSum}
          value={typed}
          inputMode="decimal"
          onValue={(value) => edit({ typed: value })}
        />
        <CurrencyField
          label={texts.cashCurrency}
          value={currency}
          onValue={(value) => edit({ currency: value })}
        />
        <Field label={texts.note} value={note} maxLength={200} onValue={(value) => edit({ note: value })} />
        {fault !== undefined && <p role="alert">{fault}</p>}
        {order === undefined && (
          <p class="actions">
            <button type="button" onClick={() => ask("deposit")}>
              {texts.deposit}
            </button>
            <button type="button" onClick={() => ask("withdrawal")}>
              {texts.withdraw}
            </button>
          </p>
        )}
      </fieldset>
      <Asked pesel={pesel} kinds={["deposit", "withdrawal"]} label={texts.carryOut} />
    </form>
  );
}

function Name({ account }: CashProps) {
  const { desk, texts } = useApp();
  const { pesel } = account;
  const customer = useCustomer(pesel);
  const { renamed = account } = orderOf(customer, ["renaming"]) ?? {};
  const [name, setName] = useState(renamed.name);
  const [surname, setSurname] = useState(renamed.surname);
  const [fault, setFault] = useState<string>();
  const save = () => {
    const isMissing = name.trim() === "" || surname.trim() === "";
    setFault(isMissing ? texts.nameMissing : undefined);
    if (!isMissing) void desk.carryOut(pesel, { kind: "renaming", name, surname }, account);
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <fieldset class="fields" disabled={orderOut(customer) !== undefined}>
        <Field label={texts.newFirstName} value={name} onValue={setName} />
        <Field label={texts.newSurname} value={surname} onValue={setSurname} />
        {fault !== undefined && <p role="alert">{fault}</p>}
        <p class="actions">
          <button type="submit">{texts.saveName}</button>
        </p>
      </fieldset>
      <Asked pesel={pesel} kinds={["renaming"]} label={texts.carryOut} />
    </form>
  );
}

/** An account that is empty can be closed. */
function Closing({ pesel }: { readonly pesel: string }) {
  const { desk, texts } = useApp();
  const customer = useCustomer(pesel);
  return (
    <div class="closing">
      {orderOf(customer, ["closing"]) === undefined && (
        <p class="actions">
          <button
            type="button"
            disabled={orderOut(customer) !== undefined}
            onClick={() => void desk.ask(pesel, { kind: "closing" })}
          >
            {texts.closeAccount}
          </button>
        </p>
      )}
      <Asked pesel={pesel} kinds={["closing"]} label={texts.carryOut} />
    </div>
  );
}
