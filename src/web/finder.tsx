import { useState } from "preact/hooks";
import type { AccountJson, AccountsJson } from "../wire/schemas.ts";
import { useApp, useFailureText, useMay } from "./app.ts";
import { groupedPesel } from "./format.ts";

const fewestLetters = 3;
const mostFound = 20;

interface FinderProps {
  readonly onFound: (pesel: string) => void;
  readonly onNew: () => void;
}

/** Finds an account by its PESEL or by the holder's name. */
export function Finder({ onFound, onNew }: FinderProps) {
  const { api, texts } = useApp();
  const failureText = useFailureText();
  const mayOpen = useMay("teller");
  const [sought, setSought] = useState("");
  const [fault, setFault] = useState<string>();
  const [found, setFound] = useState<AccountsJson["users"]>();

  const find = async () => {
    const text = sought.trim();
    const digits = text.replace(/[\s-]/g, "");
    setFault(undefined);
    setFound(undefined);
    try {
      if (/^\d{11}$/.test(digits)) {
        const { pesel } = await api.get<AccountJson>(`api/user/${digits}`);
        setSought("");
        onFound(pesel);
      } else if (/\d/.test(digits) || [...digits].length < fewestLetters) {
        setFault(texts.moreLetters);
      } else {
        const { users } = await api.get<AccountsJson>("api/users", { name: text, limit: mostFound });
        if (users.length === 1 && users[0] !== undefined) {
          setSought("");
          onFound(users[0].pesel);
        } else if (users.length === 0) setFault(texts.noneFound);
        else setFound(users);
      }
    } catch (failure) {
      setFault(failureText(failure));
    }
  };

  return (
    <search class="finder">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void find();
        }}
      >
        <input
          type="search"
          aria-label={texts.search}
          data-key="search"
          placeholder={mayOpen ? texts.searchHint : texts.pesel}
          autocomplete="off"
          spellcheck={false}
          value={sought}
          onInput={(event) => setSought(event.currentTarget.value)}
        />
        {mayOpen && (
          <button type="button" data-key="newAccount" onClick={onNew}>
            {texts.newAccount}
          </button>
        )}
      </form>
      {fault !== undefined && <p role="alert">{fault}</p>}
      {found !== undefined && (
        <ul class="found" aria-label={texts.found}>
          {found.map(({ pesel, name, surname, closed }) => (
            <li key={pesel}>
              <button
                type="button"
                class="plain"
                onClick={() => {
                  setFound(undefined);
                  setSought("");
                  onFound(pesel);
                }}
              >
                <span>
                  {name} {surname}
                  {closed && <span class="muted"> · {texts.closedAccount}</span>}
                </span>
                <span class="figures">{groupedPesel(pesel)}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </search>
  );
}
