import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { EntryJson } from "../wire/entry-schemas.ts";
import { movedBy } from "../wire/statement-csv.ts";
import { useApp } from "./app.ts";
import { mayTakeFocus } from "./focus.ts";
import { groupedPesel } from "./format.ts";
import { printOnly } from "./print.ts";

interface ReceiptProps {
  readonly entry: EntryJson;
  readonly holder: { readonly name: string; readonly surname: string };
  readonly onClose: () => void;
}

/** One entry, as it is given to the customer. */
export function Receipt({ entry, holder, onClose }: ReceiptProps) {
  const { texts, format } = useApp();
  const region = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (mayTakeFocus()) region.current?.focus();
  }, [entry.id]);
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => (isPrinting ? printOnly("receipt", () => setPrinting(false)) : undefined), [isPrinting]);
  const moved = movedBy(entry);
  const exchange = entry.kind === "exchange" ? entry : undefined;
  const note = "note" in entry ? entry.note : "reason" in entry ? entry.reason : null;
  const by = "by" in entry && typeof entry.by === "string" ? entry.by : undefined;
  const facts: readonly (readonly [string, string | undefined])[] = [
    [texts.spent, moved.out && format.money(moved.out)],
    [texts.gained, moved.in && format.money(moved.in)],
    [texts.bid, exchange?.bid == null ? undefined : format.rate(exchange.bid)],
    [texts.ask, exchange?.ask == null ? undefined : format.rate(exchange.ask)],
    [texts.table, exchange && `${exchange.table} ${texts.effective} ${format.date(exchange.effectiveDate)}`],
    [texts.noted, note ?? undefined],
    [texts.reverses, entry.kind === "reversal" ? entry.reverses : undefined],
    [texts.reversedBy, "reversedBy" in entry ? (entry.reversedBy ?? undefined) : undefined],
    [texts.holder, `${holder.name} ${holder.surname}`],
    [texts.pesel, groupedPesel(entry.pesel)],
    [texts.time, format.time(entry.time)],
    [texts.doneBy, by],
    [texts.number, entry.id],
    [texts.balancesAfter, entry.currencies.map((money) => format.money(money)).join(", ")],
  ];
  return (
    <section
      class="card receipt"
      aria-label={texts.receipt}
      ref={region}
      tabIndex={-1}
      onKeyDown={({ key }) => key === "Escape" && onClose()}
    >
      <h3>
        {texts.receipt} · {texts.kind[entry.kind]}
      </h3>
      <dl>
        {facts.map(
          ([label, value]) =>
            value !== undefined && (
              <div key={label}>
                <dt>{label}</dt>
                <dd class={label === texts.spent || label === texts.gained ? "figures strong" : "figures"}>
                  {value}
                </dd>
              </div>
            ),
        )}
      </dl>
      <p class="actions">
        <button type="button" onClick={() => setPrinting(true)}>
          {texts.print}
        </button>
        <button type="button" class="plain" onClick={onClose}>
          {texts.close}
        </button>
      </p>
    </section>
  );
}
