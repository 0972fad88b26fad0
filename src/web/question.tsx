import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { EntryKind } from "../core/journal.ts";
import type { ListedAccountJson, MoneyJson } from "../wire/schemas.ts";
import { useApp, useCustomer, useFailureText, useGet } from "./app.ts";
import { type Order, type OrderState, orderOf, orderOut, type Told } from "./customer.ts";
import { accountUrl } from "./desk.ts";
import { mayTakeFocus } from "./focus.ts";
import { groupedPesel } from "./format.ts";

/** Whom an order is for, what leaves and what comes, and the balances after it. */
export function Facts({ order }: { readonly order: Order }) {
  const { texts, format } = useApp();
  const { kind, pesel, holder, renamed, undone } = order;
  const { note } = order.body as { readonly note?: string };
  const account = useGet<ListedAccountJson>(accountUrl(pesel)).value;
  const changes = account === undefined ? [] : balanceChanges(account, order);
  // Of an order that may have been done, the balances may be those after it.
  const isOut = orderOut(useCustomer(pesel)) !== undefined;
  const facts = [
    [texts.holder, `${holder.name} ${holder.surname} · ${groupedPesel(pesel)}`],
    [texts.newName, renamed && `${renamed.name} ${renamed.surname}`],
    [texts.reverses, undone && `${texts.kind[undone.kind]}, ${format.time(undone.time)}`],
    [texts.out, order.out && `−${format.money(order.out)}`],
    [texts.in, order.in && `+${format.money(order.in)}`],
    [texts.noted, note],
    ...(isOut ? [] : changes).map(({ symbol, before, after }) => [
      `${texts.balance} ${symbol}`,
      before === after
        ? format.money({ symbol, amount: before })
        : `${format.amount(before, symbol)} → ${format.money({ symbol, amount: after }).replace("-", "−")}`,
    ]),
  ] as const;
  const isShort = !isOut && changes.some(({ after }) => after < 0);
  const isFull = !isOut && kind === "closing" && changes.some(({ before }) => before !== 0);
  return (
    <>
      <dl class="facts figures">
        {facts.map(
          ([label, value]) =>
            value !== undefined && (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
      </dl>
      {(isShort || isFull) && <p role="alert">{isShort ? texts.notEnough : texts.notEmpty}</p>}
    </>
  );
}

interface BalanceChange {
  readonly symbol: string;
  readonly before: number;
  readonly after: number;
}

/** The balances that an order changes; of a closing, all of them. */
function balanceChanges({ currencies }: ListedAccountJson, order: Order): readonly BalanceChange[] {
  const held = (symbol: string) => currencies.find((each) => each.symbol === symbol)?.amount ?? 0;
  const moved = (money: MoneyJson | undefined, symbol: string) =>
    money?.symbol === symbol ? money.amount : 0;
  const symbols =
    order.kind === "closing"
      ? currencies.map(({ symbol }) => symbol)
      : new Set([order.out, order.in].flatMap((money) => money?.symbol ?? []));
  return [...symbols].map((symbol) => {
    const before = held(symbol);
    return { symbol, before, after: sum(before, moved(order.in, symbol), -moved(order.out, symbol)) };
  });
}

/** Of amounts with two decimals at most, without what doubles add to them. */
function sum(...amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + Math.round(amount * 100), 0) / 100;
}

/** What was told, for the reader. */
export function useToldText(): (told: Told) => string {
  const { texts } = useApp();
  const failureText = useFailureText();
  return (told) => ("text" in told ? texts[told.text] : failureText(told.failure));
}

interface AskedProps {
  readonly pesel: string;
  readonly kinds: readonly EntryKind[];
  /** Of the button that carries it out. */
  readonly label: string;
  /** What is sent instead of the order's own body. */
  readonly body?: object;
  readonly children?: ComponentChildren;
}

/**
 * The question before an order of these kinds, until it is settled: its facts, what became of it so far, and what can
 * be done about it. Nothing where there is no such order.
 */
export function Asked({ pesel, kinds, label, body, children }: AskedProps) {
  const { desk, texts } = useApp();
  const customer = useCustomer(pesel);
  const { at, told } = customer;
  const toldText = useToldText();
  const button = useRef<HTMLButtonElement>(null);
  const order = orderOf(customer, kinds);
  useLayoutEffect(() => {
    if (order !== undefined && children === undefined && mayTakeFocus()) button.current?.focus();
  }, [order?.key]);
  if (at === undefined || order === undefined) {
    return told !== undefined && kinds.includes(told.kind) ? <p role="alert">{toldText(told.what)}</p> : null;
  }
  return (
    <div class="asked">
      <Facts order={order} />
      {children}
      {told !== undefined && <p role="alert">{toldText(told.what)}</p>}
      <p class="actions">
        {at.stage === "leaving" ? (
          <Leaving pesel={pesel} order={order} />
        ) : (
          <button
            type="button"
            class="primary"
            ref={button}
            aria-busy={at.stage === "sending"}
            onClick={() => void desk.confirm(pesel, order.key, body)}
          >
            {label}
          </button>
        )}
        <Unsettled pesel={pesel} at={at} order={order} />
        {at.stage === "asked" && (
          <button type="button" class="plain" onClick={() => desk.tell(pesel, { is: "cancels" })}>
            {texts.cancel}
          </button>
        )}
      </p>
    </div>
  );
}

interface ActionsProps {
  readonly pesel: string;
  readonly order: Order;
}

/** What can be done about an order of unknown outcome, beside sending it again. */
function Unsettled({ pesel, order: { key }, at }: ActionsProps & { readonly at: OrderState }) {
  const { desk, texts } = useApp();
  const mayLook = at.stage === "unknown" || at.stage === "looking" || (at.stage === "sending" && at.isRepeat);
  if (!mayLook) return null;
  return (
    <>
      <button
        type="button"
        class="plain"
        aria-busy={at.stage === "looking"}
        onClick={() => void desk.look(pesel)}
      >
        {texts.lookUp}
      </button>
      <button type="button" class="plain" onClick={() => desk.tell(pesel, { is: "leaves", key })}>
        {texts.leave}
      </button>
    </>
  );
}

/** Asks whether an order is given up that may still be done. */
function Leaving({ pesel, order: { key } }: ActionsProps) {
  const { desk, texts } = useApp();
  return (
    <>
      <button type="button" class="primary" onClick={() => desk.tell(pesel, { is: "stays", key })}>
        {texts.stay}
      </button>
      <button type="button" class="plain" onClick={() => desk.tell(pesel, { is: "gives up", key })}>
        {texts.giveUp}
      </button>
    </>
  );
}
