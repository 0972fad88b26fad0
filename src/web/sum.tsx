import type { MoneyJson } from "../wire/schemas.ts";
import { useApp } from "./app.ts";

interface SumProps {
  readonly money: MoneyJson;
  readonly sign?: string;
}

/** An amount, whose currency goes to the next line where there is no room for both. */
export function Sum({ money: { symbol, amount }, sign = "" }: SumProps) {
  const { format } = useApp();
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
