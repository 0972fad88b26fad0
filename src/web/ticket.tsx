import { useEffect, useState } from "preact/hooks";
import type { QuoteJson } from "../wire/schemas.ts";
import { useApp, useCustomer, useGet } from "./app.ts";
import { orderOf, orderOut, type TicketDraft } from "./customer.ts";
import { quoteUrl } from "./desk.ts";
import { CurrencyField, Field } from "./field.tsx";
import { type Format, typedAmount } from "./format.ts";
import { Asked } from "./question.tsx";
import { Sum } from "./sum.tsx";

const pauseMs = 150;

/** An order for one exchange: typed, quoted while it is typed, and carried out at the quoted table or not at all. */
export function Ticket({ pesel }: { readonly pesel: string }) {
  const { desk, texts } = useApp();
  const customer = useCustomer(pesel);
  const { at } = customer;
  const { from, to, side, typed } = customer.ticket;
  const [fault, setFault] = useState<string>();
  const order = orderOf(customer, ["exchange"]);

  const currency = side === "toBuy" ? to : from;
  const amount = typedAmount(typed, currency);
  const wrong =
    from === to ? texts.sameCurrency : "fault" in amount ? texts.amountFault[amount.fault] : undefined;
  const wish =
    "amount" in amount && from !== to
      ? ({ kind: "exchange", from, to, side, amount: amount.amount } as const)
      : undefined;
  const quote = useQuote(wish && order === undefined ? quoteUrl(wish) : undefined);

  const edit = (ticket: Partial<TicketDraft>) => {
    setFault(undefined);
    desk.tell(pesel, { is: "typed", ticket });
  };
  const ask = () => {
    setFault(wrong);
    if (wish === undefined) desk.tell(pesel, { is: "cancels" });
    else void desk.ask(pesel, wish);
  };

  return (
    <section class="card ticket" aria-label={texts.ticket}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (order === undefined && at?.stage !== "asking") ask();
        }}
      >
        <fieldset class="pair" disabled={orderOut(customer) !== undefined}>
          <CurrencyField label={texts.from} value={from} onValue={(value) => edit({ from: value })} />
          <button
            type="button"
            class="swap"
            aria-label={texts.swap}
            title={texts.swap}
            onClick={() => edit({ from: to, to: from })}
          >
            ⇄
          </button>
          <CurrencyField label={texts.to} value={to} onValue={(value) => edit({ to: value })} />
          <div class="sides">
            {(["toBuy", "toSell"] as const).map((each) => (
              <label key={each}>
                <input
                  type="radio"
                  name="side"
                  checked={side === each}
                  onChange={() => edit({ side: each })}
                />
                {each === "toBuy" ? texts.buy : texts.sell}
              </label>
            ))}
          </div>
          <div class="amount">
            <Field
              label={texts.amount}
              value={typed}
              onValue={(value) => edit({ typed: value })}
              inputMode="decimal"
              data-key="amount"
            />
            <span class="unit" aria-hidden="true">
              {currency}
            </span>
          </div>
        </fieldset>
        <Price quote={order?.quote ?? quote} isFixed={order !== undefined} />
        {fault !== undefined && <p role="alert">{fault}</p>}
        <Asked pesel={pesel} kinds={["exchange"]} label={texts.confirm} />
        {order === undefined && (
          <p class="actions">
            <button
              type="submit"
              class="primary"
              disabled={orderOut(customer) !== undefined}
              aria-busy={at?.stage === "asking" && at.kind === "exchange"}
            >
              {texts.exchange}
            </button>
          </p>
        )}
      </form>
    </section>
  );
}

/** The price of what is typed, once nobody has typed for a moment. */
function useQuote(url: string | undefined): QuoteJson | undefined {
  const { rates, reads } = useApp();
  const [asked, setAsked] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setAsked(url), pauseMs);
    return () => clearTimeout(timer);
  }, [url]);
  useEffect(() => reads.stale("api/quote"), [rates?.tableId]);
  return useGet<QuoteJson>(asked === url ? asked : undefined).value;
}
/** What is paid and received. It takes its place before it is known, so that nothing moves when it is. */
function Price({ quote, isFixed }: { readonly quote: QuoteJson | undefined; readonly isFixed: boolean }) {
  const { texts, format } = useApp();
  return (
    <div class={isFixed ? "price fixed" : "price"} aria-live="polite">
      <dl>
        <div>
          <dt>{texts.paid}</dt>
          <dd class="figures">{quote === undefined ? "–" : <Sum money={quote.sold} format={format} />}</dd>
        </div>
        <div>
          <dt>{texts.received}</dt>
          <dd class="figures strong">
            {quote === undefined ? "–" : <Sum money={quote.bought} format={format} />}
          </dd>
        </div>
      </dl>
      <p class="muted figures">
        {quote === undefined ? (
          texts.quoteHint
        ) : (
          <>
            {texts.rate} {rateText(quote, format)}
            <br />
            {texts.table} {quote.table} {texts.effective} {format.date(quote.effectiveDate)}
          </>
        )}
      </p>
    </div>
  );
}

/** As people say it: złotys for one unit of foreign money, or both sides of two foreign currencies. */
function rateText({ sold, bought, bid, ask, rate }: QuoteJson, format: Format): string {
  const one = (symbol: string, value: number, other: string) =>
    `1\u00a0${symbol} = ${format.rate(value)}\u00a0${other}`;
  if (bid === null && ask !== null) return one(bought.symbol, ask, "PLN");
  if (bid !== null && ask === null) return one(sold.symbol, bid, "PLN");
  const sides = [one(sold.symbol, bid ?? 1, "PLN"), one(bought.symbol, ask ?? 1, "PLN")];
  return `${one(sold.symbol, rate, bought.symbol)} (${sides.join(", ")})`;
}
