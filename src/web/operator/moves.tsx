import { type CurrencyCode, pln } from "../../core/currency.ts";
import { formatDecimal } from "../../core/decimal.ts";
import { knownDigits, type Money, minorUnitsOf } from "../../core/money.ts";
import { useApp } from "../app.ts";
import type { LineResult } from "./batch-run.ts";
import type { BatchTexts } from "./batch-texts.ts";

/** What the lines of a batch take from accounts and bring to them, for each currency. */
export function Moves({
  results,
  texts,
}: {
  readonly results: readonly LineResult[];
  readonly texts: BatchTexts;
}) {
  const { format, texts: common } = useApp();
  const sums = sumsOf(results);
  if (sums.size === 0) return null;
  const amount = (minor: bigint, currency: CurrencyCode) => {
    const digits = knownDigits(currency);
    return minor === 0n
      ? "–"
      : `${format.decimal(formatDecimal({ coefficient: minor, scale: digits }, digits))} ${currency}`;
  };
  return (
    <table class="moves">
      <caption>{texts.moves}</caption>
      <thead>
        <tr>
          <th scope="col">{common.currency}</th>
          <th scope="col" class="number">
            {texts.out}
          </th>
          <th scope="col" class="number">
            {texts.in}
          </th>
        </tr>
      </thead>
      <tbody>
        {[...sums].map(([currency, { out, into }]) => (
          <tr key={currency}>
            <th scope="row">{currency}</th>
            <td class="number">{amount(out, currency)}</td>
            <td class="number">{amount(into, currency)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type Sums = Map<CurrencyCode, { out: bigint; into: bigint }>;

/** Of the lines that are done now, or would be. */
function sumsOf(results: readonly LineResult[]): Sums {
  const sums: Sums = new Map();
  const add = (money: Money | undefined, side: "out" | "into") => {
    if (money === undefined) return;
    const sum = sums.get(money.currency) ?? { out: 0n, into: 0n };
    sum[side] += money.minor;
    sums.set(money.currency, sum);
  };
  for (const result of results) {
    if (result.state !== "done") continue;
    const { request } = result.line;
    add(result.sold, "out");
    add(result.bought, "into");
    if (request instanceof Error || request.kind === "exchange") continue;
    const [currency, amount] =
      request.kind === "opening"
        ? ([pln, request.initial] as const)
        : ([request.currency, request.amount] as const);
    const minor = minorUnitsOf(amount, knownDigits(currency)) ?? 0n;
    if (minor > 0n) add({ currency, minor }, request.kind === "withdrawal" ? "out" : "into");
  }
  return sums;
}
