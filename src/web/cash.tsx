import { useState } from "preact/hooks";
import type { AccountJson, ListedAccountJson } from "../wire/accounts.ts";
import { useApp, useCustomer, useMay } from "./app.ts";
import { heldOf } from "./balances.tsx";
import { type CashDraft, orderOf, orderOut } from "./customer.ts";
import type { Wish } from "./desk.ts";
import { Button } from "./elements.tsx";
import { AmountField, CurrencyField, Field } from "./field.tsx";
import { typedAmount } from "./format.ts";
import { Asked } from "./question.tsx";
import { Reasoned } from "./reasoned.tsx";
import { fill } from "./texts.ts";

interface CashProps {
  readonly account: ListedAccountJson;
}

/** Money over the counter, and the holder's name. */
export function Cash({ account }: CashProps) {
  const { texts } = useApp();
  const mayClose = useMay("operator");
  const customer = useCustomer(account.pesel);
  const out = orderOut(customer);
  const isHere =
    out !== undefined && out.kind !== "exchange" && out.kind !== "reversal" && out.kind !== "unblock";
  const [isOpened, setOpened] = useState(customer.cash.typed !== "" || customer.renaming !== undefined);
  return (
    <details
      class="card cash"
      open={isOpened || isHere}
      onToggle={({ currentTarget }) => setOpened(currentTarget.open)}
    >
      <summary>{texts.cash}</summary>
      <Money account={account} />
      <Name account={account} />
      {((mayClose && !account.blocked) || out?.kind === "closing" || out?.kind === "block") && (
        <Ending pesel={account.pesel} />
      )}
    </details>
  );
}

function Money({ account }: CashProps) {
  const { desk, texts } = useApp();
  const { pesel, blocked = false } = account;
  return (
    <form noValidate>
      <CashFields
        pesel={pesel}
        held={(currency) => heldOf(account, currency)}
        deposit={texts.deposit}
        withdraw={blocked ? undefined : texts.withdraw}
        onWish={(wish) => void desk.ask(pesel, wish)}
      />
      <Asked pesel={pesel} kinds={["deposit", "withdrawal"]} label={texts.carryOut} />
    </form>
  );
}

interface CashFieldsProps {
  readonly pesel: string;
  /** The balance in a currency, where it is a limit. */
  readonly held?: (currency: string) => number;
  /** The labels of the buttons; a withdrawal without one is not possible. */
  readonly deposit: string;
  readonly withdraw: string | undefined;
  readonly isDisabled?: boolean;
  readonly onWish: (wish: Extract<Wish, { kind: "deposit" | "withdrawal" }>) => void;
}

/** The fields for cash that comes to an account or leaves it, with a button for each. */
export function CashFields({ pesel, held, deposit, withdraw, isDisabled, onWish }: CashFieldsProps) {
  const { desk, texts, format } = useApp();
  const customer = useCustomer(pesel);
  const { typed, currency, note } = customer.cash;
  /** The form as it was when a button found its amount wrong. */
  const [refused, setRefused] = useState<CashDraft>();
  const order = orderOf(customer, ["deposit", "withdrawal"]);
  const amount = typedAmount(typed, currency);
  const most = { symbol: currency, amount: held?.(currency) ?? 0 };
  const fault = "fault" in amount && refused === customer.cash ? texts.amountFault[amount.fault] : undefined;
  const isMore = held && order === undefined && "amount" in amount && amount.amount > most.amount;
  const ask = (kind: "deposit" | "withdrawal") => {
    if ("fault" in amount) {
      setRefused(customer.cash);
      desk.tell(pesel, { is: "cancels" });
      return;
    }
    const money = { symbol: currency, amount: amount.amount };
    onWish({ kind, money, note: note.trim() === "" ? undefined : note });
  };
  const edit = (cash: Partial<CashDraft>) => void desk.tell(pesel, { is: "typed", cash });
  return (
    <fieldset class="fields" disabled={isDisabled ?? orderOut(customer) !== undefined}>
      <AmountField
        label={texts.cashSum}
        value={typed}
        onValue={(value) => edit({ typed: value })}
        currency={currency}
        isTold={fault !== undefined}
      />
      <CurrencyField
        label={texts.cashCurrency}
        value={currency}
        onValue={(value) => edit({ currency: value })}
      />
      <Field label={texts.note} value={note} maxLength={200} onValue={(value) => edit({ note: value })} />
      {fault !== undefined && <p role="alert">{fault}</p>}
      <p class="actions" hidden={order !== undefined}>
        <Button label={deposit} onClick={() => ask("deposit")} />
        {withdraw !== undefined && <Button label={withdraw} onClick={() => ask("withdrawal")} />}
        {most.amount > 0 && withdraw !== undefined && (
          <Button
            label={fill(texts.allOfIt, format.money(most))}
            class="plain"
            onClick={() => edit({ typed: format.typed(most.amount, currency) })}
          />
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

function Name({ account }: CashProps) {
  const { desk, texts } = useApp();
  const { pesel } = account;
  const customer = useCustomer(pesel);
  const { name, surname } = customer.renaming ?? orderOf(customer, ["renaming"])?.renamed ?? account;
  const [fault, setFault] = useState<string>();
  const edit = (typed: Partial<AccountJson>) => {
    setFault(undefined);
    desk.tell(pesel, { is: "typed", renaming: { name, surname, ...typed } });
  };
  const save = () => {
    const isMissing = name.trim() === "" || surname.trim() === "";
    setFault(isMissing ? texts.nameMissing : undefined);
    if (!isMissing) void desk.carryOut(pesel, { kind: "renaming", name, surname }, account);
  };
  return (
    <form noValidate onSubmit={save}>
      <fieldset class="fields" disabled={orderOut(customer) !== undefined}>
        <Field label={texts.newFirstName} value={name} onValue={(value) => edit({ name: value })} />
        <Field label={texts.newSurname} value={surname} onValue={(value) => edit({ surname: value })} />
        {fault !== undefined && <p role="alert">{fault}</p>}
        <p class="actions">
          <button type="submit">{texts.saveName}</button>
        </p>
      </fieldset>
      <Asked pesel={pesel} kinds={["renaming"]} label={texts.carryOut} />
    </form>
  );
}

/** An account can be blocked, and closed when it is empty. */
function Ending({ pesel }: { readonly pesel: string }) {
  const { desk, texts } = useApp();
  const customer = useCustomer(pesel);
  return (
    <div class="closing">
      <p class="actions" hidden={orderOf(customer, ["closing", "block"]) !== undefined}>
        <Button
          label={texts.blockAccount}
          disabled={orderOut(customer) !== undefined}
          onClick={() => void desk.ask(pesel, { kind: "block" })}
        />
        <Button
          label={texts.closeAccount}
          disabled={orderOut(customer) !== undefined}
          onClick={() => void desk.ask(pesel, { kind: "closing" })}
        />
      </p>
      <Asked pesel={pesel} kinds={["closing"]} label={texts.carryOut} />
      <Reasoned pesel={pesel} kind="block" />
    </div>
  );
}
