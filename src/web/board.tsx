import { useEffect, useRef, useState } from "preact/hooks";
import type { RatesJson, RateTablesJson } from "../wire/rates.ts";
import { useApp, useGet } from "./app.ts";
import { History, Sparkline } from "./chart.tsx";
import { Button, Columns, Part } from "./elements.tsx";

type RateShown = RatesJson["rates"][number];

const trendDays = 30;

/** All currencies of the table: bid and ask, what changed since the table before, and how it went. */
export function Board() {
  const { rates, reads, texts } = useApp();
  const tableId = useRef(rates?.tableId);
  useEffect(() => {
    if (tableId.current !== rates?.tableId) reads.stale("api/rates/");
    tableId.current = rates?.tableId;
  }, [rates?.tableId]);
  const [opened, setOpened] = useState<string>();
  const trends = trendsOf(useGet<RateTablesJson>("api/rates/history", { days: trendDays }).value);
  const previous = new Map(rates?.previous?.rates.map((rate) => [rate.symbol, rate]));
  return (
    <section class="card board">
      <table aria-label={texts.rates}>
        <caption>{texts.rates}</caption>
        <Columns
          of={[
            texts.currency,
            { number: texts.bid, title: texts.bidHint },
            { number: texts.ask, title: texts.askHint },
            { number: texts.change },
            texts.trend,
          ]}
        />
        <tbody>
          {rates?.rates.map((rate) => (
            <RateRow
              key={rate.symbol}
              rate={rate}
              trend={trends.get(rate.symbol)}
              before={previous.get(rate.symbol)}
              isOpened={opened === rate.symbol}
              onOpen={() => setOpened(opened === rate.symbol ? undefined : rate.symbol)}
            />
          ))}
        </tbody>
      </table>
      {opened !== undefined && (
        <Part key={opened}>
          <History code={opened} onClose={() => setOpened(undefined)} />
        </Part>
      )}
    </section>
  );
}

/** The middle of bid and ask by currency, rate table by rate table. */
function trendsOf(history: RateTablesJson | undefined): ReadonlyMap<string, readonly number[]> {
  const trends = new Map<string, number[]>();
  for (const { rates } of history?.tables ?? []) {
    for (const { symbol, bid, ask } of rates) {
      const trend = trends.get(symbol);
      if (trend === undefined) trends.set(symbol, [(bid + ask) / 2]);
      else trend.push((bid + ask) / 2);
    }
  }
  return trends;
}

interface RateRowProps {
  readonly rate: RateShown;
  readonly trend: readonly number[] | undefined;
  readonly before: RateShown | undefined;
  readonly isOpened: boolean;
  readonly onOpen: () => void;
}

function RateRow({ rate, trend = [], before, isOpened, onOpen }: RateRowProps) {
  const { format } = useApp();
  const { symbol, name, bid, ask } = rate;
  const change = before === undefined ? undefined : (bid + ask) / (before.bid + before.ask) - 1;
  return (
    <tr>
      <th scope="row">
        <Button label={symbol} class="code" aria-expanded={isOpened} title={name} onClick={onOpen} />
      </th>
      <td class="number">{format.rate(bid)}</td>
      <td class="number">{format.rate(ask)}</td>
      <td class={`number ${change === undefined || change === 0 ? "" : change > 0 ? "good" : "bad"}`}>
        {change === undefined ? "–" : format.change(change)}
      </td>
      <td class="trend">
        <Sparkline values={trend} />
      </td>
    </tr>
  );
}
