import { useState } from "preact/hooks";
import type { PositionJson } from "../../wire/ledger.ts";
import { useApp, useGet, usePlnAtBid } from "../app.ts";
import { Button, figures, ReadState, Table, Tile } from "../elements.tsx";
import { Field } from "../field.tsx";
import { instantOf, warsawTime } from "../format.ts";
import { fill } from "../texts.ts";
import { Accounting } from "./accounting.tsx";
import { HouseCash } from "./house-cash.tsx";
import { Trading } from "./trading.tsx";

/** A currency of the position, and what it is worth. Undefined without a bid. */
type PositionRow = PositionJson["currencies"][number] & {
  readonly customersInPln: number | undefined;
  readonly houseInPln: number | undefined;
};

/** The position: money that customers hold, the house's open position, and the spread earned. */
export function Position() {
  const { format, reads, texts } = useApp();
  /** By the clocks in Poland, as the box has it: "2026-06-08T12:00"; "" for now. */
  const [typedTime, setTypedTime] = useState("");
  const latest = warsawTime(new Date());
  const isFuture = typedTime > latest;
  const at = typedTime === "" ? undefined : instantOf(typedTime).toISOString();
  const read = useGet<PositionJson>(isFuture ? undefined : "api/position", { at });
  const { value, isLoading, failure, time } = read;
  const plnAtBid = usePlnAtBid();
  const rows = (value?.currencies ?? [])
    .map((row): PositionRow => {
      const inPln = (amount: number | string) => plnAtBid(row.symbol, Number(amount));
      return { ...row, customersInPln: inPln(row.customers), houseInPln: inPln(row.house) };
    })
    .sort((a, b) => Math.abs(b.houseInPln ?? 0) - Math.abs(a.houseInPln ?? 0));
  // The rates are those of now: a past position has no value at them.
  const isPriced = at === undefined && rows.every(({ houseInPln }) => houseInPln !== undefined);
  const sum = (of: (row: PositionRow) => number | undefined) =>
    format.amount(
      rows.reduce((total, row) => total + (of(row) ?? 0), 0),
      "PLN",
    );
  const foreign = ({ symbol, houseInPln = 0 }: PositionRow) => (symbol === "PLN" ? 0 : Math.abs(houseInPln));
  return (
    <main id="main" tabIndex={-1}>
      <section class="card">
        <div class="actions">
          <h2>{texts.position}</h2>
          <Field
            type="datetime-local"
            label={texts.positionAt}
            max={latest}
            value={typedTime}
            onValue={setTypedTime}
          />
          <Button label={texts.now} aria-pressed={at === undefined} onClick={() => setTypedTime("")} />
          <Button label={texts.refresh} aria-busy={isLoading} onClick={() => reads.refresh("api/position")} />
        </div>
        {isFuture ? <p role="alert">{texts.notYet}</p> : <ReadState read={read} />}
        {value !== undefined && (
          <>
            {failure === undefined && time !== undefined && (
              <p role="status">{fill(texts.readAt, format.time(at ?? time.toISOString()))}</p>
            )}
            <dl class="tiles">
              <Tile label={texts.spread} value={`${format.amount(value.spreadEarned.amount, "PLN")} PLN`} />
              {isPriced && (
                <>
                  <Tile label={texts.openPosition} value={`${sum(foreign)} PLN`} title={texts.openHint} />
                  <Tile label={texts.held} value={`${sum(({ customersInPln }) => customersInPln)} PLN`} />
                </>
              )}
            </dl>
            {!isPriced && <p class="muted">{at === undefined ? texts.noBids : texts.pastUnpriced}</p>}
            <Currencies rows={rows} isPriced={isPriced} />
          </>
        )}
      </section>
      <Trading />
      <HouseCash />
      <Accounting />
    </main>
  );
}

interface CurrenciesProps {
  readonly rows: readonly PositionRow[];
  readonly isPriced: boolean;
}

function Currencies({ rows, isPriced }: CurrenciesProps) {
  const { format, texts } = useApp();
  const columns = [texts.customers, texts.house, texts.inDrawer, texts.atBank];
  const priced = isPriced ? [texts.inPln] : [];
  return (
    <Table
      class="position"
      label={texts.position}
      columns={[texts.currency, ...[...columns, ...priced].map((label) => figures(label))]}
      hasRowHeads
      rows={rows.map(({ symbol, houseInPln = 0, ...amounts }) => ({
        key: symbol,
        cells: [
          symbol,
          ...(["customers", "house", "cash", "bank"] as const).map((of) =>
            format.amount(amounts[of], symbol),
          ),
          ...(isPriced ? [format.amount(houseInPln, "PLN")] : []),
        ],
      }))}
    />
  );
}
