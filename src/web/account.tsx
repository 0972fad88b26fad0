import { useLayoutEffect, useRef } from "preact/hooks";
import type { EntryJson } from "../wire/entry-schemas.ts";
import type { ListedAccountJson } from "../wire/schemas.ts";
import { useApp, useCustomer, useGet, useMay } from "./app.ts";
import { Balances } from "./balances.tsx";
import { Cash } from "./cash.tsx";
import { orderOut } from "./customer.ts";
import { accountUrl } from "./desk.ts";
import { groupedPesel } from "./format.ts";
import { Receipt } from "./receipt.tsx";
import { Statement } from "./statement.tsx";
import { Ticket } from "./ticket.tsx";
import { Unread } from "./unread.tsx";

/** One customer: what he has, what can be done for him, and what was done. */
export function AccountView({ pesel }: { readonly pesel: string }) {
  const { desk, texts } = useApp();
  const mayMove = useMay("teller");
  const loaded = useGet<ListedAccountJson>(accountUrl(pesel));
  const customer = useCustomer(pesel);
  const { receiptId } = customer;
  // What was done stays done if its receipt cannot be read now: the statement has it.
  const receipt = useGet<EntryJson>(receiptId && `api/receipts/${receiptId}`).value;
  const heading = useRef<HTMLHeadingElement>(null);
  const account = loaded.value;
  useLayoutEffect(() => heading.current?.focus(), [account === undefined]);

  if (account === undefined) return <Unread read={loaded} />;
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
      <Unread read={loaded} />
      <div class="service">
        <div class="work">
          {isClosed && <p class="card">{mayMove ? texts.reopenHint : texts.closedAccount}</p>}
          {((mayMove && !isClosed) || orderOut(customer) !== undefined) && (
            <>
              <Ticket pesel={pesel} />
              <Cash account={account} />
            </>
          )}
        </div>
        <div class="state">
          {receipt !== undefined && (
            <Receipt
              key={receipt.id}
              entry={receipt}
              holder={account}
              onClose={() => desk.tell(pesel, { is: "shows receipt", receiptId: undefined })}
            />
          )}
          <Balances currencies={account.currencies} />
        </div>
      </div>
      <Statement account={account} />
    </article>
  );
}
