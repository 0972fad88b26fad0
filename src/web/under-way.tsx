import { useApp, useWatched } from "./app.ts";
import type { Served } from "./counter.tsx";
import type { Order } from "./customer.ts";
import type { View } from "./header.tsx";
import type { AuditJob } from "./operator/audit.tsx";
import type { BatchJob } from "./operator/batch-job.ts";

interface UnderWayProps {
  readonly view: View;
  readonly served: Served;
  readonly batch: BatchJob | undefined;
  readonly audit: AuditJob;
  readonly onServe: (served: Served) => void;
  readonly onView: (view: View) => void;
}

/** What is under way and not in sight, wherever the teller goes. */
export function UnderWay({ view, served, batch, audit, onServe, onView }: UnderWayProps) {
  const { desk, texts, format } = useApp();
  useWatched((onChange) => desk.watch(onChange), [desk]);
  useWatched(batch && ((onChange) => batch.watch(onChange)), [batch]);
  const isInSight = ({ kind, pesel }: Order) =>
    view === "counter" &&
    (served.isOpening
      ? kind === "opening" && desk.opening.pesel.replace(/\s/g, "") === pesel
      : kind !== "opening" && pesel === served.pesel);
  const show = (order: Order) => {
    const { kind, pesel, holder, key } = order;
    const isOpening = kind === "opening";
    if (isOpening) desk.setOpening({ ...holder, pesel, initial: String(order.in?.amount ?? ""), key });
    onServe({ pesel: isOpening ? served.pesel : pesel, isOpening });
  };
  const jobs = [
    { name: "batch", isBusy: batch?.isBusy === true },
    { name: "audit", isBusy: audit.progress !== undefined },
  ] as const;
  return (
    <>
      {desk.out
        .filter((order) => !isInSight(order))
        .map((order) => (
          <div key={order.key} class="banner warn" role="status">
            {`${texts.notSettled} ${[
              texts.kind[order.kind],
              `${order.holder.name} ${order.holder.surname}`,
              order.renamed && `${texts.newName}: ${order.renamed.name} ${order.renamed.surname}`,
              order.out && `−${format.money(order.out)}`,
              order.in && `+${format.money(order.in)}`,
            ]
              .filter(Boolean)
              .join(" · ")}`}{" "}
            <button type="button" class="plain" onClick={() => show(order)}>
              {texts.show}
            </button>
          </div>
        ))}
      {jobs
        .filter(({ name, isBusy }) => isBusy && name !== view)
        .map(({ name }) => (
          <div key={name} class="banner" role="status">
            {`${texts.goesOn} ${texts[name]}`}{" "}
            <button type="button" class="plain" onClick={() => onView(name)}>
              {texts.show}
            </button>
          </div>
        ))}
    </>
  );
}
