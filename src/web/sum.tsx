import type { MoneyJson } from "../wire/schemas.ts";
import type { Format } from "./format.ts";

interface SumProps {
  readonly money: MoneyJson;
  readonly format: Format;
  readonly sign?: string;
}

/** An amount, whose currency goes to the next line where there is no room for both. */
export function Sum({ money: { symbol, amount }, format, sign = "" }: SumProps) {
  return (
    <>
      <span class="sum">
        {sign}
        {format.amount(amount, symbol)}
      </span>{" "}
      {symbol}
    </>
  );
}
