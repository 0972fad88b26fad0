import { useEffect, useState } from "preact/hooks";
import type { AccountJson } from "../wire/accounts.ts";
import type { QuoteJson } from "../wire/exchanges.ts";
import { useApp, useCustomer, useFailureText, useGet } from "./app.ts";
import { heldOf } from "./balances.tsx";
import { orderOf, orderOut, type TicketDraft } from "./customer.ts";
import { quoteUrl, type Wish } from "./desk.ts";
import { Button, Sum } from "./elements.tsx";
import { AmountField, CurrencyField } from "./field.tsx";
import { type Format, typedAmount } from "./format.ts";
import { Asked } from "./question.tsx";
import type { Read } from "./reads.ts";
import { fill } from "./texts.ts";

const pauseMs = 150;

type ExchangeWish = Extract<Wish, { kind: "exchange" }>;

interface TicketProps {
  readonly account: AccountJson;
}

/** An order for one exchange: typed, quoted while it is typed, and carried out at the quoted table or not at all. */
export function Ticket({ account }: TicketProps) {
  const { desk, texts } = useApp();
  const { pesel } = account;
  const customer = useCustomer(pesel);
  const { at, ticket } = customer;
  const { from, to, side, typed } = ticket;
  /** The ticket that could not be asked for as it is. */
  const [refused, setRefused] = useState<TicketDraft>();
  const order = orderOf(customer, ["exchange"]);
  const isOut = orderOut(customer) !== undefined;
  const amount = typedAmount(typed, currencyOf(ticket));
  const wish: ExchangeWish | undefined =
    "amount" in amount && from !== to
      ? { kind: "exchange", from, to, side, amount: amount.amount }
      : undefined;
  const wrong = "fault" in amount ? texts.amountFault[amount.fault] : undefined;
  const fault = refused !== ticket ? undefined : from === to ? texts.sameCurrency : wrong;
  const ask = () => {
    setRefused(ticket);
    if (wish === undefined) desk.tell(pesel, { is: "cancels" });
    else void desk.ask(pesel, wish);
  };
  return (
    <section class="card ticket" aria-label={texts.ticket}>
      <form
        noValidate
        onSubmit={() => {
          if (order === undefined && at?.stage !== "asking") ask();
        }}
      >
        <fieldset class="pair" disabled={isOut}>
          <Wanted account={account} isTold={fault !== undefined} />
        </fieldset>
        <Price account={account} wish={wish} />
        {fault !== undefined && <p role="alert">{fault}</p>}
        <Asked pesel={pesel} kinds={["exchange"]} label={texts.confirm} />
        <p class="actions" hidden={order !== undefined}>
          <button
            type="submit"
            class="primary"
            disabled={isOut}
            aria-busy={at?.stage === "asking" && at.kind === "exchange"}
          >
            {texts.exchange}
          </button>
        </p>
      </form>
    </section>
  );
}

/** The currency in which the amount is typed. */
function currencyOf({ from, to, side }: TicketDraft): string {
  return side === "toBuy" ? to : from;
}

/** The fields of the ticket. */
function Wanted({ account, isTold }: TicketProps & { readonly isTold: boolean }) {
  const { desk, texts, format } = useApp();
  const { ticket } = useCustomer(account.pesel);
  const { from, to, side, typed } = ticket;
  const held = { symbol: from, amount: heldOf(account, from) };
  const edit = (change: Partial<TicketDraft>) =>
    void desk.tell(account.pesel, { is: "typed", ticket: change });
  return (
    <>
      <CurrencyField label={texts.from} value={from} onValue={(value) => edit({ from: value })} />
      <Button
        label="⇄"
        class="swap"
        aria-label={texts.swap}
        title={texts.swap}
        onClick={() => edit({ from: to, to: from })}
      />
      <CurrencyField label={texts.to} value={to} onValue={(value) => edit({ to: value })} />
      <div class="sides">
        {(["toBuy", "toSell"] as const).map((each) => (
          <label key={each}>
            <input type="radio" name="side" checked={side === each} onChange={() => edit({ side: each })} />
            {each === "toBuy" ? texts.buy : texts.sell}
          </label>
        ))}
        {held.amount > 0 && (
          <Button
            label={fill(texts.allOfIt, format.money(held))}
            class="plain"
            onClick={() => edit({ side: "toSell", typed: format.typed(held.amount, from) })}
          />
        )}
      </div>
      <div class="amount">
        <AmountField
          label={texts.amount}
          value={typed}
          onValue={(value) => edit({ typed: value })}
          data-key="amount"
          currency={currencyOf(ticket)}
          isTold={isTold}
        />
        <span class="unit" aria-hidden="true">
          {currencyOf(ticket)}
        </span>
      </div>
    </>
  );
}

/** The price of what is typed, once nobody has typed for a moment. */
function useQuote(url: string | undefined): Read<QuoteJson> {
  const { rates, reads } = useApp();
  const [asked, setAsked] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setAsked(url), pauseMs);
    return () => clearTimeout(timer);
  }, [url]);
  useEffect(() => reads.stale("api/quote"), [rates?.tableId]);
  return useGet<QuoteJson>(asked === url ? asked : undefined);
}

/** The price. It has its place before it is known, so that nothing moves when it comes. */
function Price({ account, wish }: TicketProps & { readonly wish: ExchangeWish | undefined }) {
  const { texts, format } = useApp();
  const failureText = useFailureText();
  const customer = useCustomer(account.pesel);
  const { told } = customer;
  const order = orderOf(customer, ["exchange"]);
  // A refusal stands beside the price that was refused, and beside no later one.
  const refused = told?.kind === "exchange" && "failure" in told.what ? told : undefined;
  const isTyped = order === undefined && refused === undefined;
  const { value, failure } = useQuote(wish && isTyped ? quoteUrl(wish) : undefined);
  const quote = order?.quote ?? refused?.quote ?? value;
  const held = { symbol: wish?.from ?? "", amount: wish === undefined ? 0 : heldOf(account, wish.from) };
  const cost = wish?.side === "toSell" ? wish.amount : wish && quote?.sold.amount;
  const hint = failure === undefined ? isTyped && texts.quoteHint : failureText(failure);
  const sumOf = (money: QuoteJson["sold"] | undefined) =>
    money === undefined ? "–" : <Sum money={money} format={format} />;
  return (
    <>
      <div class={order === undefined ? "price" : "price fixed"} aria-live="polite">
        <dl>
          <div>
            <dt>{texts.paid}</dt>
            <dd class="figures">{sumOf(quote?.sold)}</dd>
          </div>
          <div>
            <dt>{texts.received}</dt>
            <dd class="figures">
              <strong>{sumOf(quote?.bought)}</strong>
            </dd>
          </div>
        </dl>
        <p class="muted figures">
          {quote === undefined ? (
            hint
          ) : (
            <>
              {fill(texts.rateIs, rateText(quote, format))}
              <br />
              {fill(texts.tableOf, quote.table, format.date(quote.effectiveDate))}
            </>
          )}
        </p>
      </div>
      {isTyped && cost !== undefined && cost > held.amount && (
        <p class="fault" role="status">
          {fill(texts.onlyHeld, format.money(held))}
        </p>
      )}
    </>
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
