import { useEffect, useState } from "preact/hooks";
import type { AccountJson } from "../wire/accounts.ts";
import type { ExchangeJson, QuoteJson } from "../wire/exchanges.ts";
import { useApp, useCodes, useCustomer, useGet } from "./app.ts";
import { heldOf } from "./balances.tsx";
import { orderOf } from "./customer.ts";
import type { Draft } from "./desk.ts";
import { Button, Facts, ReadState, Sum } from "./elements.tsx";
import { AllOfIt, AmountField, CurrencyField, useWrong } from "./field.tsx";
import { type Format, typedAmount } from "./format.ts";
import type { Read } from "./reads.ts";
import { type ExchangeTermsJson, quoteUrl } from "./requests.ts";
import { fill } from "./texts.ts";

const pauseMs = 150;

interface TicketProps {
  readonly account: AccountJson;
}

/** An order for one exchange: typed, quoted while it is typed, and carried out at the quoted table or not at all. */
export function Ticket({ account }: TicketProps) {
  const { desk, texts } = useApp();
  const { pesel } = account;
  const { at } = useCustomer(pesel);
  const ticket = desk.draft(pesel);
  const { from, to, side } = ticket;
  const isOut = desk.isOut(pesel);
  const amount = typedAmount(ticket.amount, currencyOf(ticket));
  const isPair = from !== to;
  const terms = "amount" in amount && isPair ? { from, to, side, amount: amount.amount } : undefined;
  const wrongAmount = "fault" in amount ? texts.amountFault[amount.fault] : undefined;
  const [fault, refuse] = useWrong(ticket, isPair ? wrongAmount : texts.sameCurrency);
  const ask = () => {
    if (terms === undefined) refuse();
    else void desk.askExchange(pesel, terms);
  };
  return (
    <section class="card ticket" aria-label={texts.ticket}>
      <form noValidate onSubmit={ask}>
        <fieldset class="pair" disabled={isOut}>
          <Wanted account={account} isTold={fault !== undefined} />
        </fieldset>
        <Price account={account} terms={terms} />
        {fault !== undefined && <p role="alert">{fault}</p>}
        <p class="actions">
          <button type="submit" class="primary" disabled={isOut} aria-busy={at?.stage === "asking"}>
            {texts.exchange}
          </button>
        </p>
      </form>
    </section>
  );
}

/** The currency in which the amount is typed. */
function currencyOf({ from, to, side }: Draft): string {
  return side === "toBuy" ? to : from;
}

/** The fields of the ticket. */
function Wanted({ account, isTold }: TicketProps & { readonly isTold: boolean }) {
  const { desk, texts } = useApp();
  const ticket = desk.draft(account.pesel);
  const { from, to, side, amount } = ticket;
  const edit = (change: Partial<Draft>) => desk.edit(account.pesel, change);
  const codes = useCodes();
  return (
    <>
      <CurrencyField
        codes={codes}
        label={texts.from}
        value={from}
        onValue={(value) => edit({ from: value })}
      />
      <Button
        label="⇄"
        class="swap"
        aria-label={texts.swap}
        title={texts.swap}
        onClick={() => edit({ from: to, to: from })}
      />
      <CurrencyField codes={codes} label={texts.to} value={to} onValue={(value) => edit({ to: value })} />
      <div class="sides" role="radiogroup" aria-label={texts.amountThat}>
        <span aria-hidden="true">{texts.amountThat}</span>
        {(["toBuy", "toSell"] as const).map((each) => (
          <label key={each} class="check">
            <input type="radio" name="side" checked={side === each} onChange={() => edit({ side: each })} />
            {each === "toBuy" ? texts.receives : texts.pays}
          </label>
        ))}
        <AllOfIt
          symbol={from}
          amount={heldOf(account, from)}
          onChoice={(all) => edit({ side: "toSell", amount: all })}
        />
      </div>
      <div class="amount">
        <AmountField
          label={texts.amount}
          value={amount}
          onValue={(value) => edit({ amount: value })}
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
  const [asked, setAsked] = useState<string>();
  const { reads } = useApp();
  useEffect(() => {
    const timer = setTimeout(() => {
      setAsked(url);
      // A price is quoted while trading is suspended, too; the rates say so.
      if (url !== undefined) void reads.fresh("api/rates").catch(() => {});
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [url]);
  return useGet<QuoteJson>(asked === url ? asked : undefined);
}

/** The price. It has its place before it is known, so that nothing moves when it comes. */
function Price({ account, terms }: TicketProps & { readonly terms: ExchangeTermsJson | undefined }) {
  const { texts, format } = useApp();
  const customer = useCustomer(account.pesel);
  const { message } = customer;
  const asked = orderOf(customer);
  const order = asked?.kind === "exchange" ? asked : undefined;
  // A refusal stands beside the price that was refused, and beside no later one.
  const isRefused = message !== undefined && "failure" in message && message.kind === "exchange";
  const refused = isRefused ? message : undefined;
  const isTyped = order === undefined && refused === undefined;
  const read = useQuote(terms && isTyped ? quoteUrl(terms) : undefined);
  const quote = order?.quote ?? refused?.quote ?? read.value;
  const held = { symbol: terms?.from ?? "", amount: terms === undefined ? 0 : heldOf(account, terms.from) };
  const cost = terms?.side === "toSell" ? terms.amount : terms && quote?.sold.amount;
  const waiting = terms === undefined ? texts.quoteHint : texts.pricing;
  const sumOf = (money: QuoteJson["sold"] | undefined) =>
    money === undefined ? "–" : <Sum money={money} format={format} />;
  return (
    <>
      <div class={order === undefined ? "price" : "price fixed"} aria-live="polite">
        <Facts
          class="figures"
          of={[
            [texts.paid, sumOf(quote?.sold)],
            [texts.received, <strong key="received">{sumOf(quote?.bought)}</strong>],
          ]}
        />
        <p class="muted figures">
          {quote === undefined ? (
            isTyped && read.failure === undefined && waiting
          ) : (
            <>
              {fill(texts.rateIs, rateText(quote, format))}
              <br />
              {fill(texts.tableOf, quote.table, format.date(quote.effectiveDate))}
            </>
          )}
        </p>
        {read.failure !== undefined && <ReadState read={read} />}
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
export function rateText({ sold, bought, bid, ask, rate }: ExchangeJson, format: Format): string {
  const one = (symbol: string, value: number, other: string) =>
    `1\u00a0${symbol} = ${format.rate(value)}\u00a0${other}`;
  if (bid === null && ask !== null) return one(bought.symbol, ask, "PLN");
  if (bid !== null && ask === null) return one(sold.symbol, bid, "PLN");
  const sides = [one(sold.symbol, bid ?? 1, "PLN"), one(bought.symbol, ask ?? 1, "PLN")];
  return `${one(sold.symbol, rate, bought.symbol)} (${sides.join(", ")})`;
}
