import { useEffect, useRef, useState } from "preact/hooks";
import type { EntryJson } from "../wire/entry-schemas.ts";
import type { AccountJson } from "../wire/schemas.ts";
import { useApp, useFailureText, useLatest, useMay } from "./app.ts";
import { Balances } from "./balances.tsx";
import { Cash } from "./cash.tsx";
import { groupedPesel } from "./format.ts";
import { Receipt } from "./receipt.tsx";
import { Statement } from "./statement.tsx";
import { Ticket } from "./ticket.tsx";

interface AccountViewProps {
  readonly pesel: string;
  readonly onRatesMoved: () => void;
}

/** One customer: what he has, what can be done for him, and what was done. */
export function AccountView({ pesel, onRatesMoved }: AccountViewProps) {
  const { api, texts } = useApp();
  const failureText = useFailureText();
  const mayMove = useMay("teller");
  const loaded = useLatest<AccountJson>((signal) => api.get(`api/user/${pesel}`, {}, signal), [pesel]);
  const [after, setAfter] = useState<AccountJson>();
  const [receipt, setReceipt] = useState<EntryJson>();
  const [changes, setChanges] = useState(0);
  const heading = useRef<HTMLHeadingElement>(null);
  const account = after ?? loaded.value;
  useEffect(() => heading.current?.focus(), [account === undefined]);

  if (account === undefined) {
    return (
      <p role={loaded.failure === undefined ? "status" : "alert"}>
        {loaded.failure === undefined ? texts.loading : failureText(loaded.failure)}
      </p>
    );
  }
  /** Shows the account after a change, and its receipt. */
  const changed = async (next: AccountJson, receiptId: string) => {
    setAfter(next);
    setChanges((count) => count + 1);
    setReceipt(await api.get<EntryJson>(`api/receipts/${receiptId}`));
  };
  return (
    <article class="account">
      <div class="holder">
        <h2 ref={heading} tabIndex={-1}>
          {account.name} {account.surname}
        </h2>
        <p class="figures muted">{groupedPesel(pesel)}</p>
      </div>
      <div class="service">
        <div class="work">
          {mayMove && <Ticket account={account} onDone={changed} onRatesMoved={onRatesMoved} />}
          {receipt !== undefined && (
            <Receipt entry={receipt} holder={account} onClose={() => setReceipt(undefined)} />
          )}
          {mayMove && <Cash account={account} onDone={changed} />}
        </div>
        <Balances currencies={account.currencies} />
      </div>
      <Statement pesel={pesel} changes={changes} onReceipt={setReceipt} onDone={changed} />
    </article>
  );
}
