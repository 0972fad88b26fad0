import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { housePlaceOf } from "../core/house.ts";
import type { EntryKind } from "../core/journal.ts";
import type { ListedAccountJson } from "../wire/accounts.ts";
import type { QuoteJson } from "../wire/exchanges.ts";
import type { MoneyJson } from "../wire/fields.ts";
import { useApp, useCustomer, useFailureText, useGet } from "./app.ts";
import { heldOf } from "./balances.tsx";
import {
  isUnknown,
  type Message,
  type Order,
  type OrderState,
  orderOf,
  orderOut,
  reasonOf,
} from "./customer.ts";
import { Button, type Fact, Facts } from "./elements.tsx";
import { Field } from "./field.tsx";
import { takeFocus, useFocusReturn } from "./focus.ts";
import { groupedPesel, sum } from "./format.ts";
import { accountIn, balancesUrl, change } from "./requests.ts";
import { fill, holderText } from "./texts.ts";

/** The balances that an order changes, and why fx would refuse it as the account is, unless it may have been done already. */
function useBalances(order: Order) {
  const { texts } = useApp();
  const { pesel, kind } = order;
  const answer = useGet<object>(balancesUrl(pesel)).value;
  const account = answer && accountIn(answer, pesel);
  const isOut = orderOut(useCustomer(pesel)) !== undefined;
  // An account that is there already is not opened, and its balances are not this person's to see.
  const isTaken = kind === "opening" && account?.closed !== true;
  const changes = account === undefined || isOut || isTaken ? [] : balanceChanges(account, order);
  const isStopped = order.out !== undefined || kind === "closing" || kind === "block";
  let warning: string | undefined;
  if (account?.blocked === true && isStopped && !isOut) warning = texts.blockedAccount;
  else if (kind === "closing" && changes.some(({ before }) => before !== 0)) warning = texts.notEmpty;
  else if (changes.some(({ after }) => after < 0)) {
    warning = housePlaceOf(pesel) === undefined ? texts.notEnough : texts.houseBelow;
  }
  return { changes, warning };
}

interface OrderFactsProps extends ReturnType<typeof useBalances> {
  readonly order: Order;
}

/** An order's holder, the money that leaves and comes, and the balances after it. */
function OrderFacts({ order, changes, warning }: OrderFactsProps) {
  const { texts, format } = useApp();
  const { kind, pesel, holder, renamed, undone } = order;
  const { note } = order.body as { readonly note?: string };
  const whose = [holderText({ ...holder, pesel }, texts), groupedPesel(pesel)];
  const facts: readonly Fact[] = [
    [texts.operation, texts.kind[kind]],
    [texts.holder, whose.filter(Boolean).join(" · ")],
    [texts.newName, renamed && `${renamed.name} ${renamed.surname}`],
    [texts.reverses, undone && `${texts.kind[undone.kind]}, ${format.time(undone.time)}`],
    [texts.out, order.out && `−${format.money(order.out)}`],
    [texts.in, order.in && `+${format.money(order.in)}`],
    [texts.note, note],
    ...changes.map(
      ({ symbol, before, after }): Fact => [
        fill(texts.balanceIn, symbol),
        before === after
          ? format.money({ symbol, amount: before })
          : `${format.amount(before, symbol)} → ${format.money({ symbol, amount: after })}`,
      ],
    ),
  ];
  return (
    <>
      <Facts class="facts figures" of={facts} />
      {warning !== undefined && <p role="alert">{warning}</p>}
    </>
  );
}

interface BalanceChange {
  readonly symbol: string;
  readonly before: number;
  readonly after: number;
}

/** The balances that an order changes; of a closing, all of them. */
function balanceChanges(account: ListedAccountJson, order: Order): readonly BalanceChange[] {
  const moved = (money: MoneyJson | undefined, symbol: string) =>
    money?.symbol === symbol ? money.amount : 0;
  const symbols =
    order.kind === "closing"
      ? account.currencies.map(({ symbol }) => symbol)
      : new Set([order.out, order.in].flatMap((money) => money?.symbol ?? []));
  return [...symbols].map((symbol) => {
    const before = heldOf(account, symbol);
    return { symbol, before, after: sum(before, moved(order.in, symbol), -moved(order.out, symbol)) };
  });
}

/** The words of a message, with the price now, where there is one. */
function useMessageText(): (message: Message, quote?: QuoteJson) => string {
  const { texts, format } = useApp();
  const failureText = useFailureText();
  // The other amount is the one that was typed.
  const priced = ({ side, sold, bought }: QuoteJson) => format.money(side === "toBuy" ? sold : bought);
  return (message, quote) => {
    if ("failure" in message) return failureText(message.failure);
    if (message.text !== "rateMoved" || quote === undefined) return texts[message.text];
    return fill(texts.rateMoved, priced(message.was), priced(quote));
  };
}

interface AskedProps {
  readonly pesel: string;
  readonly kinds: readonly EntryKind[];
  /** The label of the button that carries the order out. */
  readonly label: string;
}

/** The question about an order of these kinds until it is settled, and the message about it. */
export function Asked({ pesel, kinds, label }: AskedProps) {
  const { at, message } = useCustomer(pesel);
  const messageText = useMessageText();
  if (at !== undefined && at.stage !== "asking" && kinds.includes(at.order.kind)) {
    return (
      <Question
        key={at.order.key}
        {...{ pesel, label, at }}
        message={message && messageText(message.what, at.order.quote)}
        isMoved={message !== undefined && "was" in message.what}
      />
    );
  }
  return message !== undefined && kinds.includes(message.kind) ? (
    <p role="alert">{messageText(message.what)}</p>
  ) : null;
}

interface QuestionProps {
  readonly pesel: string;
  readonly label: string;
  readonly at: Exclude<OrderState, { stage: "asking" }>;
  readonly message: string | undefined;
  /** Whether it is asked again because the rate has moved. */
  readonly isMoved: boolean;
}

/** An order's facts, what is known of it, and what can be done about it. */
function Question({ pesel, label, at, message, isMoved }: QuestionProps) {
  const { desk, texts } = useApp();
  const { order, stage } = at;
  /** Whether the teller is asked whether to give the order up, although it may still be done. */
  const [isLeaving, setLeaving] = useState(false);
  const notice = isLeaving ? texts.mayStillBeDone : isUnknown(at) && texts.outcomeUnknown;
  const section = useRef<HTMLElement>(null);
  useFocusReturn();
  // An Enter out of habit confirms neither another price nor what there is a warning of.
  const balances = useBalances(order);
  const isDoubtful = balances.warning !== undefined || isMoved;
  useLayoutEffect(
    () => takeFocus(section.current?.querySelector(isDoubtful ? "input, .plain" : "input, .primary")),
    [],
  );
  const { key } = order;
  const hasReason = "reason" in order.body;
  const confirm = () => void desk.confirm(pesel, key);
  const cancel = () => stage === "asked" && desk.tell(pesel, { is: "cancels" });
  const question = (
    <section
      ref={section}
      class="asked"
      aria-label={texts.kind[order.kind]}
      onKeyDown={(event) => event.key === "Escape" && cancel()}
    >
      <OrderFacts order={order} {...balances} />
      {hasReason && <Reason order={order} isFixed={stage !== "asked"} />}
      {(notice || message) && <p role="alert">{[notice, !isLeaving && message].filter(Boolean).join(" ")}</p>}
      <p class="actions">
        {isLeaving ? (
          <>
            <Button label={texts.stay} class="primary" onClick={() => setLeaving(false)} />
            <Button
              label={texts.giveUp}
              class="plain"
              onClick={() => desk.tell(pesel, { is: "gives up", key })}
            />
          </>
        ) : (
          <>
            <Button
              label={label}
              class={isDoubtful ? "" : "primary"}
              aria-busy={stage === "sending"}
              onClick={confirm}
            />
            {isUnknown(at) && <Unsettled pesel={pesel} at={at} onLeave={() => setLeaving(true)} />}
            {stage === "asked" && <Button label={texts.cancel} class="plain" onClick={cancel} />}
            <span role="status">{stage === "sending" && texts.sent}</span>
          </>
        )}
      </p>
    </section>
  );
  // Enter in the box for the reason confirms. Other questions stand in the form that asked for them.
  return hasReason ? (
    <form class="reasoned" noValidate onSubmit={confirm}>
      {question}
    </form>
  ) : (
    question
  );
}

function Reason({ order, isFixed }: { readonly order: Order; readonly isFixed: boolean }) {
  const { desk, texts } = useApp();
  const { pesel, key } = order;
  const give = (reason: string) => void desk.tell(pesel, { is: "gives reason", key, reason });
  return (
    <fieldset disabled={isFixed}>
      <Field label={texts.reason} value={reasonOf(order)} maxLength={200} onValue={give} />
    </fieldset>
  );
}

interface UnsettledProps {
  readonly pesel: string;
  readonly at: OrderState;
  readonly onLeave: () => void;
}

/** Buttons for an order without an answer, beside the one that sends it again. */
function Unsettled({ pesel, at: { stage }, onLeave }: UnsettledProps) {
  const { desk, texts } = useApp();
  return (
    <>
      <Button
        label={texts.lookUp}
        class="plain"
        aria-busy={stage === "looking"}
        onClick={() => void desk.look(pesel)}
      />
      <Button label={texts.leave} class="plain" disabled={stage !== "unknown"} onClick={onLeave} />
    </>
  );
}

interface ChangesProps {
  readonly pesel: string;
  readonly kinds: readonly ("closing" | "block" | "unblock")[];
}

/** A button for each change of the account as a whole, and the question about it in their place. */
export function Changes({ pesel, kinds }: ChangesProps) {
  const { desk, texts } = useApp();
  const customer = useCustomer(pesel);
  return (
    <>
      <p class="actions" hidden={orderOf(customer, kinds) !== undefined}>
        {kinds.map((kind) => (
          <Button
            key={kind}
            label={texts.changeAccount[kind]}
            disabled={orderOut(customer) !== undefined}
            onClick={() => void desk.ask(change(kind, pesel))}
          />
        ))}
      </p>
      <Asked pesel={pesel} kinds={kinds} label={texts.carryOut} />
    </>
  );
}
