import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { RateHistoryJson } from "../wire/schemas.ts";
import { useApp, useGet } from "./app.ts";
import { Unread } from "./unread.tsx";

const box = { width: 72, height: 20 };

/** How something went, without figures. */
export function Sparkline({ values }: { readonly values: readonly number[] }) {
  const least = Math.min(...values);
  const range = Math.max(...values) - least || 1;
  const step = box.width / Math.max(1, values.length - 1);
  const points = values.map(
    (value, index) =>
      `${(index * step).toFixed(1)},${(box.height - 1 - ((value - least) / range) * (box.height - 2)).toFixed(1)}`,
  );
  return (
    <svg
      class="sparkline"
      width={box.width}
      height={box.height}
      viewBox={`0 0 ${box.width} ${box.height}`}
      aria-hidden="true"
    >
      {values.length > 1 && <polyline points={points.join(" ")} />}
    </svg>
  );
}

const spans = [
  { days: 31, count: 1, unit: "month" },
  { days: 92, count: 3, unit: "month" },
  { days: 366, count: 1, unit: "year" },
  { days: 1827, count: 5, unit: "year" },
] as const;
const height = 220;
const noRates: RateHistoryJson["rates"] = [];

/** Both sides of one currency, table by table. */
export function History({ code, onClose }: { readonly code: string; readonly onClose: () => void }) {
  const { texts, format } = useApp();
  const [days, setDays] = useState<number>(92);
  const history = useGet<RateHistoryJson>(`api/rates/${code}/history`, { days });
  const place = useRef<HTMLElement>(null);
  useEffect(() => place.current?.scrollIntoView({ block: "nearest" }), [code]);
  const rates = history.value?.rates ?? noRates;
  return (
    <section
      ref={place}
      class="history"
      onKeyDown={({ key }) => key === "Escape" && onClose()}
      aria-label={`${texts.ratesHistory} ${code}`}
    >
      <div class="actions">
        <h2>
          {texts.ratesHistory} {code}
        </h2>
        {spans.map((span) => (
          <button
            key={span.days}
            type="button"
            class="plain"
            aria-pressed={span.days === days}
            onClick={() => setDays(span.days)}
          >
            {format.span(span.count, span.unit)}
          </button>
        ))}
        <button type="button" class="plain" onClick={onClose}>
          {texts.close}
        </button>
      </div>
      <Unread read={history} />
      <BidAndAsk rates={rates} />
      <p class="muted figures least-and-most">
        {rates.length > 0 &&
          `${texts.lowestBid} ${format.rate(Math.min(...rates.map(({ bid }) => bid)))} · ${texts.highestAsk} ${format.rate(Math.max(...rates.map(({ ask }) => ask)))}`}
      </p>
    </section>
  );
}

function BidAndAsk({ rates }: { readonly rates: RateHistoryJson["rates"] }) {
  const { texts, format, language } = useApp();
  const place = useRef<HTMLDivElement>(null);
  /** The table at the pointer, by its place in `rates`. */
  const [pointed, setPointed] = useState<number>();
  useEffect(() => {
    const element = place.current;
    if (element === null || rates.length === 0) return undefined;
    const isLong = rates.length > 200;
    const style = getComputedStyle(element);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const line = (stroke: string) => ({ stroke, width: 1.5 });
    const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 } };
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height,
        series: [{}, line(colour("--bid")), line(colour("--ask"))],
        // Its own legend writes into text nodes, which a browser's translation replaces.
        legend: { show: false },
        hooks: { setCursor: [({ cursor }) => setPointed(cursor.idx ?? undefined)] },
        axes: [
          {
            ...axis,
            values: (_plot, ticks) =>
              ticks.map((seconds) =>
                new Intl.DateTimeFormat(format.locale, {
                  ...(isLong ? { year: "numeric" } : { day: "numeric" }),
                  month: "short",
                  timeZone: "UTC",
                }).format(seconds * 1000),
              ),
          },
          { ...axis, size: 60, values: (_plot, ticks) => ticks.map((value) => format.rate(value)) },
        ],
      },
      [
        rates.map(({ effectiveDate }) => Date.parse(effectiveDate) / 1000),
        rates.map(({ bid }) => bid),
        rates.map(({ ask }) => ask),
      ],
      element,
    );
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [rates, language]);
  const shown = pointed === undefined ? undefined : rates[pointed];
  const sides = [
    ["bid", texts.bid, shown && format.rate(shown.bid)],
    ["ask", texts.ask, shown && format.rate(shown.ask)],
  ] as const;
  return (
    <>
      <div class="plot" ref={place} />
      <p class="figures legend">
        <span>{`${texts.table}: ${shown?.table ?? "–"}`}</span>
        {sides.map(([side, label, rate]) => (
          <span key={side} class={side}>{`${label}: ${rate ?? "–"}`}</span>
        ))}
      </p>
    </>
  );
}
