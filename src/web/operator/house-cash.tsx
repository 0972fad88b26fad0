import { useLayoutEffect, useState } from "preact/hooks";
import { type HousePlace, houseNumber, housePlaces } from "../../core/house.ts";
import { useApp } from "../app.ts";
import { Button } from "../elements.tsx";
import { AmountField, ChoiceField, CurrencyField, Field } from "../field.tsx";
import { type AmountFault, typedAmount } from "../format.ts";
import { Asked } from "../question.tsx";

const kinds = ["deposit", "withdrawal"] as const;

/**
 * The entries of the house that are under way. They are orders of the desk, by the numbers of the house's accounts: one
 * without an answer outlives this view, and none is begun beside it.
 */
function useHouseOrders() {
  const { desk } = useApp();
  const customers = housePlaces.map((place) => desk.customer(houseNumber(place)));
  return {
    isBusy: customers.some(({ at }) => at !== undefined),
    receiptId: customers.find(({ receiptId }) => receiptId !== undefined)?.receiptId,
    /** Takes the messages about earlier ones out of sight. */
    clear: () => {
      for (const pesel of housePlaces.map(houseNumber)) {
        desk.tell(pesel, { is: "cancels" });
        desk.tell(pesel, { is: "shows receipt", receiptId: undefined });
      }
    },
  };
}

/** The form for the house's own money. */
export function HouseCash() {
  const { desk, texts } = useApp();
  const { isBusy, receiptId, clear } = useHouseOrders();
  const [fault, setFault] = useState<AmountFault>();
  const [typed, setTyped] = useState("");
  const [currency, setCurrency] = useState("PLN");
  const [place, setPlace] = useState<HousePlace>("cash");
  const [note, setNote] = useState("");
  // At once: a second click would make the entry again.
  useLayoutEffect(() => {
    if (receiptId === undefined) return;
    setTyped("");
    setNote("");
  }, [receiptId]);
  const ask = (kind: (typeof kinds)[number]) => {
    if (isBusy) return;
    const read = typedAmount(typed, currency);
    setFault("fault" in read ? read.fault : undefined);
    if ("fault" in read) return;
    clear();
    const money = { symbol: currency, amount: read.amount };
    const given = note.trim() === "" ? undefined : note;
    const holder = { name: texts.houseMoney, surname: `(${texts.housePlaces[place]})` };
    void desk.carryOut(houseNumber(place), { kind, money, note: given }, holder);
  };
  return (
    <form class="card" noValidate>
      <h2>{texts.houseMoney}</h2>
      <p class="muted">{texts.houseIntro}</p>
      <fieldset class="fields" disabled={isBusy}>
        <ChoiceField
          label={texts.place}
          value={place}
          of={housePlaces.map((name) => [name, texts.housePlaces[name]])}
          onValue={setPlace}
        />
        <AmountField
          label={texts.cashSum}
          value={typed}
          onValue={setTyped}
          currency={currency}
          isTold={false}
        />
        <CurrencyField label={texts.cashCurrency} value={currency} onValue={setCurrency} />
        <Field label={texts.note} value={note} maxLength={200} onValue={setNote} />
        <p class="actions">
          <Button label={texts.putIn} onClick={() => ask("deposit")} />
          <Button label={texts.takeOut} onClick={() => ask("withdrawal")} />
        </p>
      </fieldset>
      {fault !== undefined && <p role="alert">{texts.amountFault[fault]}</p>}
      {housePlaces.map((each) => (
        <Asked key={each} pesel={houseNumber(each)} kinds={kinds} label={texts.carryOut} />
      ))}
      {receiptId !== undefined && <p role="status">{texts.houseDone(receiptId)}</p>}
    </form>
  );
}
