import { housePlaceOf } from "../core/house.ts";
import { useApp, useFailureText, useOrderWords } from "./app.ts";
import type { Order } from "./customer.ts";
import { newHolder } from "./desk.ts";
import { Button } from "./elements.tsx";
import { digitsOf } from "./format.ts";
import { type View, viewsOf } from "./place.ts";
import { tradingNumber } from "./requests.ts";
import { fill } from "./texts.ts";

function viewOf({ pesel }: Order): View {
  return pesel === tradingNumber || housePlaceOf(pesel) !== undefined ? "position" : "counter";
}

/** Banners about work under way elsewhere, and about outcomes of orders that were not shown yet. */
export function UnderWay() {
  const { desk, batch, audit, caller, texts, place, go } = useApp();
  const views = viewsOf(caller.role);
  const failureText = useFailureText();
  const wordsOf = useOrderWords();
  const { view } = place;
  const show = (order: Order, isDone = false) => {
    const { kind, pesel, holder } = order;
    if (viewOf(order) === "position")
      return go({ view: "position", house: housePlaceOf(pesel) ?? place.house });
    // Once an account is open, its opening is in sight with it, and no longer in the form.
    const isForm = kind === "opening" && !isDone;
    // An edit of what is in the form already would take away the message about it.
    const isFilled = digitsOf(desk.draft(newHolder).pesel) === pesel;
    if (isForm && !isFilled) desk.edit(newHolder, { ...holder, pesel, sum: String(order.in?.amount ?? "") });
    go({ view: "counter", ...(isForm ? { isOpening: true } : { pesel, isOpening: false }) });
  };
  const showButton = (to: View, onClick: () => void) =>
    views.includes(to) && <Button label={texts.show} class="plain" onClick={onClick} />;
  const hasBrokenOff = views.includes("audit") && typeof audit.end === "object" && "failure" in audit.end;
  const jobs = [
    { name: "batch", text: batch.isBusy && texts.goesOn },
    { name: "batch", text: batch.state.step === "stopped" && texts.notFinished },
    { name: "audit", text: audit.progress !== undefined && texts.goesOn },
    { name: "audit", text: hasBrokenOff && texts.notFinished },
  ] as const;
  return (
    <>
      {desk.outOfSight.map((order) => (
        <div key={order.key} class="banner warn" role="status">
          {fill(texts.notSettled, wordsOf(order))} {showButton(viewOf(order), () => show(order))}
        </div>
      ))}
      {desk.outcomes.map(({ order, ...end }) => {
        const isDone = "receiptId" in end;
        const { done, message } = desk.customer(order.pesel);
        const isToldThere = [done?.key, message?.key].includes(order.key);
        const showIt = () => {
          show(order, isDone);
          if (!isToldThere) desk.dismiss(order.key);
        };
        return (
          <div key={order.key} class={isDone ? "banner" : "banner warn"} role="status">
            {isDone
              ? fill(texts.orderDone, wordsOf(order))
              : fill(texts.orderRefused, wordsOf(order), failureText(end.failure))}{" "}
            {showButton(viewOf(order), showIt)}
            <Button label={texts.close} class="plain" onClick={() => desk.dismiss(order.key)} />
          </div>
        );
      })}
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
