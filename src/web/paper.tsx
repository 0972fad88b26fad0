import { useApp } from "./app.ts";
import { fill } from "./texts.ts";

/** The office above a printed receipt or statement. */
export function Letterhead() {
  const { caller, texts } = useApp();
  const { name, address, taxNumber } = caller.office;
  if (name === null && address === null && taxNumber === null) return null;
  return (
    <address class="on-paper">
      {name !== null && <strong>{name}</strong>}
      {address !== null && <div>{address}</div>}
      {taxNumber !== null && <div>{fill(texts.taxNumber, taxNumber)}</div>}
    </address>
  );
}

/** Lines for the signatures below what is printed; of the house's own money, without the customer's. */
export function Signatures({ ofHouse }: { readonly ofHouse: boolean }) {
  const { texts } = useApp();
  return (
    <p class="on-paper signatures">
      <span>{texts.signedByOffice}</span>
      {!ofHouse && <span>{texts.signedByHolder}</span>}
    </p>
  );
}
