import { useEffect, useRef, useState } from "preact/hooks";
import type { AccountsJson, ListedAccountJson } from "../wire/schemas.ts";
import { urlOf } from "./answers.ts";
import { useApp, useMay, useRead } from "./app.ts";
import { accountUrl } from "./desk.ts";
import { groupedPesel } from "./format.ts";
import { Unread } from "./unread.tsx";

const fewestLetters = 3;
const mostFound = 20;

interface FinderProps {
  readonly onFound: (pesel: string) => void;
  readonly onNew: () => void;
}

/** What was searched for last. */
interface Search {
  readonly typed: string;
  readonly url: string;
  readonly nth: number;
}

/** Finds an account by its PESEL or by the holder's name. */
export function Finder({ onFound, onNew }: FinderProps) {
  const { api, reads, texts } = useApp();
  const mayOpen = useMay("teller");
  const [typed, setTyped] = useState("");
  const [fault, setFault] = useState<string>();
  const [search, showSearch] = useState<Search>();
  // What an answer is compared with: one may come between a new search and the drawing of it.
  const latest = useRef<Search | undefined>(undefined);
  const setSearch = (next: Search | undefined) => {
    latest.current = next;
    showSearch(next);
  };
  const answer = useRead(reads, search && `search ${search.nth} ${search.url}`, async (signal) => {
    const found = await api.get<ListedAccountJson | AccountsJson>(search?.url ?? "", signal);
    return "users" in found ? found.users : [found];
  });
  const found = answer.value;
  const [only] = found ?? [];

  const place = useRef<HTMLElement>(null);
  // Whoever has begun to work with what is in sight is not taken away from it.
  useEffect(() => {
    if (search === undefined) return undefined;
    const work = ({ target }: Event) => {
      const part = (target as Element).closest("main button, main input, main select, main summary");
      if (part !== null && place.current?.contains(part) === false) setSearch(undefined);
    };
    for (const sign of ["input", "click"]) document.addEventListener(sign, work, true);
    return () => {
      for (const sign of ["input", "click"]) document.removeEventListener(sign, work, true);
    };
  }, [search]);

  const end = () => {
    setSearch(undefined);
    // What is typed meanwhile is another search.
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
    const text = typed.trim();
    const digits = text.replace(/[\s-]/g, "");
    const isPesel = /^\d{11}$/.test(digits);
    const isShort = !isPesel && (/\d/.test(digits) || [...digits].length < fewestLetters);
    setFault(isShort ? texts.moreLetters : undefined);
    const url = isPesel ? accountUrl(digits) : urlOf("api/users", { name: text, limit: mostFound });
    setSearch(isShort ? undefined : { typed, url, nth: (latest.current?.nth ?? 0) + 1 });
  };

  return (
    <search class="finder" ref={place}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          find();
        }}
      >
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
          <button
            type="button"
            data-key="newAccount"
            onClick={() => {
              setSearch(undefined);
              onNew();
            }}
          >
            {texts.newAccount}
          </button>
        )}
      </form>
      {fault !== undefined && <p role="alert">{fault}</p>}
      <Unread read={answer} />
      {found?.length === 0 && <p role="alert">{texts.noneFound}</p>}
      {found !== undefined && found.length > 1 && (
        <ul class="found" aria-label={texts.found}>
          {found.map(({ pesel, name, surname, closed }) => (
            <li key={pesel}>
              <button type="button" class="plain" onClick={() => choose(pesel)}>
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
