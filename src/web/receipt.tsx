import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { housePlaceOf } from "../core/house.ts";
import type { EntryJson } from "../wire/entries.ts";
import { isOfBlock, movedBy, noteOf } from "../wire/statement-csv.ts";
import { useApp, useCustomer, useGet, useMay, useOrderWords, useTask, useTold } from "./app.ts";
import { Download } from "./download.tsx";
import { Button, type Fact, Facts, Part, ReadState } from "./elements.tsx";
import { isTyping, takeFocus, useFocusReturn } from "./focus.ts";
import { groupedPesel } from "./format.ts";
import { Letterhead, Signatures } from "./paper.tsx";
import { printOnly } from "./print.ts";
import { fill, holderText, type Texts } from "./texts.ts";
import { rateText } from "./ticket.tsx";

/** The labels of the money that left the account and of what came to it, which say who gave it to whom. */
function movementLabels({ kind }: EntryJson, texts: Texts): readonly [string, string] {
  if (kind === "exchange") return [texts.customerPaid, texts.customerReceived];
  return kind === "reversal" ? [texts.out, texts.in] : [texts.paidOut, texts.paidIn];
}

interface ReceiptInSightProps {
  readonly pesel: string;
  /** The element from which it was asked for. */
  readonly asker: Element | null | undefined;
}

/** The receipt in sight of a customer, or of an account of the house; until it is read, and without one, what was done. */
export function ReceiptInSight({ pesel, asker }: ReceiptInSightProps) {
  const { desk, texts } = useApp();
  const wordsOf = useOrderWords();
  const { done, receiptId } = useCustomer(pesel);
  useTold(done?.key);
  const read = useGet<EntryJson>(receiptId ? receiptUrl(receiptId) : undefined);
  const entry = read.value;
  const close = () => void desk.tell(pesel, { is: "shows receipt", receiptId: undefined });
  if (entry === undefined) {
    if (done === undefined) return <ReadState read={read} />;
    return (
      <p class="card" role="status">
        {fill(texts.orderDone, wordsOf(done))} <Button label={texts.close} class="plain" onClick={close} />
      </p>
    );
  }
  return (
    <Part key={entry.id}>
      <Receipt entry={entry} asker={asker} onClose={close} />
    </Part>
  );
}

const receiptUrl = (id: string) => `api/receipts/${id}`;

interface ReceiptProps {
  readonly entry: EntryJson;
  readonly asker: Element | null | undefined;
  readonly onClose: () => void;
}

/** One entry, as it is given to the customer. */
function Receipt({ entry, asker, onClose }: ReceiptProps) {
  const { reads, texts, format } = useApp();
  /** The entry as it is when it is printed: it may have been reversed. */
  const newest = useTask<EntryJson>(entry.id);
  const mayProve = useMay("operator");
  const region = useRef<HTMLElement>(null);
  useFocusReturn(asker);
  useLayoutEffect(() => {
    // Whoever types the next order already goes on with it.
    if (!isTyping()) takeFocus(region.current, asker);
  }, []);
  useEffect(() => {
    if (newest.value !== undefined) printOnly("receipt");
  }, [newest.value]);
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
    [
      "reason" in entry ? texts.reason : texts.note,
      note === null ? undefined : <span class={isOfBlock(entry) ? "off-paper" : ""}>{note}</span>,
    ],
    [texts.reverses, entry.kind === "reversal" ? entry.reverses : undefined],
    [texts.reversedBy, "reversedBy" in entry ? (entry.reversedBy ?? undefined) : undefined],
    [texts.holder, holderText(entry, texts)],
    [texts.pesel, groupedPesel(entry.pesel) || undefined],
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
      {newest.failure !== undefined && <ReadState read={newest} />}
      <Signatures ofHouse={housePlaceOf(entry.pesel) !== undefined} />
      <div class="actions">
        <Button
          label={texts.print}
          aria-busy={newest.isLoading}
          onClick={() => newest.run(() => reads.fresh(receiptUrl(entry.id)))}
        />
        {mayProve && (
          <Download
            label={texts.saveProof}
            title={texts.proofHint}
            url={`${receiptUrl(entry.id)}/proof`}
            name={`${entry.id}.proof`}
            type="application/json"
          />
        )}
        <Button label={texts.close} class="plain" onClick={onClose} />
      </div>
    </section>
  );
}
