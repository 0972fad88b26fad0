import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { housePlaceOf } from "../core/house.ts";
import type { ListedAccountJson } from "../wire/accounts.ts";
import type { QuoteJson } from "../wire/exchanges.ts";
import type { MoneyJson } from "../wire/fields.ts";
import { useApp, useCustomer, useFailureText, useGet, useTold } from "./app.ts";
import { heldOf } from "./balances.tsx";
import {
  type Customer,
  keyOf,
  type Message,
  type Order,
  type OrderState,
  orderOf,
  orderOut,
} from "./customer.ts";
import { Button, type Fact, Facts, ReadState } from "./elements.tsx";
import { Field } from "./field.tsx";
import { takeFocus, useFocusReturn } from "./focus.ts";
import { groupedPesel, sum } from "./format.ts";
import type { Read } from "./reads.ts";
import { ReceiptInSight } from "./receipt.tsx";
import { accountIn, balancesUrl, change, tradingNumber } from "./requests.ts";
import { fill, holderText } from "./texts.ts";

function useAccountRead(pesel: string): Read<object> {
  return useGet<object>(pesel === tradingNumber ? undefined : balancesUrl(pesel));
}

/** The account of an order, as far as it was read. */
function useAccount(pesel: string): ListedAccountJson | undefined {
  const { value } = useAccountRead(pesel);
  return value && accountIn(value, pesel);
}

/** The balances that an order changes, and why fx would refuse it as the account is, unless it may have been done already. */
function useBalances(order: Order) {
  const { desk, texts } = useApp();
  const { pesel, kind } = order;
  const account = useAccount(pesel);
  const isOut = desk.isOut(pesel);
  if (account === undefined || isOut) return { changes: [], warning: undefined };
  // A new holder is not shown the balances of an account that is there already.
  if (kind === "opening") {
    const isAgain = account.closed === true;
    return { changes: [], warning: isAgain ? fill(texts.hadAccount, holderText(account, texts)) : undefined };
  }
  const changes = balanceChanges(account, order);
  const isStopped = order.out !== undefined || kind === "closing" || kind === "block";
  let warning: string | undefined;
  if (account.closed === true) warning = texts.closedAccount;
  else if (account.blocked === true && isStopped) warning = texts.blockedAccount;
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
  const { caller, texts, format } = useApp();
  const { kind, pesel, holder, renamed, undone, by } = order;
  const { note } = order.body as { readonly note?: string };
  const whose = [holderText({ ...holder, pesel }, texts), groupedPesel(pesel)];
  const facts: readonly Fact[] = [
    [texts.operation, texts.kind[kind]],
    [texts.holder, pesel === tradingNumber ? undefined : whose.filter(Boolean).join(" · ")],
    [texts.newName, renamed && `${renamed.name} ${renamed.surname}`],
    [texts.reverses, undone && `${texts.kind[undone.kind]}, ${format.time(undone.time)}`],
    [texts.out, order.out && `−${format.money(order.out)}`],
    [texts.in, order.in && `+${format.money(order.in)}`],
    [texts.note, note],
    [texts.doneBy, by === caller.name ? undefined : (by ?? undefined)],
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

interface CurrentOrderProps {
  readonly pesel: string;
  /** The only kind of order that is shown, without its receipt; without it, every kind is. */
  readonly kind?: Order["kind"] | undefined;
}

/** The question about an order until it is settled, the message about it, and the receipt. */
export function CurrentOrder({ pesel, kind }: CurrentOrderProps) {
  return <CurrentOrderOf key={pesel} {...{ pesel, kind }} />;
}

function CurrentOrderOf({ pesel, kind }: CurrentOrderProps) {
  const customer = useCustomer(pesel);
  const { at, message } = customer;
  const asker = useAsker(customer);
  return (
    <>
      {at !== undefined && <Question key={keyOf(at)} {...{ pesel, kind, asker }} />}
      {message !== undefined && orderOf(customer) === undefined && <Refusal message={message} />}
      {kind === undefined && <ReceiptInSight {...{ pesel, asker }} />}
    </>
  );
}

/**
 * The element from which the question or the receipt in sight was asked for; undefined for what stood before it was shown
 * here. What an answer brings was asked for with the order.
 */
function useAsker(customer: Customer): Element | null | undefined {
  const shown = `${customer.at && keyOf(customer.at)} ${customer.receiptId}`;
  const last = useRef({ shown, customer, asker: undefined as Element | null | undefined });
  let { asker } = last.current;
  if (shown !== last.current.shown) {
    asker = orderOut(last.current.customer) === undefined ? document.activeElement : (asker ?? null);
  }
  last.current = { shown, customer, asker };
  return asker;
}

function Refusal({ message }: { readonly message: Message }) {
  const messageText = useMessageText();
  const line = useRef<HTMLParagraphElement>(null);
  useTold(message.key);
  useLayoutEffect(() => line.current?.scrollIntoView({ block: "nearest" }), []);
  return (
    <p role="alert" ref={line}>
      {messageText(message)}
    </p>
  );
}

interface QuestionProps extends CurrentOrderProps {
  readonly asker: Element | null | undefined;
}

/**
 * A question is seen when its order is known, and its account: without the balances, nobody would be warned. Its place has
 * the focus until then, so that a Tab and an Enter pressed too early reach no other button.
 */
function Question({ pesel, kind, asker }: QuestionProps) {
  const { at } = useCustomer(pesel);
  const account = useAccount(pesel);
  useFocusReturn(asker);
  if (at === undefined) return null;
  if (kind !== undefined && orderOf({ at })?.kind !== kind) return null;
  if (at.stage === "asking") return <Coming {...{ pesel, asker }} />;
  const needsAccount = at.stage === "asked" && at.order.kind !== "opening" && pesel !== tradingNumber;
  if (needsAccount && account === undefined) return <Coming {...{ pesel, asker }} />;
  return <Priced {...{ pesel, at, asker }} />;
}

/** The place of a question that waits for its price or its account. */
function Coming({ pesel, asker }: Omit<QuestionProps, "kind">) {
  const { desk, texts } = useApp();
  const read = useAccountRead(pesel);
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => takeFocus(form.current, asker), []);
  return (
    <form
      ref={form}
      class="card asked"
      aria-label={texts.loading}
      tabIndex={-1}
      onKeyDown={(event) => event.key === "Escape" && desk.tell(pesel, { is: "cancels" })}
    >
      {read.failure === undefined ? <p role="status">{texts.loading}</p> : <ReadState read={read} />}
    </form>
  );
}

const readMs = 500;

/** Whether these words have been in sight for so long that they can have been read. */
function useIsRead(words: string): boolean {
  const [read, setRead] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setRead(words), readMs);
    return () => clearTimeout(timer);
  }, [words]);
  return read === words;
}

interface PricedProps {
  readonly pesel: string;
  readonly at: Exclude<OrderState, { stage: "asking" }>;
  readonly asker: Element | null | undefined;
}

/** An order's facts, what is known of it, and what can be done about it. */
function Priced({ pesel, at, asker }: PricedProps) {
  const { desk, texts } = useApp();
  const messageText = useMessageText();
  const { message } = useCustomer(pesel);
  const { order, stage } = at;
  const isUnknown = stage === "unknown" || stage === "looking" || (stage === "sending" && at.isRepeat);
  /** Whether the teller is asked whether to give the order up, although it may still be done. */
  const [isLeaving, setLeaving] = useState(false);
  /** Whether it was confirmed before it can have been read. */
  const [isEarly, setEarly] = useState(false);
  const notices = isLeaving
    ? [texts.mayStillBeDone]
    : [isUnknown && texts.outcomeUnknown, message && messageText(message, order.quote)].filter(Boolean);
  const form = useRef<HTMLFormElement>(null);
  const balances = useBalances(order);
  const isDoubtful = balances.warning !== undefined || (message !== undefined && "was" in message);
  const { key } = order;
  // The key or click that was meant for what was here before confirms nothing.
  const isRead = useIsRead(JSON.stringify([balances, notices]));
  useTold(message?.key);
  useLayoutEffect(() => desk.show(key), []);
  // No button has the focus: an Enter out of habit confirms nothing.
  useLayoutEffect(() => takeFocus(form.current, asker), []);
  const askToLeave = (is: boolean) => {
    // The button that was pressed goes.
    form.current?.focus();
    setLeaving(is);
  };
  const giveUp = () => void desk.tell(pesel, { is: "gives up", key });
  const confirm = () => (isRead ? void desk.confirm(pesel, key) : setEarly(true));
  const cancel = () => stage === "asked" && desk.tell(pesel, { is: "cancels" });
  return (
    <form
      ref={form}
      class="card asked"
      aria-label={texts.kind[order.kind]}
      tabIndex={-1}
      onSubmit={confirm}
      onKeyDown={(event) => event.key === "Escape" && cancel()}
    >
      <OrderFacts order={order} {...balances} />
      <Reason order={order} isFixed={stage !== "asked"} />
      {notices.length > 0 && <p role="alert">{notices.join(" ")}</p>}
      {/* Other buttons are other elements: the click on one never submits as the one that takes its place. */}
      <p class="actions" key={isLeaving ? "leaving" : "asked"}>
        {isLeaving ? (
          <>
            <Button label={texts.stay} class="primary" onClick={() => askToLeave(false)} />
            <Button label={texts.giveUp} class="plain" onClick={giveUp} />
          </>
        ) : (
          <>
            <Button
              label={order.kind === "exchange" ? texts.confirm : texts.carryOut}
              type="submit"
              class={isDoubtful ? "" : "primary"}
              aria-busy={stage === "sending"}
              aria-disabled={!isRead}
              disabled={stage === "looking"}
            />
            {isUnknown && <UnknownActions {...{ pesel, stage }} onLeave={() => askToLeave(true)} />}
            {stage === "asked" && <Button label={texts.cancel} class="plain" onClick={cancel} />}
            <span role="status">{stage === "sending" ? texts.sent : isEarly && texts.notConfirmed}</span>
          </>
        )}
      </p>
    </form>
  );
}

interface UnknownActionsProps {
  readonly pesel: string;
  readonly stage: OrderState["stage"];
  readonly onLeave: () => void;
}

/** The buttons for an order of unknown outcome that do not send it again. */
function UnknownActions({ pesel, stage, onLeave }: UnknownActionsProps) {
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

/** The box for the reason of an order that has one. */
function Reason({ order, isFixed }: { readonly order: Order; readonly isFixed: boolean }) {
  const { desk, texts } = useApp();
  const { pesel, key } = order;
  const { reason } = order.body as { readonly reason?: string };
  if (reason === undefined) return null;
  return (
    <fieldset disabled={isFixed}>
      <Field
        label={texts.reason}
        value={reason}
        required
        refusal={reason.trim() === "" ? texts.reasonMissing : undefined}
        maxLength={200}
        onValue={(typed) => void desk.tell(pesel, { is: "gives reason", key, reason: typed })}
      />
    </fieldset>
  );
}

interface ChangesProps {
  readonly pesel: string;
  readonly kinds: readonly ("closing" | "block" | "unblock")[];
}

/** A button for each change of the account as a whole. */
export function Changes({ pesel, kinds }: ChangesProps) {
  const { desk, texts } = useApp();
  const isOut = desk.isOut(pesel);
  return (
    <p class="actions">
      {kinds.map((kind) => (
        <Button
          key={kind}
          label={texts.changeAccount[kind]}
          disabled={isOut}
          onClick={() => void desk.ask(pesel, change(kind, pesel))}
        />
      ))}
    </p>
  );
}
