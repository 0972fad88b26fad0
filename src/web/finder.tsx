import { useLayoutEffect, useState } from "preact/hooks";
import type { AccountsJson } from "../wire/account-list.ts";
import type { ListedAccountJson } from "../wire/accounts.ts";
import { urlOf } from "./answers.ts";
import { useApp, useMay, useTask } from "./app.ts";
import { emptyDraft, newHolder } from "./desk.ts";
import { Button, ReadState } from "./elements.tsx";
import { digitsOf, groupedPesel } from "./format.ts";
import { accountUrl } from "./requests.ts";

const fewestLetters = 3;
const mostFound = 20;

interface FinderProps {
  /** Closes what is in sight: nobody works for another customer than the one sought. */
  readonly onSearch: () => void;
  readonly onFound: (pesel: string) => void;
  readonly onNew: () => void;
}

/** Finds an account by its PESEL or by the holder's name. */
export function Finder({ onSearch, onFound, onNew }: FinderProps) {
  const { api, desk, texts, place } = useApp();
  const mayOpen = useMay("teller");
  const [typed, setTyped] = useState("");
  const [fault, setFault] = useState<string>();
  const search = useTask<AccountsJson>();
  const found = search.value?.users;

  const isClosed = place.pesel === undefined && !place.isOpening;
  // An answer that comes late takes nobody away from what was begun meanwhile.
  useLayoutEffect(() => (isClosed ? undefined : search.stop()), [isClosed]);
  const choose = ({ pesel }: ListedAccountJson) => {
    // Text typed meanwhile is another search.
    setTyped((now) => (now === typed ? "" : now));
    onFound(pesel);
  };
  const find = () => {
    const url = searchUrl(typed, mayOpen);
    const tooShort = mayOpen ? texts.moreLetters : texts.onlyPesel;
    setFault(url === undefined ? tooShort : undefined);
    onSearch();
    if (url === undefined) return search.stop();
    search.run(
      async (signal) => {
        const answer = await api.get<ListedAccountJson | AccountsJson>(url, signal);
        return "users" in answer ? answer : { users: [answer], next: null };
      },
      ({ users: [only, ...others] }) => {
        if (only !== undefined && others.length === 0) choose(only);
      },
    );
  };

  return (
    <search class="finder">
      <form onSubmit={find}>
        <input
          type="search"
          aria-label={texts.search}
          data-key="search"
          placeholder={mayOpen ? texts.searchHint : texts.pesel}
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        {mayOpen && (
          <Button
            label={texts.newAccount}
            data-key="newAccount"
            onClick={() => {
              setTyped("");
              // A PESEL that has no account yet is not typed twice.
              const pesel = digitsOf(typed);
              if (/^\d{1,11}$/.test(pesel)) desk.edit(newHolder, { ...emptyDraft, pesel });
              onNew();
            }}
          />
        )}
      </form>
      {fault !== undefined && <p role="alert">{fault}</p>}
      <ReadState read={search} />
      {found?.length === 0 && <p role="alert">{texts.noneFound}</p>}
      {found !== undefined && found.length > 1 && <Found users={found} onChoice={choose} />}
      {search.value?.next != null && <p role="status">{texts.moreFound}</p>}
    </search>
  );
}

/** The address that answers a search; undefined if too little is typed, or a name that the caller may not search for. */
function searchUrl(typed: string, maySearchNames: boolean): string | undefined {
  const digits = digitsOf(typed);
  if (/^\d{11}$/.test(digits)) return accountUrl(digits);
  const isShort = /\d/.test(digits) || [...digits].length < fewestLetters;
  return isShort || !maySearchNames
    ? undefined
    : urlOf("api/users", { name: typed.trim(), limit: mostFound });
}

interface FoundProps {
  readonly users: AccountsJson["users"];
  readonly onChoice: (account: ListedAccountJson) => void;
}

/** Several accounts of one name, to choose from. */
function Found({ users, onChoice }: FoundProps) {
  const { texts } = useApp();
  return (
    <ul class="found" aria-label={texts.found}>
      {users.map((account) => (
        <li key={account.pesel}>
          <button type="button" class="plain" onClick={() => onChoice(account)}>
            <span>
              {account.name} {account.surname}
              {account.closed && <span class="muted"> · {texts.closedAccount}</span>}
              {account.blocked && <span class="muted"> · {texts.blockedAccount}</span>}
              {account.damaged && <span class="muted"> · {texts.damagedAccount}</span>}
            </span>
            <span class="figures">{groupedPesel(account.pesel)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
