import { housePlaceOf } from "../core/house.ts";
import { useApp } from "./app.ts";
import type { Order } from "./customer.ts";
import { openingForm } from "./drafts.ts";
import { Button } from "./elements.tsx";
import { digitsOf } from "./format.ts";
import { fill } from "./texts.ts";

/** Banners about work under way that is not in sight. */
export function UnderWay() {
  const { desk, batch, audit, texts, format, place, go } = useApp();
  const { view, isOpening } = place;
  const isInSight = ({ kind, pesel }: Order) => {
    if (housePlaceOf(pesel) !== undefined) return view === "position";
    if (view !== "counter") return false;
    return isOpening
      ? kind === "opening" && digitsOf(desk.draft(openingForm).pesel) === pesel
      : kind !== "opening" && pesel === place.pesel;
  };
  const show = (order: Order) => {
    const { kind, pesel, holder } = order;
    if (housePlaceOf(pesel) !== undefined) return go({ view: "position" });
    if (kind === "opening")
      desk.edit(openingForm, { ...holder, pesel, initial: String(order.in?.amount ?? "") });
    go({ view: "counter", ...(kind === "opening" ? { isOpening: true } : { pesel, isOpening: false }) });
  };
  const jobs = [
    { name: "batch", isBusy: batch.isBusy },
    { name: "audit", isBusy: audit.progress !== undefined },
  ] as const;
  return (
    <>
      {desk.out
        .filter((order) => !isInSight(order))
        .map((order) => (
          <div key={order.key} class="banner warn" role="status">
            {fill(
              texts.notSettled,
              [
                texts.kind[order.kind],
                `${order.holder.name} ${order.holder.surname}`,
                order.renamed && `→ ${order.renamed.name} ${order.renamed.surname}`,
                order.out && `−${format.money(order.out)}`,
                order.in && `+${format.money(order.in)}`,
              ]
                .filter(Boolean)
                .join(" · "),
            )}{" "}
            <Button label={texts.show} class="plain" onClick={() => show(order)} />
          </div>
        ))}
      {jobs
        .filter(({ name, isBusy }) => isBusy && name !== view)
        .map(({ name }) => (
          <div key={name} class="banner" role="status">
            {fill(texts.goesOn, texts[name])}{" "}
            <Button label={texts.show} class="plain" onClick={() => go({ view: name })} />
          </div>
        ))}
    </>
  );
}
