import type { AccountJson } from "../wire/accounts.ts";
import type { MoneyJson } from "../wire/fields.ts";
import { useApp, usePlnAtBid } from "./app.ts";
import { Columns } from "./elements.tsx";

/** The balance of an account in one currency. */
export function heldOf({ currencies }: Pick<AccountJson, "currencies">, currency: string): number {
  return currencies.find(({ symbol }) => symbol === currency)?.amount ?? 0;
}

/** Balances with their value in PLN at bid, for which the bank would buy them now. */
export function Balances({ currencies }: { readonly currencies: readonly MoneyJson[] }) {
  const { texts, format } = useApp();
  const plnAtBid = usePlnAtBid();
  const values = currencies.map(({ symbol, amount }) => plnAtBid(symbol, amount));
  // A sum without the currencies that the table lacks would be taken for the whole.
  const total = values.reduce<number | undefined>(
    (sum, value) => (sum === undefined || value === undefined ? undefined : sum + value),
    0,
  );
  return (
    <section class="card balances">
      <table aria-label={texts.balances}>
        <caption>{texts.balances}</caption>
        <Columns of={[texts.currency, { number: texts.balance }, { number: texts.inPln }]} />
        <tbody>
          {currencies.map(({ symbol, amount }, index) => (
            <tr key={symbol}>
              <th scope="row">{symbol}</th>
              <td class="number">{format.amount(amount, symbol)}</td>
              <td class="number muted">
                {values[index] === undefined ? "–" : format.amount(values[index], "PLN")}
              </td>
            </tr>
          ))}
        </tbody>
        {currencies.length > 1 && (
          <tfoot>
            <tr>
              <th scope="row">{texts.total}</th>
              <td class="number" colSpan={2}>
                {total === undefined ? "–" : format.amount(total, "PLN")}
              </td>
            </tr>
          </tfoot>
        )}
      </table>
    </section>
  );
}
