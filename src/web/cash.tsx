import { useState } from "preact/hooks";
import { housePlaceOf } from "../core/house.ts";
import type { ListedAccountJson } from "../wire/accounts.ts";
import { useApp, useCashCodes, useMay } from "./app.ts";
import { heldOf } from "./balances.tsx";
import type { Draft } from "./desk.ts";
import { Button } from "./elements.tsx";
import { AllOfIt, AmountField, CurrencyField, Field, useWrong } from "./field.tsx";
import { typedAmount } from "./format.ts";
import { Changes } from "./question.tsx";
import { cash, renaming } from "./requests.ts";

interface CashProps {
  readonly account: ListedAccountJson;
}

/** Whether the form was open last: a teller opens it once for all customers. */
let wasOpened = false;

/** Money over the counter, the holder's name, and the end of the account. */
export function Cash({ account }: CashProps) {
  const { desk, texts } = useApp();
  const mayClose = useMay("operator");
  const { pesel, blocked = false } = account;
  const { sum, note, name, surname } = desk.draft(pesel);
  const [isOpened, setOpened] = useState(wasOpened || Boolean(sum || note || name || surname));
  return (
    <details
      class="card cash"
      open={isOpened}
      onToggle={({ currentTarget }) => {
        wasOpened = currentTarget.open;
        setOpened(wasOpened);
      }}
    >
      <summary data-key={isOpened ? undefined : "cashAlone"}>{texts.cash}</summary>
      <form noValidate>
        <CashFields
          account={account}
          deposit={texts.deposit}
          withdraw={blocked ? undefined : texts.withdraw}
        />
      </form>
      <Renaming account={account} />
      {mayClose && !blocked && (
        <div class="closing">
          <Changes pesel={pesel} kinds={["block", "closing"]} />
        </div>
      )}
    </details>
  );
}

interface CashFieldsProps {
  readonly account: Pick<ListedAccountJson, "pesel" | "currencies">;
  /** The labels of the buttons; a withdrawal without one is not possible. */
  readonly deposit: string;
  readonly withdraw: string | undefined;
}

/** The fields for cash that comes to an account or leaves it, with a button for each. */
export function CashFields({ account, deposit, withdraw }: CashFieldsProps) {
  const { desk, texts } = useApp();
  const { pesel, currencies } = account;
  const isOut = desk.isOut(pesel);
  const draft = desk.draft(pesel);
  const edit = (change: Partial<Draft>) => desk.edit(pesel, change);
  const amount = typedAmount(draft.sum, draft.currency);
  const { currency, note } = draft;
  const held = currencies.flatMap(({ symbol, amount }) => (amount === 0 ? [] : symbol));
  const codes = useCashCodes([...held, currency]);
  // The house may take out more than it has put in: its profit.
  const isLimited = housePlaceOf(pesel) === undefined;
  const most = { symbol: currency, amount: isLimited ? heldOf(account, currency) : 0 };
  const wrong = "fault" in amount ? texts.amountFault[amount.fault] : undefined;
  const [fault, refuse] = useWrong(draft, wrong);
  const ask = (kind: "deposit" | "withdrawal") => {
    if ("fault" in amount) return refuse();
    const money = { symbol: currency, amount: amount.amount };
    void desk.ask(pesel, cash(kind, pesel, money, note.trim() === "" ? undefined : note));
  };
  return (
    <fieldset class="fields" disabled={isOut}>
      <AmountField
        label={texts.cashSum}
        data-key="cashAlone"
        value={draft.sum}
        onValue={(value) => edit({ sum: value })}
        currency={currency}
        isTold={fault !== undefined}
      />
      <CurrencyField
        codes={codes}
        label={texts.cashCurrency}
        value={currency}
        onValue={(value) => edit({ currency: value })}
      />
      <Field label={texts.note} value={note} maxLength={200} onValue={(value) => edit({ note: value })} />
      {fault !== undefined && <p role="alert">{fault}</p>}
      <p class="actions">
        <Button label={deposit} onClick={() => ask("deposit")} />
        {withdraw !== undefined && (
          <>
            <Button label={withdraw} onClick={() => ask("withdrawal")} />
            <AllOfIt {...most} onChoice={(all) => edit({ sum: all })} />
          </>
        )}
      </p>
    </fieldset>
  );
}

function Renaming({ account }: CashProps) {
  const { desk, texts } = useApp();
  const { pesel } = account;
  const { name = account.name, surname = account.surname } = desk.draft(pesel);
  const isSame = name.trim() === account.name && surname.trim() === account.surname;
  return (
    <form onSubmit={() => void desk.ask(pesel, renaming(pesel, { name, surname }))}>
      <fieldset class="fields" disabled={desk.isOut(pesel)}>
        <Field
          label={texts.newFirstName}
          value={name}
          required
          refusal={name.trim() === "" ? texts.nameMissing : undefined}
          onValue={(value) => desk.edit(pesel, { name: value })}
        />
        <Field
          label={texts.newSurname}
          value={surname}
          required
          refusal={surname.trim() === "" ? texts.nameMissing : isSame ? texts.nameSame : undefined}
          onValue={(value) => desk.edit(pesel, { surname: value })}
        />
        <p class="actions">
          <button type="submit">{texts.saveName}</button>
        </p>
      </fieldset>
    </form>
  );
}
