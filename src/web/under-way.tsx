import { housePlaceOf } from "../core/house.ts";
import { useApp } from "./app.ts";
import type { Served } from "./counter.tsx";
import type { Order } from "./customer.ts";
import { openingForm } from "./drafts.ts";
import { Button } from "./elements.tsx";
import { digitsOf } from "./format.ts";
import type { View } from "./header.tsx";
import type { AuditJob } from "./operator/audit.tsx";
import type { BatchJob } from "./operator/batch-job.ts";
import { fill } from "./texts.ts";

interface UnderWayProps {
  readonly view: View;
  readonly served: Served;
  readonly batch: BatchJob;
  readonly audit: AuditJob;
  readonly onServe: (served: Served) => void;
  readonly onView: (view: View) => void;
}

/** Banners about work under way that is not in sight. */
export function UnderWay({ view, served, batch, audit, onServe, onView }: UnderWayProps) {
  const { desk, texts, format } = useApp();
  const isInSight = ({ kind, pesel }: Order) => {
    if (housePlaceOf(pesel) !== undefined) return view === "position";
    if (view !== "counter") return false;
    return served.isOpening
      ? kind === "opening" && digitsOf(desk.draft(openingForm).pesel) === pesel
      : kind !== "opening" && pesel === served.pesel;
  };
  const show = (order: Order) => {
    const { kind, pesel, holder } = order;
    if (housePlaceOf(pesel) !== undefined) return onView("position");
    const isOpening = kind === "opening";
    if (isOpening) desk.edit(openingForm, { ...holder, pesel, initial: String(order.in?.amount ?? "") });
    onServe({ pesel: isOpening ? served.pesel : pesel, isOpening });
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
            <Button label={texts.show} class="plain" onClick={() => onView(name)} />
          </div>
        ))}
    </>
  );
}
