import { useLayoutEffect, useRef } from "preact/hooks";
import { entryKinds } from "../core/journal.ts";
import type { ListedAccountJson } from "../wire/accounts.ts";
import { useApp, useCustomer, useGet, useMay } from "./app.ts";
import { Balances } from "./balances.tsx";
import { Blocked } from "./blocked.tsx";
import { Cash } from "./cash.tsx";
import { orderOut } from "./customer.ts";
import { Part, Unread } from "./elements.tsx";
import { groupedPesel } from "./format.ts";
import { Asked } from "./question.tsx";
import { ReceiptInSight } from "./receipt.tsx";
import { accountUrl } from "./requests.ts";
import { Statement } from "./statement.tsx";
import { Ticket } from "./ticket.tsx";

/** One customer: the balances, the orders that are possible, and the statement. */
export function AccountView({ pesel }: { readonly pesel: string }) {
  const { texts } = useApp();
  const mayMove = useMay("teller");
  const loaded = useGet<ListedAccountJson>(accountUrl(pesel));
  const customer = useCustomer(pesel);
  const heading = useRef<HTMLHeadingElement>(null);
  const account = loaded.value;
  useLayoutEffect(() => heading.current?.focus(), [account === undefined]);

  if (account === undefined) {
    return (
      <>
        <Unread read={loaded} />
        {orderOut(customer) !== undefined && (
          <div class="card">
            <Asked pesel={pesel} kinds={entryKinds} label={texts.confirm} />
          </div>
        )}
      </>
    );
  }
  const isClosed = account.closed === true;
  const isBlocked = account.blocked === true;
  const out = orderOut(customer);
  return (
    <article class="account">
      <div class="holder">
        <h2 ref={heading} tabIndex={-1}>
          {account.name} {account.surname}
        </h2>
        <p class="figures muted">{groupedPesel(pesel)}</p>
        {isClosed && <p class="tag">{texts.closedAccount}</p>}
        {isBlocked && <p class="tag">{texts.blockedTag}</p>}
      </div>
      <Unread read={loaded} />
      <div class="service">
        <div class="work">
          {isClosed && <p class="card">{mayMove ? texts.reopenHint : texts.closedAccount}</p>}
          {isBlocked && <Blocked pesel={pesel} />}
          {(isClosed || isBlocked) && out === undefined && (
            <Asked pesel={pesel} kinds={["exchange"]} label={texts.confirm} />
          )}
          {((mayMove && !isClosed) || out !== undefined) && (
            <>
              {(!isBlocked || out?.kind === "exchange") && (
                <Part>
                  <Ticket account={account} />
                </Part>
              )}
              <Part>
                <Cash account={account} />
              </Part>
            </>
          )}
        </div>
        <div class="state">
          <ReceiptInSight pesel={pesel} />
          <Part>
            <Balances currencies={account.currencies} />
          </Part>
        </div>
      </div>
      <Part>
        <Statement account={account} />
      </Part>
    </article>
  );
}
