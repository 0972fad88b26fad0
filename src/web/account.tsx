import { useLayoutEffect, useRef } from "preact/hooks";
import type { ListedAccountJson } from "../wire/accounts.ts";
import { useApp, useGet, useMay } from "./app.ts";
import { Balances } from "./balances.tsx";
import { Blocked } from "./blocked.tsx";
import { Cash } from "./cash.tsx";
import { Part, ReadState } from "./elements.tsx";
import { isTyping } from "./focus.ts";
import { groupedPesel } from "./format.ts";
import { CurrentOrder } from "./question.tsx";
import { accountUrl } from "./requests.ts";
import { Statement } from "./statement.tsx";
import { Ticket } from "./ticket.tsx";

/** One customer: the balances, the orders that are possible, and the statement. */
export function AccountView({ pesel }: { readonly pesel: string }) {
  const { texts } = useApp();
  const mayMove = useMay("teller");
  const loaded = useGet<ListedAccountJson>(accountUrl(pesel));
  const heading = useRef<HTMLHeadingElement>(null);
  const account = loaded.value;
  useLayoutEffect(() => {
    // Whoever types the next search already goes on with it.
    if (!isTyping()) heading.current?.focus();
  }, [account === undefined]);

  if (account === undefined) {
    return (
      <>
        <ReadState read={loaded} />
        <CurrentOrder pesel={pesel} />
      </>
    );
  }
  const isClosed = account.closed === true;
  const isBlocked = account.blocked === true;
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
      <ReadState read={loaded} />
      <div class="service">
        <div class="work">
          {isClosed && <p class="card">{mayMove ? texts.reopenHint : texts.closedAccount}</p>}
          {isBlocked && <Blocked pesel={pesel} />}
          {mayMove && !isClosed && (
            <>
              {!isBlocked && (
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
          <CurrentOrder pesel={pesel} />
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
