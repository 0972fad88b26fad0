import { useState } from "preact/hooks";
import { type HousePlace, houseNumber, housePlaces } from "../../core/house.ts";
import { useApp } from "../app.ts";
import { CashFields } from "../cash.tsx";
import { ChoiceField } from "../field.tsx";
import { Asked } from "../question.tsx";
import { fill } from "../texts.ts";

/**
 * The form for the house's own money. Its entries are orders of the desk, by the numbers of the house's accounts: one
 * without an answer outlives this view, and none is begun beside it.
 */
export function HouseCash() {
  const { desk, texts } = useApp();
  const [place, setPlace] = useState<HousePlace>("cash");
  const numbers = housePlaces.map(houseNumber);
  const customers = numbers.map((pesel) => desk.customer(pesel));
  const isBusy = customers.some(({ at }) => at !== undefined);
  const receiptId = customers.find((customer) => customer.receiptId !== undefined)?.receiptId;
  const pesel = houseNumber(place);
  const holder = { name: texts.houseMoney, surname: `(${texts.housePlaces[place]})` };
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
      </fieldset>
      <CashFields
        pesel={pesel}
        deposit={texts.putIn}
        withdraw={texts.takeOut}
        isDisabled={isBusy}
        onRequest={(request) => {
          if (isBusy) return;
          // The messages about earlier entries go.
          for (const number of numbers) {
            desk.tell(number, { is: "cancels" });
            desk.tell(number, { is: "shows receipt", receiptId: undefined });
          }
          void desk.carryOut(request, holder);
        }}
      />
      {numbers.map((number) => (
        <Asked key={number} pesel={number} kinds={["deposit", "withdrawal"]} label={texts.carryOut} />
      ))}
      {receiptId !== undefined && <p role="status">{fill(texts.houseDone, receiptId)}</p>}
    </form>
  );
}
