import type { PositionJson } from "../../wire/schemas.ts";
import { useApp, useGet, usePlnAtBid } from "../app.ts";
import { Unread } from "../unread.tsx";
import { operatorTexts } from "./operator-texts.ts";
import { Tile } from "./tile.tsx";

/** A currency of the position, and what it is worth. Undefined without a bid. */
interface PositionRow {
  readonly symbol: string;
  readonly customers: string;
  readonly house: string;
  readonly customersInPln: number | undefined;
  readonly houseInPln: number | undefined;
}

/** What customers hold, what the house is long or short, and what the spread earned. */
export function Position() {
  const { reads, texts, format, language } = useApp();
  const own = operatorTexts[language];
  const read = useGet<PositionJson>("api/position");
  const { value, isLoading } = read;
  const plnAtBid = usePlnAtBid();
  const rows = (value?.currencies ?? [])
    .map(({ symbol, customers, house }): PositionRow => {
      const inPln = (amount: string) => plnAtBid(symbol, Number(amount));
      return { symbol, customers, house, customersInPln: inPln(customers), houseInPln: inPln(house) };
    })
    .sort((a, b) => Math.abs(b.houseInPln ?? 0) - Math.abs(a.houseInPln ?? 0));
  const isPriced = rows.every(({ houseInPln }) => houseInPln !== undefined);
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
          <button type="button" aria-busy={isLoading} onClick={() => reads.stale("api/position")}>
            {own.refresh}
          </button>
        </div>
        <Unread read={read} />
        {value !== undefined && (
          <>
            <dl class="tiles">
              <Tile
                label={texts.spread}
                value={`${format.decimal(value.spreadEarned.amount)} ${value.spreadEarned.symbol}`}
              />
              {isPriced && (
                <>
                  <Tile label={own.openPosition} value={`${sum(foreign)} PLN`} title={own.openHint} />
                  <Tile label={own.held} value={`${sum(({ customersInPln }) => customersInPln)} PLN`} />
                </>
              )}
            </dl>
            {!isPriced && <p class="muted">{own.noBids}</p>}
            <Currencies rows={rows} isPriced={isPriced} />
          </>
        )}
      </section>
    </main>
  );
}

/** A table that is a chart: each row's bar goes from the middle to the right where the house is long. */
function Currencies({
  rows,
  isPriced,
}: {
  readonly rows: readonly PositionRow[];
  readonly isPriced: boolean;
}) {
  const { texts, format, language } = useApp();
  const own = operatorTexts[language];
  const scale = niceAbove(Math.max(1, ...rows.map(({ houseInPln = 0 }) => Math.abs(houseInPln))));
  const tick = (value: number) => format.decimal(String(value));
  return (
    <table class="position" aria-label={texts.position}>
      <thead>
        <tr>
          <th scope="col">{texts.currency}</th>
          <th scope="col" class="number">
            {texts.customers}
          </th>
          <th scope="col" class="number">
            {texts.house}
          </th>
          {isPriced && (
            <>
              <th scope="col" class="number">
                {texts.inPln}
              </th>
              <th scope="col" class="scale figures">
                <span>{`${tick(-scale)} ${own.short}`}</span>
                <span>0</span>
                <span>{`${own.long} ${tick(scale)}`}</span>
              </th>
            </>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ symbol, customers, house, houseInPln }) => (
          <tr key={symbol}>
            <th scope="row">{symbol}</th>
            <td class="number">{format.decimal(customers)}</td>
            <td class="number">{format.decimal(house)}</td>
            {houseInPln !== undefined && isPriced && (
              <>
                <td class="number">{format.amount(houseInPln, "PLN").replace("-", "−")}</td>
                <td class="bar-cell">
                  <Bar share={houseInPln / scale} />
                </td>
              </>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The next of 1, 2 or 5 times a power of ten. */
function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}

function Bar({ share }: { readonly share: number }) {
  // What is there is seen.
  const width = share === 0 ? 0 : Math.max(0.5, Math.abs(share) * 50);
  return (
    <svg class="position-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      {[25, 50, 75].map((x) => (
        <line key={x} class={x === 50 ? "zero" : ""} x1={x} x2={x} y1="0" y2="10" />
      ))}
      <rect
        class={share < 0 ? "short" : "long"}
        x={share < 0 ? 50 - width : 50}
        y="1.5"
        width={width}
        height="7"
      />
    </svg>
  );
}
