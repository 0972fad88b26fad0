import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { AccountsJson, ListedAccountJson } from "../wire/accounts.ts";
import { urlOf } from "./answers.ts";
import { useApp, useMay, useRead } from "./app.ts";
import { accountUrl, digitsOf } from "./desk.ts";
import { Button, Unread } from "./elements.tsx";
import { groupedPesel } from "./format.ts";

const fewestLetters = 3;
const mostFound = 20;

interface FinderProps {
  readonly onFound: (pesel: string) => void;
  readonly onNew: () => void;
}

/** The newest search. */
interface Search {
  readonly typed: string;
  readonly url: string;
  readonly nth: number;
}

/** Finds an account by its PESEL or by the holder's name. */
export function Finder({ onFound, onNew }: FinderProps) {
  const { api, desk, reads, texts } = useApp();
  const mayOpen = useMay("teller");
  const [typed, setTyped] = useState("");
  const [fault, setFault] = useState<string>();
  const [search, showSearch] = useState<Search>();
  // An answer may come between a new search and its rendering: it is compared with this.
  const latest = useRef<Search | undefined>(undefined);
  const setSearch = (next: Search | undefined) => {
    latest.current = next;
    showSearch(next);
  };
  const answer = useRead(reads, search && `search ${search.nth} ${search.url}`, async (signal) => {
    const found = await api.get<ListedAccountJson | AccountsJson>(search?.url ?? "", signal);
    return "users" in found ? found : { users: [found], next: null };
  });
  const found = answer.value?.users;
  const [only] = found ?? [];

  const place = useRef<HTMLElement>(null);
  // Whoever has begun to work with what is in sight is not taken away from it.
  useWorkOutside(search === undefined ? undefined : place, () => setSearch(undefined));
  const end = () => {
    setSearch(undefined);
    // Text typed meanwhile is another search.
    if (typed === search?.typed) setTyped("");
  };
  const choose = (pesel: string) => {
    end();
    onFound(pesel);
  };
  useEffect(() => {
    if (found?.length === 1 && only !== undefined && search === latest.current) choose(only.pesel);
  }, [found]);

  const find = () => {
    const url = searchUrl(typed);
    setFault(url === undefined ? texts.moreLetters : undefined);
    setSearch(url === undefined ? undefined : { typed, url, nth: (latest.current?.nth ?? 0) + 1 });
  };

  return (
    <search class="finder" ref={place}>
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
              setSearch(undefined);
              setTyped("");
              // A PESEL that has no account yet is not typed twice.
              const digits = digitsOf(typed);
              desk.beginOpening(/^\d{1,11}$/.test(digits) ? digits : "");
              onNew();
            }}
          />
        )}
      </form>
      {fault !== undefined && <p role="alert">{fault}</p>}
      <Unread read={answer} />
      {found?.length === 0 && <p role="alert">{texts.noneFound}</p>}
      {found !== undefined && found.length > 1 && <Found users={found} onChoice={choose} />}
      {answer.value?.next != null && <p role="status">{texts.moreFound}</p>}
    </search>
  );
}

/** The address that answers a search; undefined if too little is typed. */
function searchUrl(typed: string): string | undefined {
  const digits = digitsOf(typed);
  if (/^\d{11}$/.test(digits)) return accountUrl(digits);
  const isShort = /\d/.test(digits) || [...digits].length < fewestLetters;
  return isShort ? undefined : urlOf("api/users", { name: typed.trim(), limit: mostFound });
}

/** Calls `onWork` when the teller begins to use another part of the page; nothing without a `place`. */
function useWorkOutside(place: RefObject<HTMLElement | null> | undefined, onWork: () => void): void {
  useEffect(() => {
    if (place === undefined) return undefined;
    const work = ({ target }: Event) => {
      const part = (target as Element).closest("main button, main input, main select, main summary");
      if (part !== null && place.current?.contains(part) === false) onWork();
    };
    for (const sign of ["input", "click"]) document.addEventListener(sign, work, true);
    return () => {
      for (const sign of ["input", "click"]) document.removeEventListener(sign, work, true);
    };
  }, [place]);
}

interface FoundProps {
  readonly users: AccountsJson["users"];
  readonly onChoice: (pesel: string) => void;
}

/** Several accounts of one name, to choose from. */
function Found({ users, onChoice }: FoundProps) {
  const { texts } = useApp();
  return (
    <ul class="found" aria-label={texts.found}>
      {users.map(({ pesel, name, surname, closed, blocked, damaged }) => (
        <li key={pesel}>
          <button type="button" class="plain" onClick={() => onChoice(pesel)}>
            <span>
              {name} {surname}
              {closed && <span class="muted"> · {texts.closedAccount}</span>}
              {blocked && <span class="muted"> · {texts.blockedAccount}</span>}
              {damaged && <span class="muted"> · {texts.damagedAccount}</span>}
            </span>
            <span class="figures">{groupedPesel(pesel)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
