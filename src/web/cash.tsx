import { useState } from "preact/hooks";
import type { AccountJson } from "../wire/schemas.ts";
import { useApp, useMay } from "./app.ts";
import { useChange } from "./change.ts";
import { CurrencyField, Field } from "./field.tsx";
import { typedAmount } from "./format.ts";

interface CashProps {
  readonly account: AccountJson;
  readonly onDone: (account: AccountJson, receiptId: string) => Promise<void>;
}

/** Money over the counter, and the holder's name. */
export function Cash({ account, onDone }: CashProps) {
  const { texts } = useApp();
  const mayClose = useMay("operator");
  return (
    <details class="card cash">
      <summary>{texts.cash}</summary>
      <Money account={account} onDone={onDone} />
      <Name account={account} onDone={onDone} />
      {mayClose && <Closing account={account} onDone={onDone} />}
    </details>
  );
}

function Money({ account, onDone }: CashProps) {
  const { texts, format } = useApp();
  const [typed, setTyped] = useState("");
  const [currency, setCurrency] = useState("PLN");
  const [note, setNote] = useState("");
  const [asked, setAsked] = useState<"deposit" | "withdraw">();
  const { fault, isSending, setFault, send } = useChange(async (next, receiptId) => {
    setAsked(undefined);
    setTyped("");
    setNote("");
    await onDone(next, receiptId);
  });
  const amount = typedAmount(typed, currency);
  const ask = (what: "deposit" | "withdraw") => {
    setFault("fault" in amount ? texts.amountFault[amount.fault] : undefined);
    setAsked("fault" in amount ? undefined : what);
  };
  const edit = (change: () => void) => {
    setAsked(undefined);
    setFault(undefined);
    change();
  };
  const carryOut = () => {
    if (asked === undefined || "fault" in amount) return;
    const body = { amount: amount.amount, currency, ...(note.trim() !== "" && { note }) };
    void send(`api/user/${account.pesel}/${asked === "deposit" ? "deposits" : "withdrawals"}`, body);
  };
  return (
    <form
      class="fields"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (asked === undefined) ask("deposit");
        else carryOut();
      }}
    >
      <Field
        label={texts.cashSum}
        value={typed}
        inputMode="decimal"
        onValue={(value) => edit(() => setTyped(value))}
      />
      <CurrencyField
        label={texts.cashCurrency}
        value={currency}
        onValue={(value) => edit(() => setCurrency(value))}
      />
      <Field
        label={texts.note}
        value={note}
        maxLength={200}
        onValue={(value) => edit(() => setNote(value))}
      />
      {fault !== undefined && <p role="alert">{fault}</p>}
      <p class="actions">
        {asked === undefined ? (
          <>
            <button type="button" onClick={() => ask("deposit")}>
              {texts.deposit}
            </button>
            <button type="button" onClick={() => ask("withdraw")}>
              {texts.withdraw}
            </button>
          </>
        ) : (
          <>
            <strong class="figures">
              {texts[asked]}{" "}
              {"amount" in amount ? format.money({ symbol: currency, amount: amount.amount }) : ""}
            </strong>
            <button type="button" class="primary" aria-busy={isSending} onClick={carryOut}>
              {texts.carryOut}
            </button>
            <button type="button" class="plain" onClick={() => setAsked(undefined)}>
              {texts.cancel}
            </button>
          </>
        )}
      </p>
    </form>
  );
}

function Name({ account, onDone }: CashProps) {
  const { texts } = useApp();
  const [name, setName] = useState(account.name);
  const [surname, setSurname] = useState(account.surname);
  const { fault, isSending, setFault, send } = useChange(onDone);
  return (
    <form
      class="fields"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() === "" || surname.trim() === "") setFault(texts.nameMissing);
        else void send(`api/user/${account.pesel}/name`, { name, surname });
      }}
    >
      <Field label={texts.newFirstName} value={name} onValue={setName} />
      <Field label={texts.newSurname} value={surname} onValue={setSurname} />
      {fault !== undefined && <p role="alert">{fault}</p>}
      <p class="actions">
        <button type="submit" aria-busy={isSending}>
          {texts.saveName}
        </button>
      </p>
    </form>
  );
}

/** An account that is empty can be closed. */
function Closing({ account, onDone }: CashProps) {
  const { texts } = useApp();
  const [isAsked, setAsked] = useState(false);
  const { fault, isSending, setFault, send } = useChange(onDone);
  const ask = () => {
    const isEmpty = account.currencies.every(({ amount }) => amount === 0);
    setFault(isEmpty ? undefined : texts.notEmpty);
    setAsked(isEmpty);
  };
  return (
    <div class="closing">
      {fault !== undefined && <p role="alert">{fault}</p>}
      <p class="actions">
        {isAsked ? (
          <>
            <strong>{texts.closeAccount}?</strong>
            <button
              type="button"
              class="primary"
              aria-busy={isSending}
              onClick={() => void send(`api/user/${account.pesel}/closing`, {})}
            >
              {texts.carryOut}
            </button>
            <button type="button" class="plain" onClick={() => setAsked(false)}>
              {texts.cancel}
            </button>
          </>
        ) : (
          <button type="button" onClick={ask}>
            {texts.closeAccount}
          </button>
        )}
      </p>
    </div>
  );
}
