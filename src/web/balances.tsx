import type { AccountJson } from "../wire/accounts.ts";
import type { MoneyJson } from "../wire/fields.ts";
import { useApp, usePlnAtBid } from "./app.ts";
import { figures, Table } from "./elements.tsx";

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
  const inPln = (value: number | undefined) => (value === undefined ? "–" : format.amount(value, "PLN"));
  const foot = (
    <tr>
      <th scope="row">{texts.total}</th>
      <td class="number" colSpan={2}>
        {inPln(total)}
      </td>
    </tr>
  );
  return (
    <section class="card balances">
      <Table
        label={texts.balances}
        caption={texts.balances}
        columns={[texts.currency, figures(texts.balance), { label: texts.inPln, class: "number muted" }]}
        hasRowHeads
        rows={currencies.map(({ symbol, amount }, nth) => ({
          key: symbol,
          cells: [symbol, format.amount(amount, symbol), inPln(values[nth])],
        }))}
        foot={currencies.length > 1 ? foot : undefined}
      />
    </section>
  );
}
