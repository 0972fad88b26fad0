import { useState } from "preact/hooks";
import { housePlaceOf } from "../core/house.ts";
import type { EntryKind } from "../core/journal.ts";
import type { ListedAccountJson } from "../wire/accounts.ts";
import { useApp, useCashCodes, useCustomer, useDraft, useMay } from "./app.ts";
import { heldOf } from "./balances.tsx";
import { orderOf, orderOut } from "./customer.ts";
import { cashForm, renamingForm } from "./drafts.ts";
import { Button } from "./elements.tsx";
import { AllOfIt, AmountField, CurrencyField, Field, useWrong } from "./field.tsx";
import { typedAmount } from "./format.ts";
import { nameFault } from "./name-fault.ts";
import { Asked, Changes } from "./question.tsx";
import { cash, renaming } from "./requests.ts";
import { fill } from "./texts.ts";

const kindsHere: readonly EntryKind[] = ["deposit", "withdrawal", "renaming", "block", "closing"];

interface CashProps {
  readonly account: ListedAccountJson;
}

/** Money over the counter, the holder's name, and the end of the account. */
export function Cash({ account }: CashProps) {
  const { desk, texts } = useApp();
  const mayClose = useMay("operator");
  const { pesel, blocked = false } = account;
  const customer = useCustomer(pesel);
  const out = orderOut(customer);
  const kind = out?.kind ?? customer.message?.kind;
  const isHere = kind !== undefined && kindsHere.includes(kind);
  const { typed, note } = desk.draft(cashForm(pesel));
  const isTyped = typed + note !== "" || desk.isTyped(renamingForm(pesel));
  const [isOpened, setOpened] = useState(isTyped);
  return (
    <details
      class="card cash"
      open={isOpened || isHere}
      onToggle={({ currentTarget }) => setOpened(currentTarget.open)}
    >
      <summary>{texts.cash}</summary>
      <form noValidate>
        <CashFields
          account={account}
          deposit={texts.deposit}
          withdraw={blocked ? undefined : texts.withdraw}
        />
        <Asked pesel={pesel} kinds={["deposit", "withdrawal"]} label={texts.carryOut} />
      </form>
      <Renaming account={account} />
      {((mayClose && !blocked) || out?.kind === "closing" || out?.kind === "block") && (
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
  const { desk, texts, format } = useApp();
  const { pesel, currencies } = account;
  const customer = useCustomer(pesel);
  const [draft, edit] = useDraft(cashForm(pesel), pesel);
  const { typed, currency, note } = draft;
  const order = orderOf(customer, ["deposit", "withdrawal"]);
  const amount = typedAmount(typed, currency);
  const held = currencies.flatMap(({ symbol, amount }) => (amount === 0 ? [] : symbol));
  const codes = useCashCodes([...held, currency]);
  // The house may take out more than it has put in: its profit.
  const isLimited = housePlaceOf(pesel) === undefined;
  const most = { symbol: currency, amount: isLimited ? heldOf(account, currency) : 0 };
  const wrong = "fault" in amount ? texts.amountFault[amount.fault] : undefined;
  const [fault, refuse] = useWrong(draft, wrong);
  const isMore = isLimited && order === undefined && "amount" in amount && amount.amount > most.amount;
  const ask = (kind: "deposit" | "withdrawal") => {
    desk.tell(pesel, { is: "cancels" });
    if ("fault" in amount) return refuse();
    const money = { symbol: currency, amount: amount.amount };
    void desk.ask(cash(kind, pesel, money, note.trim() === "" ? undefined : note));
  };
  return (
    <fieldset class="fields" disabled={orderOut(customer) !== undefined}>
      <AmountField
        label={texts.cashSum}
        value={typed}
        onValue={(value) => edit({ typed: value })}
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
      <p class="actions" hidden={order !== undefined}>
        <Button label={deposit} onClick={() => ask("deposit")} />
        {withdraw !== undefined && (
          <>
            <Button label={withdraw} onClick={() => ask("withdrawal")} />
            <AllOfIt {...most} onChoice={(all) => edit({ typed: all })} />
          </>
        )}
        {isMore && (
          <span class="muted" role="status">
            {fill(texts.onlyHeld, format.money(most))}
          </span>
        )}
      </p>
    </fieldset>
  );
}

function Renaming({ account }: CashProps) {
  const { desk, texts } = useApp();
  const { pesel } = account;
  const customer = useCustomer(pesel);
  const [draft, edit] = useDraft(renamingForm(pesel), pesel);
  const order = orderOf(customer, ["renaming"]);
  const { name, surname } = { ...account, ...order?.renamed, ...draft };
  const wrong = nameFault(account, { name, surname }, texts);
  const [fault, refuse] = useWrong(draft, wrong);
  const save = () => {
    if (order !== undefined) return;
    desk.tell(pesel, { is: "cancels" });
    if (wrong === undefined) void desk.ask(renaming(pesel, { name, surname }));
    else refuse();
  };
  return (
    <form noValidate onSubmit={save}>
      <fieldset class="fields" disabled={orderOut(customer) !== undefined}>
        <Field label={texts.newFirstName} value={name} onValue={(value) => edit({ name: value })} />
        <Field label={texts.newSurname} value={surname} onValue={(value) => edit({ surname: value })} />
        {fault !== undefined && <p role="alert">{fault}</p>}
        <p class="actions" hidden={order !== undefined}>
          <button type="submit">{texts.saveName}</button>
        </p>
      </fieldset>
      <Asked pesel={pesel} kinds={["renaming"]} label={texts.carryOut} />
    </form>
  );
}
