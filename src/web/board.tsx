import { useEffect, useRef, useState } from "preact/hooks";
import type { RateHistoryJson, RatesJson } from "../wire/schemas.ts";
import { useApp, useGet } from "./app.ts";
import { History, Sparkline } from "./chart.tsx";

type RateShown = RatesJson["rates"][number];

const sparklineDays = 30;

/** All currencies of the table: bid and ask, what changed since the table before, and how it went. */
export function Board() {
  const { rates, reads, texts } = useApp();
  const tableId = useRef(rates?.tableId);
  useEffect(() => {
    if (tableId.current !== rates?.tableId) reads.stale("api/rates/");
    tableId.current = rates?.tableId;
  }, [rates?.tableId]);
  const [opened, setOpened] = useState<string>();
  const previous = new Map(rates?.previous?.rates.map((rate) => [rate.symbol, rate]));
  return (
    <section class="card board">
      <table aria-label={texts.rates}>
        <caption>{texts.rates}</caption>
        <thead>
          <tr>
            <th scope="col">{texts.currency}</th>
            <th scope="col" class="number" title={texts.bidHint}>
              {texts.bid}
            </th>
            <th scope="col" class="number" title={texts.askHint}>
              {texts.ask}
            </th>
            <th scope="col" class="number">
              {texts.change}
            </th>
            <th scope="col">{texts.trend}</th>
          </tr>
        </thead>
        <tbody>
          {rates?.rates.map((rate) => (
            <RateRow
              key={rate.symbol}
              rate={rate}
              before={previous.get(rate.symbol)}
              isOpened={opened === rate.symbol}
              onOpen={() => setOpened(opened === rate.symbol ? undefined : rate.symbol)}
            />
          ))}
        </tbody>
      </table>
      {opened !== undefined && <History code={opened} onClose={() => setOpened(undefined)} />}
    </section>
  );
}

interface RateRowProps {
  readonly rate: RateShown;
  readonly before: RateShown | undefined;
  readonly isOpened: boolean;
  readonly onOpen: () => void;
}

function RateRow({ rate, before, isOpened, onOpen }: RateRowProps) {
  const { format } = useApp();
  const { symbol, name, bid, ask } = rate;
  const history = useGet<RateHistoryJson>(`api/rates/${symbol}/history`, { days: sparklineDays });
  const change = before === undefined ? undefined : (bid + ask) / (before.bid + before.ask) - 1;
  return (
    <tr>
      <th scope="row">
        <button type="button" class="code" aria-expanded={isOpened} title={name} onClick={onOpen}>
          {symbol}
        </button>
      </th>
      <td class="number">{format.rate(bid)}</td>
      <td class="number">{format.rate(ask)}</td>
      <td class={`number ${change === undefined || change === 0 ? "" : change > 0 ? "up" : "down"}`}>
        {change === undefined ? "–" : format.change(change)}
      </td>
      <td class="trend">
        <Sparkline values={history.value?.rates.map((each) => (each.bid + each.ask) / 2) ?? []} />
      </td>
    </tr>
  );
}
