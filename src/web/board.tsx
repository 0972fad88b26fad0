import { useState } from "preact/hooks";
import type { RatesJson, RateTablesJson } from "../wire/rates.ts";
import { useApp, useGet } from "./app.ts";
import { History, Sparkline } from "./chart.tsx";
import { Button, figures, Part, Table } from "./elements.tsx";

type RateShown = RatesJson["rates"][number];

const trendDays = 30;

/** All currencies of the table: bid and ask, what changed since the table before, and how it went. */
export function Board() {
  const { format, rates, texts } = useApp();
  const [opened, setOpened] = useState<string>();
  const history = useGet<RateTablesJson>("api/rates/history", { days: trendDays }).value;
  const previous = new Map(rates?.previous?.rates.map((rate) => [rate.symbol, rate]));
  const cellsOf = (rate: RateShown) => {
    const { symbol, name, bid, ask } = rate;
    const isOpened = opened === symbol;
    const open = () => setOpened(isOpened ? undefined : symbol);
    return [
      <Button key="code" label={symbol} class="code" aria-expanded={isOpened} title={name} onClick={open} />,
      format.rate(bid),
      format.rate(ask),
      <Change key="change" from={previous.get(symbol)} to={rate} />,
      <Sparkline key="trend" values={history === undefined ? [] : trendOf(symbol, history)} />,
    ];
  };
  return (
    <section class="card board">
      <Table
        label={texts.rates}
        caption={texts.rates}
        columns={[
          texts.currency,
          figures(texts.bid, texts.bidHint),
          figures(texts.ask, texts.askHint),
          figures(texts.change),
          { label: texts.trend, class: "trend" },
        ]}
        hasRowHeads
        rows={(rates?.rates ?? []).map((rate) => ({ key: rate.symbol, cells: cellsOf(rate) }))}
      />
      {opened !== undefined && (
        <Part key={opened}>
          <History code={opened} onClose={() => setOpened(undefined)} />
        </Part>
      )}
    </section>
  );
}

/** The middle of a currency's bid and ask, rate table by rate table. */
function trendOf(symbol: string, { tables }: RateTablesJson): readonly number[] {
  const own = tables.flatMap(({ rates }) => rates.filter((rate) => rate.symbol === symbol));
  return own.map(({ bid, ask }) => (bid + ask) / 2);
}

/** The change of the middle of bid and ask. */
function Change({ from, to }: { readonly from: RateShown | undefined; readonly to: RateShown }) {
  const { format } = useApp();
  if (from === undefined) return "–";
  const change = (to.bid + to.ask) / (from.bid + from.ask) - 1;
  return <span class={change === 0 ? "" : change > 0 ? "good" : "bad"}>{format.change(change)}</span>;
}
