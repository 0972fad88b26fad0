import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { EntryJson } from "../wire/entry-schemas.ts";
import type { ListedAccountJson } from "../wire/schemas.ts";
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
  const loaded = useLatest<ListedAccountJson>((signal) => api.get(`api/user/${pesel}`, {}, signal), [pesel]);
  const [after, setAfter] = useState<ListedAccountJson>();
  const [receipt, setReceipt] = useState<EntryJson>();
  const [changes, setChanges] = useState(0);
  const heading = useRef<HTMLHeadingElement>(null);
  const account = after ?? loaded.value;
  useLayoutEffect(() => heading.current?.focus(), [account === undefined]);

  if (account === undefined) {
    return (
      <p role={loaded.failure === undefined ? "status" : "alert"}>
        {loaded.failure === undefined ? texts.loading : failureText(loaded.failure)}
      </p>
    );
  }
  /** Shows the account after a change, and its receipt. */
  const changed = async (next: ListedAccountJson, receiptId: string) => {
    setAfter(next);
    setChanges((count) => count + 1);
    // What was done stays done if its receipt cannot be read now: the statement has it.
    setReceipt(await api.get<EntryJson>(`api/receipts/${receiptId}`).catch(() => undefined));
  };
  const isClosed = account.closed === true;
  return (
    <article class="account">
      <div class="holder">
        <h2 ref={heading} tabIndex={-1}>
          {account.name} {account.surname}
        </h2>
        <p class="figures muted">{groupedPesel(pesel)}</p>
        {isClosed && <p class="tag">{texts.closedAccount}</p>}
      </div>
      <div class="service">
        <div class="work">
          {isClosed && <p class="card">{mayMove ? texts.reopenHint : texts.closedAccount}</p>}
          {mayMove && !isClosed && (
            <>
              <Ticket account={account} onDone={changed} onRatesMoved={onRatesMoved} />
              <Cash account={account} onDone={changed} />
            </>
          )}
        </div>
        <div class="state">
          {receipt !== undefined && (
            <Receipt entry={receipt} holder={account} onClose={() => setReceipt(undefined)} />
          )}
          <Balances currencies={account.currencies} />
        </div>
      </div>
      <Statement account={account} changes={changes} onReceipt={setReceipt} onDone={changed} />
    </article>
  );
}
