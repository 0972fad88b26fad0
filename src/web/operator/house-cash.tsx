import { type HousePlace, houseNumber, housePlaces } from "../../core/house.ts";
import { useApp, useGet } from "../app.ts";
import { Balances } from "../balances.tsx";
import { CashFields } from "../cash.tsx";
import { Part, ReadState } from "../elements.tsx";
import { ChoiceField } from "../field.tsx";
import { CurrentOrder } from "../question.tsx";
import { accountIn, balancesUrl } from "../requests.ts";
import { Statement } from "../statement.tsx";

/**
 * The house's own money: form, balances, statement. Its requests go through `Desk` under the house's account numbers, so
 * one without an answer survives leaving this view and blocks a second.
 */
export function HouseCash() {
  const { desk, texts, place, go } = useApp();
  const { house } = place;
  const pesel = houseNumber(house);
  const isOut = desk.isOut(pesel);
  const read = useGet<object>(balancesUrl(pesel));
  const account = read.value && accountIn(read.value, pesel);
  const choose = (next: HousePlace) => {
    desk.tell(pesel, { is: "cancels" });
    go({ house: next });
  };
  return (
    <article class="account">
      <div class="service">
        <div class="work">
          <form class="card" noValidate>
            <h2>{texts.houseMoney}</h2>
            <p class="muted">{texts.houseIntro}</p>
            <fieldset class="fields" disabled={isOut}>
              <ChoiceField
                label={texts.place}
                value={house}
                of={housePlaces.map((name) => [name, texts.housePlaces[name]])}
                onValue={choose}
              />
            </fieldset>
            <CashFields
              account={account ?? { pesel, currencies: [] }}
              deposit={texts.putIn}
              withdraw={texts.takeOut}
            />
          </form>
        </div>
        <div class="state">
          <CurrentOrder pesel={pesel} />
          <ReadState read={read} />
          {account !== undefined && <Balances currencies={account.currencies} />}
        </div>
      </div>
      {account !== undefined && (
        <Part key={pesel}>
          <Statement account={account} />
        </Part>
      )}
    </article>
  );
}
