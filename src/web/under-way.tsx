import { useEffect } from "preact/hooks";
import { housePlaceOf } from "../core/house.ts";
import { useApp, useFailureText } from "./app.ts";
import type { Order } from "./customer.ts";
import { newHolder } from "./desk.ts";
import { Button } from "./elements.tsx";
import { digitsOf } from "./format.ts";
import { type View, viewsOf } from "./place.ts";
import { tradingNumber } from "./requests.ts";
import { fill, holderText } from "./texts.ts";

function viewOf({ pesel }: Order): View {
  return pesel === tradingNumber || housePlaceOf(pesel) !== undefined ? "position" : "counter";
}

/** Banners about work under way, and about the outcomes of orders, that are not in sight. */
export function UnderWay() {
  const { desk, batch, audit, caller, texts, format, place, go } = useApp();
  const views = viewsOf(caller.role);
  const failureText = useFailureText();
  const { view, isOpening } = place;
  // Once an account is open, its opening is in sight with it, and no longer in the form.
  const isInSight = (order: Order, isDone = false) => {
    const { kind, pesel } = order;
    if (view !== viewOf(order)) return false;
    if (view === "position") return true;
    return isOpening
      ? kind === "opening" && !isDone && digitsOf(desk.draft(newHolder).pesel) === pesel
      : (isDone || kind !== "opening") && pesel === place.pesel;
  };
  const show = (order: Order, isDone = false) => {
    const { kind, pesel, holder } = order;
    if (viewOf(order) === "position") return go({ view: "position" });
    const isForm = kind === "opening" && !isDone;
    // An edit of what is in the form already would take away the message about it.
    const isFilled = digitsOf(desk.draft(newHolder).pesel) === pesel;
    if (isForm && !isFilled) desk.edit(newHolder, { ...holder, pesel, sum: String(order.in?.amount ?? "") });
    go({ view: "counter", ...(isForm ? { isOpening: true } : { pesel, isOpening: false }) });
  };
  const showButton = (to: View, onClick: () => void) =>
    views.includes(to) && <Button label={texts.show} class="plain" onClick={onClick} />;
  const wordsOf = (order: Order) =>
    [
      texts.kind[order.kind],
      order.pesel !== tradingNumber && holderText({ ...order.holder, pesel: order.pesel }, texts),
      order.renamed && `→ ${order.renamed.name} ${order.renamed.surname}`,
      order.out && `−${format.money(order.out)}`,
      order.in && `+${format.money(order.in)}`,
      order.by !== caller.name && order.by,
    ]
      .filter(Boolean)
      .join(" · ");
  const outcomes = desk.outcomes.map((outcome) => {
    const isDone = "receiptId" in outcome;
    const text = isDone
      ? fill(texts.orderDone, wordsOf(outcome.order))
      : fill(texts.orderRefused, wordsOf(outcome.order), failureText(outcome.failure));
    return { order: outcome.order, isDone, text, isSeen: isInSight(outcome.order, isDone) };
  });
  useEffect(() => {
    for (const { order, isSeen } of outcomes) if (isSeen) desk.dismiss(order.key);
  });
  const hasBrokenOff = views.includes("audit") && typeof audit.end === "object" && "failure" in audit.end;
  const jobs = [
    { name: "batch", text: batch.isBusy && texts.goesOn },
    { name: "batch", text: batch.state.step === "stopped" && texts.notFinished },
    { name: "audit", text: audit.progress !== undefined && texts.goesOn },
    { name: "audit", text: hasBrokenOff && texts.notFinished },
  ] as const;
  return (
    <>
      {desk.out
        .filter((order) => !isInSight(order))
        .map((order) => (
          <div key={order.key} class="banner warn" role="status">
            {fill(texts.notSettled, wordsOf(order))} {showButton(viewOf(order), () => show(order))}
          </div>
        ))}
      {outcomes
        .filter(({ isSeen }) => !isSeen)
        .map(({ order, isDone, text }) => (
          <div key={order.key} class={isDone ? "banner" : "banner warn"} role="status">
            {text} {showButton(viewOf(order), () => show(order, isDone))}
            <Button label={texts.close} class="plain" onClick={() => desk.dismiss(order.key)} />
          </div>
        ))}
      {jobs
        .filter(({ name, text }) => text && name !== view)
        .map(({ name, text }) => (
          <div key={name} class="banner" role="status">
            {fill(text || "", texts[name])} {showButton(name, () => go({ view: name }))}
          </div>
        ))}
    </>
  );
}
