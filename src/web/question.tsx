import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { housePlaceOf } from "../core/house.ts";
import type { EntryKind } from "../core/journal.ts";
import type { ListedAccountJson } from "../wire/accounts.ts";
import type { MoneyJson } from "../wire/fields.ts";
import { useApp, useCustomer, useFailureText, useGet } from "./app.ts";
import { heldOf } from "./balances.tsx";
import { isUnknown, type Order, type OrderState, orderOut, type Told } from "./customer.ts";
import { accountUrl } from "./desk.ts";
import { Button, type Fact, Facts } from "./elements.tsx";
import { takeFocus, useFocusReturn } from "./focus.ts";
import { groupedPesel, sum } from "./format.ts";
import { fill } from "./texts.ts";

/** An order's holder, the money that leaves and comes, and the balances after it. */
function OrderFacts({ order }: { readonly order: Order }) {
  const { texts, format } = useApp();
  const { kind, pesel, holder, renamed, undone } = order;
  const { note } = order.body as { readonly note?: string };
  const isHouse = housePlaceOf(pesel) !== undefined;
  const account = useGet<ListedAccountJson>(isHouse ? undefined : accountUrl(pesel)).value;
  const changes = account === undefined ? [] : balanceChanges(account, order);
  // If the order may have been done, the balances may already be those after it.
  const isOut = orderOut(useCustomer(pesel)) !== undefined;
  const facts: readonly Fact[] = [
    [texts.holder, `${holder.name} ${holder.surname} · ${groupedPesel(pesel)}`],
    [texts.newName, renamed && `${renamed.name} ${renamed.surname}`],
    [texts.reverses, undone && `${texts.kind[undone.kind]}, ${format.time(undone.time)}`],
    [texts.out, order.out && `−${format.money(order.out)}`],
    [texts.in, order.in && `+${format.money(order.in)}`],
    [texts.note, note],
    ...(isOut ? [] : changes).map(
      ({ symbol, before, after }): Fact => [
        fill(texts.balanceIn, symbol),
        before === after
          ? format.money({ symbol, amount: before })
          : `${format.amount(before, symbol)} → ${format.money({ symbol, amount: after }).replace("-", "−")}`,
      ],
    ),
  ];
  const isBlocked =
    !isOut &&
    account?.blocked === true &&
    (order.out !== undefined || kind === "closing" || kind === "block");
  const isShort = !isOut && changes.some(({ after }) => after < 0);
  const isFull = !isOut && kind === "closing" && changes.some(({ before }) => before !== 0);
  return (
    <>
      <Facts class="facts figures" of={facts} />
      {isBlocked && <p role="alert">{texts.blockedAccount}</p>}
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

/** The words of a message. */
function useToldText(): (told: Told) => string {
  const { texts } = useApp();
  const failureText = useFailureText();
  return (told) => ("text" in told ? texts[told.text] : failureText(told.failure));
}

interface AskedProps {
  readonly pesel: string;
  readonly kinds: readonly EntryKind[];
  /** The label of the button that carries the order out. */
  readonly label: string;
  readonly children?: ComponentChildren;
}

/** The question about an order of these kinds until it is settled, and the message about it. */
export function Asked(props: AskedProps) {
  const { at, told } = useCustomer(props.pesel);
  const toldText = useToldText();
  if (at !== undefined && at.stage !== "asking" && props.kinds.includes(at.order.kind)) {
    return <Question key={at.order.key} {...props} at={at} told={told && toldText(told.what)} />;
  }
  return told !== undefined && props.kinds.includes(told.kind) ? (
    <p role="alert">{toldText(told.what)}</p>
  ) : null;
}

interface QuestionProps extends AskedProps {
  readonly at: Exclude<OrderState, { stage: "asking" }>;
  readonly told: string | undefined;
}

/** An order's facts, what is known of it, and what can be done about it. */
function Question({ pesel, label, children, at, told }: QuestionProps) {
  const { desk, texts } = useApp();
  const { order, stage } = at;
  /** Whether the teller is asked whether to give the order up, although it may still be done. */
  const [isLeaving, setLeaving] = useState(false);
  const notice = isLeaving ? texts.mayStillBeDone : isUnknown(at) && texts.outcomeUnknown;
  const button = useRef<HTMLButtonElement>(null);
  useFocusReturn();
  useLayoutEffect(() => {
    if (children === undefined) takeFocus(button.current);
  }, []);
  const cancel = () => stage === "asked" && desk.tell(pesel, { is: "cancels" });
  return (
    <section
      class="asked"
      aria-label={texts.kind[order.kind]}
      onKeyDown={({ key }) => key === "Escape" && cancel()}
    >
      <OrderFacts order={order} />
      {children}
      {(notice || told) && <p role="alert">{[notice, !isLeaving && told].filter(Boolean).join(" ")}</p>}
      <p class="actions">
        {isLeaving ? (
          <>
            <Button label={texts.stay} class="primary" onClick={() => setLeaving(false)} />
            <Button
              label={texts.giveUp}
              class="plain"
              onClick={() => desk.tell(pesel, { is: "gives up", key: order.key })}
            />
          </>
        ) : (
          <button
            ref={button}
            type="button"
            class="primary"
            aria-busy={stage === "sending"}
            onClick={() => void desk.confirm(pesel, order.key)}
          >
            {label}
          </button>
        )}
        {!isLeaving && isUnknown(at) && (
          <>
            <Button
              label={texts.lookUp}
              class="plain"
              aria-busy={stage === "looking"}
              onClick={() => void desk.look(pesel)}
            />
            <Button
              label={texts.leave}
              class="plain"
              disabled={stage !== "unknown"}
              onClick={() => setLeaving(true)}
            />
          </>
        )}
        {stage === "asked" && <Button label={texts.cancel} class="plain" onClick={cancel} />}
      </p>
    </section>
  );
}
