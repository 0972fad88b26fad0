import type { PositionJson } from "../../wire/schemas.ts";
import { useApp, useFailureText, useLatest } from "../app.ts";

/** What customers hold, what the house is long or short, and what the spread earned. */
export function Position() {
  const { api, texts, format, rates } = useApp();
  const failureText = useFailureText();
  const { value, failure, isLoading, reload } = useLatest<PositionJson>(
    (signal) => api.get("api/position", {}, signal),
    [],
  );
  const bids = new Map(rates?.rates.map(({ symbol, bid }) => [symbol, bid]));
  bids.set("PLN", 1);
  const inPln = (symbol: string, amount: string) => Number(amount) * (bids.get(symbol) ?? 0);
  const most = Math.max(
    1,
    ...(value?.currencies ?? []).map((each) => Math.abs(inPln(each.symbol, each.house))),
  );
  return (
    <main id="main" tabIndex={-1}>
      <section class="card">
        <div class="actions">
          <h2>{texts.position}</h2>
          <button type="button" aria-busy={isLoading} onClick={reload}>
            {texts.retry}
          </button>
        </div>
        {failure !== undefined && <p role="alert">{failureText(failure)}</p>}
        {value !== undefined && (
          <>
            <p>
              {texts.spread}:{" "}
              <strong class="figures">{`${format.decimal(value.spreadEarned.amount)} ${value.spreadEarned.symbol}`}</strong>
            </p>
            <table aria-label={texts.position}>
              <thead>
                <tr>
                  <th scope="col">{texts.currency}</th>
                  <th scope="col" class="number">
                    {texts.customers}
                  </th>
                  <th scope="col" class="number">
                    {texts.house}
                  </th>
                  <th scope="col">{texts.inPln}</th>
                </tr>
              </thead>
              <tbody>
                {value.currencies.map(({ symbol, customers, house }) => (
                  <tr key={symbol}>
                    <th scope="row">{symbol}</th>
                    <td class="number">{format.decimal(customers)}</td>
                    <td class="number">{format.decimal(house)}</td>
                    <td>
                      <Bar share={inPln(symbol, house) / most} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </>
        )}
      </section>
    </main>
  );
}

/** From the middle to the right where the house is long, to the left where it is short. */
function Bar({ share }: { readonly share: number }) {
  const width = Math.abs(share) * 50;
  return (
    <svg class="position-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <line x1="50" x2="50" y1="0" y2="10" />
      <rect
        class={share < 0 ? "short" : "long"}
        x={share < 0 ? 50 - width : 50}
        y="2"
        width={width}
        height="6"
      />
    </svg>
  );
}
