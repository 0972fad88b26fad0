import { useLayoutEffect, useRef } from "preact/hooks";
import type { EntryJson } from "../wire/entries.ts";
import { movedBy, noteOf } from "../wire/statement-csv.ts";
import { useApp, useMay } from "./app.ts";
import { Download } from "./download.tsx";
import { Button, type Fact, Facts } from "./elements.tsx";
import { takeFocus, useFocusReturn } from "./focus.ts";
import { groupedPesel } from "./format.ts";
import { Letterhead, Signatures } from "./paper.tsx";
import { printOnly } from "./print.ts";
import { isOfBlock } from "./statement.tsx";
import { fill, type Texts } from "./texts.ts";
import { rateText } from "./ticket.tsx";

/** The labels of the money that left the account and of what came to it, which say who gave it to whom. */
function movementLabels({ kind }: EntryJson, texts: Texts): readonly [string, string] {
  if (kind === "exchange") return [texts.customerSold, texts.customerBought];
  return kind === "reversal" ? [texts.out, texts.in] : [texts.paidOut, texts.paidIn];
}

interface ReceiptProps {
  readonly entry: EntryJson;
  readonly onClose: () => void;
}

/** One entry, as it is given to the customer. */
export function Receipt({ entry, onClose }: ReceiptProps) {
  const { texts, format } = useApp();
  const mayProve = useMay("operator");
  const region = useRef<HTMLElement>(null);
  useFocusReturn();
  useLayoutEffect(() => takeFocus(region.current), [entry.id]);
  const moved = movedBy(entry);
  const exchange = entry.kind === "exchange" ? entry : undefined;
  const note = noteOf(entry);
  const by = "by" in entry && typeof entry.by === "string" ? entry.by : undefined;
  const [outLabel, inLabel] = movementLabels(entry, texts);
  const facts: readonly Fact[] = [
    [outLabel, moved.out && <strong>{format.money(moved.out)}</strong>],
    [inLabel, moved.in && <strong>{format.money(moved.in)}</strong>],
    [texts.rate, exchange && rateText(exchange, format)],
    [texts.table, exchange && `${exchange.table}, ${format.date(exchange.effectiveDate)}`],
    [texts.note, note === null ? undefined : <span class={isOfBlock(entry) ? "off-paper" : ""}>{note}</span>],
    [texts.reverses, entry.kind === "reversal" ? entry.reverses : undefined],
    [texts.reversedBy, "reversedBy" in entry ? (entry.reversedBy ?? undefined) : undefined],
    [texts.holder, `${entry.name} ${entry.surname}`],
    [texts.pesel, groupedPesel(entry.pesel)],
    [texts.time, format.time(entry.time)],
    [texts.doneBy, by],
    [texts.number, fill(texts.entryOf, entry.id, format.count(entry.sequence))],
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
      <Letterhead />
      <h3>
        {texts.receipt} · {texts.kind[entry.kind]}
      </h3>
      <Facts class="figures" of={facts} />
      <Signatures />
      <div class="actions">
        <Button label={texts.print} onClick={() => printOnly("receipt")} />
        {mayProve && (
          <Download
            label={texts.saveProof}
            title={texts.proofHint}
            url={`api/receipts/${entry.id}/proof`}
            name={`${entry.id}.proof`}
            type="application/json"
          />
        )}
        <Button label={texts.close} class="plain" onClick={onClose} />
      </div>
    </section>
  );
}
