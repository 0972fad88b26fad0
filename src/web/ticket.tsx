import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { StatementJson } from "../wire/entry-schemas.ts";
import type { AccountJson, QuoteJson } from "../wire/schemas.ts";
import { isOpen, newKey, Refusal } from "./api.ts";
import { useApp, useFailureText } from "./app.ts";
import { CurrencyField, Field } from "./field.tsx";
import { type Format, typedAmount } from "./format.ts";
import { Sum } from "./sum.tsx";

interface TicketProps {
  readonly account: AccountJson;
  readonly onDone: (account: AccountJson, receiptId: string) => Promise<void>;
  readonly onRatesMoved: () => void;
}

type Side = "toBuy" | "toSell";

/** What was quoted, and is to be confirmed. The key stays for as long as it is not known what became of the order. */
interface Offer {
  readonly quote: QuoteJson;
  readonly key: string;
  /** Sent, and no answer of fx came back. */
  readonly isOpen: boolean;
}

const pauseMs = 150;

/** An order for one exchange: typed, quoted while it is typed, and carried out at the quoted table or not at all. */
export function Ticket({ account, onDone, onRatesMoved }: TicketProps) {
  const { api, texts, rates } = useApp();
  const failureText = useFailureText();
  const [from, setFrom] = useState("PLN");
  const [to, setTo] = useState("USD");
  const [side, setSide] = useState<Side>("toBuy");
  const [typed, setTyped] = useState("");
  const [quote, setQuote] = useState<QuoteJson>();
  const [offer, setOffer] = useState<Offer>();
  const [fault, setFault] = useState<string>();
  const [isSending, setSending] = useState(false);
  /** State is seen at the next rendering only, and a second click can come before it. */
  const sending = useRef(false);
  const confirmButton = useRef<HTMLButtonElement>(null);

  const currency = side === "toBuy" ? to : from;
  const amount = typedAmount(typed, currency);
  const wrong =
    from === to ? texts.sameCurrency : "fault" in amount ? texts.amountFault[amount.fault] : undefined;
  const terms = "amount" in amount && from !== to ? { from, to, [side]: amount.amount } : undefined;

  useEffect(() => {
    setQuote(undefined);
    if (terms === undefined || offer !== undefined) return undefined;
    const control = new AbortController();
    const timer = setTimeout(() => {
      api.get<QuoteJson>("api/quote", terms, control.signal).then(
        (value) => setQuote(value),
        () => {},
      );
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [from, to, side, typed, rates?.tableId, offer === undefined]);
  useLayoutEffect(() => {
    if (offer !== undefined) confirmButton.current?.focus();
  }, [offer?.key]);

  const edit = (change: () => void) => {
    if (offer?.isOpen) return;
    setOffer(undefined);
    setFault(undefined);
    change();
  };

  /** Asks for the price that is to be confirmed. */
  const offerNow = async (): Promise<Offer | undefined> => {
    if (terms === undefined) return undefined;
    const quoted = await api.get<QuoteJson>("api/quote", terms);
    const held = account.currencies.find(({ symbol }) => symbol === quoted.sold.symbol)?.amount ?? 0;
    if (held < quoted.sold.amount) {
      setFault(texts.notEnough);
      return undefined;
    }
    const next = { quote: quoted, key: newKey(), isOpen: false };
    setOffer(next);
    return next;
  };

  const once = async (work: () => Promise<void>) => {
    if (sending.current) return;
    sending.current = true;
    setSending(true);
    try {
      await work();
    } finally {
      sending.current = false;
      setSending(false);
    }
  };

  const ask = () =>
    once(async () => {
      setFault(wrong);
      if (wrong !== undefined) return;
      try {
        await offerNow();
      } catch (failure) {
        setFault(failureText(failure));
      }
    });

  const done = async (next: AccountJson, receiptId: string) => {
    setOffer(undefined);
    setTyped("");
    setFault(undefined);
    await onDone(next, receiptId);
  };

  const confirm = (confirmed: Offer) =>
    once(async () => {
      setFault(undefined);
      const { quote: quoted, key } = confirmed;
      const body = {
        pesel: account.pesel,
        from: quoted.sold.symbol,
        to: quoted.bought.symbol,
        [quoted.side]: (quoted.side === "toBuy" ? quoted.bought : quoted.sold).amount,
      };
      try {
        const answer = await api.change<AccountJson>(`api/exchange/${account.pesel}`, {
          body,
          key,
          tableId: quoted.tableId,
        });
        await done(answer.body, answer.receiptId);
      } catch (failure) {
        await refused(confirmed, failure);
      }
    });

  const refused = async (confirmed: Offer, failure: unknown) => {
    if (isOpen(failure, confirmed.isOpen)) {
      setOffer({ ...confirmed, isOpen: true });
      setFault(texts.outcomeUnknown);
      return;
    }
    setOffer(undefined);
    setFault(failureText(failure));
    if (failure instanceof Refusal && failure.problem.code === "rate-changed") {
      onRatesMoved();
      if ((await offerNow().catch(() => undefined)) !== undefined) setFault(texts.rateMoved);
    }
  };

  /** Looks in the statement for the order whose answer was lost. */
  const giveUp = ({ key }: Offer) =>
    once(async () => {
      try {
        const { pesel } = account;
        const { entries } = await api.get<StatementJson>(`api/user/${pesel}/history`, { key });
        const [entry] = entries;
        const next = await api.get<AccountJson>(`api/user/${pesel}`);
        setOffer(undefined);
        if (entry === undefined) setFault(texts.wasNotDone);
        else await done(next, entry.id);
      } catch (failure) {
        setFault(failureText(failure));
      }
    });

  const shown = offer?.quote ?? quote;
  return (
    <section class="card ticket" aria-label={texts.ticket}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        <fieldset class="pair" disabled={offer?.isOpen === true}>
          <CurrencyField label={texts.from} value={from} onValue={(value) => edit(() => setFrom(value))} />
          <button
            type="button"
            class="swap"
            aria-label={texts.swap}
            title={texts.swap}
            onClick={() =>
              edit(() => {
                setFrom(to);
                setTo(from);
              })
            }
          >
            ⇄
          </button>
          <CurrencyField label={texts.to} value={to} onValue={(value) => edit(() => setTo(value))} />
          <div class="sides">
            {(["toBuy", "toSell"] as const).map((each) => (
              <label key={each}>
                <input
                  type="radio"
                  name="side"
                  checked={side === each}
                  onChange={() => edit(() => setSide(each))}
                />
                {each === "toBuy" ? texts.buy : texts.sell}
              </label>
            ))}
          </div>
          <div class="amount">
            <Field
              label={texts.amount}
              value={typed}
              onValue={(value) => edit(() => setTyped(value))}
              inputMode="decimal"
              data-key="amount"
            />
            <span class="unit" aria-hidden="true">
              {currency}
            </span>
          </div>
        </fieldset>
        <Price quote={shown} isFixed={offer !== undefined} />
        {fault !== undefined && <p role="alert">{fault}</p>}
        <p class="actions">
          {offer === undefined ? (
            <button type="submit" class="primary" aria-busy={isSending}>
              {texts.exchange}
            </button>
          ) : (
            <>
              <button
                type="button"
                class="primary"
                ref={confirmButton}
                aria-busy={isSending}
                onClick={() => void confirm(offer)}
              >
                {texts.confirm}
              </button>
              <button
                type="button"
                class="plain"
                onClick={() => (offer.isOpen ? void giveUp(offer) : edit(() => {}))}
              >
                {offer.isOpen ? texts.giveUp : texts.cancel}
              </button>
            </>
          )}
        </p>
      </form>
    </section>
  );
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
