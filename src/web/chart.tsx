import { useEffect, useRef, useState } from "preact/hooks";
import type { RateHistoryJson } from "../wire/rates.ts";
import { useApp, useGet } from "./app.ts";
import { Button, ReadState } from "./elements.tsx";
import { useFocusReturn } from "./focus.ts";
import { fill } from "./texts.ts";

/** The points of a line through `values`, in a box of 100 by 100 whose bottom is `least` and whose top is `most`. */
function pointsOf(values: readonly number[], least: number, most: number): string {
  const range = most - least || 1;
  const step = 100 / Math.max(1, values.length - 1);
  // A point alone would not be drawn.
  const ends = values.length === 1 ? [...values, ...values] : values;
  return ends
    .map(
      (value, index) => `${(index * step).toFixed(2)},${(100 - ((value - least) / range) * 100).toFixed(2)}`,
    )
    .join(" ");
}

/** A line without figures. */
export function Sparkline({ values }: { readonly values: readonly number[] }) {
  return (
    <svg class="sparkline" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
      {values.length > 1 && <polyline points={pointsOf(values, Math.min(...values), Math.max(...values))} />}
    </svg>
  );
}

const spans = [
  { days: 31, count: 1, unit: "month" },
  { days: 92, count: 3, unit: "month" },
  { days: 366, count: 1, unit: "year" },
  { days: 1827, count: 5, unit: "year" },
] as const;

/** Both sides of one currency, rate table by rate table. */
export function History({ code, onClose }: { readonly code: string; readonly onClose: () => void }) {
  const { texts, format } = useApp();
  const [days, setDays] = useState<number>(92);
  const history = useGet<RateHistoryJson>(`api/rates/${code}/history`, { days });
  const place = useRef<HTMLElement>(null);
  useFocusReturn();
  useEffect(() => place.current?.scrollIntoView({ block: "nearest" }), [code]);
  const title = fill(texts.ratesHistory, code);
  return (
    <section
      ref={place}
      class="history"
      onKeyDown={({ key }) => key === "Escape" && onClose()}
      aria-label={title}
    >
      <div class="actions">
        <h2>{title}</h2>
        {spans.map((span) => (
          <Button
            label={format.span(span.count, span.unit)}
            key={span.days}
            class="plain"
            aria-pressed={span.days === days}
            onClick={() => setDays(span.days)}
          />
        ))}
        <Button label={texts.close} class="plain" onClick={onClose} />
      </div>
      <ReadState read={history} />
      {history.value !== undefined && history.value.rates.length > 0 && (
        <BidAndAsk rates={history.value.rates} />
      )}
    </section>
  );
}

/** The next of 1, 2 or 5 times a power of ten. */
function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}

/** Labels along the days. */
const mostDays = 5;

function BidAndAsk({ rates }: { readonly rates: RateHistoryJson["rates"] }) {
  const { texts, format } = useApp();
  /** The rate table at the pointer, by its place in `rates`. */
  const [pointed, setPointed] = useState<number>();
  const last = rates.length - 1;
  const lowestBid = Math.min(...rates.map(({ bid }) => bid));
  const highestAsk = Math.max(...rates.map(({ ask }) => ask));
  const step = niceAbove((highestAsk - lowestBid) / 4 || 1);
  const bottom = Math.floor(lowestBid / step);
  const ticks = Array.from(
    { length: Math.ceil(highestAsk / step) - bottom + 1 },
    (_, nth) => (bottom + nth) * step,
  );
  const [least, most] = [ticks[0] ?? 0, ticks.at(-1) ?? 1];
  const count = Math.min(mostDays, rates.length);
  const days = Array.from({ length: count }, (_, nth) => rates[Math.round((nth * last) / (count - 1 || 1))]);
  const shown = rates[pointed ?? last];
  return (
    <>
      <div class="plot figures muted">
        <div class="levels">
          {ticks.toReversed().map((value) => (
            <span key={value}>{format.rate(value)}</span>
          ))}
        </div>
        <svg
          viewBox="0 0 100 100"
          preserveAspectRatio="none"
          aria-hidden="true"
          onPointerLeave={() => setPointed(undefined)}
          onPointerMove={({ currentTarget, clientX }) => {
            const { left, width } = currentTarget.getBoundingClientRect();
            setPointed(Math.min(last, Math.max(0, Math.round(((clientX - left) / width) * last))));
          }}
        >
          {ticks.map((value, nth) => {
            const y = 100 - (nth * 100) / (ticks.length - 1);
            return <line key={value} x1="0" x2="100" y1={y} y2={y} />;
          })}
          {pointed !== undefined && (
            <line x1={(pointed * 100) / (last || 1)} x2={(pointed * 100) / (last || 1)} y1="0" y2="100" />
          )}
          {(["bid", "ask"] as const).map((side) => (
            <polyline
              key={side}
              class={side}
              points={pointsOf(
                rates.map((rate) => rate[side]),
                least,
                most,
              )}
            />
          ))}
        </svg>
        <div class="days">
          {days.map((rate) => (
            <span key={rate?.table}>{rate && format.day(rate.effectiveDate, rates.length > 200)}</span>
          ))}
        </div>
      </div>
      <p class="figures legend">
        <span>{`${texts.table}: ${shown?.table ?? "–"}`}</span>
        {(["bid", "ask"] as const).map((side) => (
          <span key={side} class={side}>{`${texts[side]}: ${shown ? format.rate(shown[side]) : "–"}`}</span>
        ))}
      </p>
      <p class="muted figures">
        {rates[0] && `${fill(texts.sinceDay, format.date(rates[0].effectiveDate))} · `}
        {fill(texts.extremes, format.rate(lowestBid), format.rate(highestAsk))}
      </p>
    </>
  );
}
