import { useApp } from "../app.ts";
import { Button } from "../elements.tsx";
import { CurrentOrder } from "../question.tsx";
import { trading, tradingNumber } from "../requests.ts";

/** The suspension of trading, which every counter notices, and the question about it and about its end. */
export function Trading() {
  const { rates, texts } = useApp();
  return (
    <section class="card">
      <h2>{texts.trading}</h2>
      <p class="muted">{texts.tradingIntro}</p>
      <p class="actions">{rates !== undefined && !rates.suspension && <ChangeTrading kind="suspension" />}</p>
      <CurrentOrder pesel={tradingNumber} />
    </section>
  );
}

/** The button that asks in the view of the position whether to suspend or to resume trading. */
export function ChangeTrading({ kind }: { readonly kind: "suspension" | "resumption" }) {
  const { desk, texts, go } = useApp();
  const ask = () => {
    go({ view: "position" });
    // The view is there first, and has the question take the focus from this button.
    queueMicrotask(() => desk.askAtOnce(trading(kind)));
  };
  return <Button label={texts.changeTrading[kind]} disabled={desk.isOut(tradingNumber)} onClick={ask} />;
}
