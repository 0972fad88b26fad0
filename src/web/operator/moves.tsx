import { type LineOutcome, sumsOf } from "../../batch/moves.ts";
import type { CurrencyCode } from "../../core/currency.ts";
import { formatDecimal } from "../../core/decimal.ts";
import { knownDigits } from "../../core/money.ts";
import { useApp } from "../app.ts";
import type { BatchTexts } from "./batch-texts.ts";

/** What the lines of a batch take from accounts and bring to them, for each currency. */
export function Moves({
  results,
  texts,
}: {
  readonly results: readonly LineOutcome[];
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
