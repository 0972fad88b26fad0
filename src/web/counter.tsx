import { useRef } from "preact/hooks";
import { AccountView } from "./account.tsx";
import { useApp, useMay } from "./app.ts";
import { Board } from "./board.tsx";
import { Part } from "./elements.tsx";
import { Finder } from "./finder.tsx";
import { NewAccount } from "./new-account.tsx";
import { shortcuts, useShortcuts } from "./shortcuts.ts";

/** Where a customer is served: an account on one side, the rates on the other. */
export function Counter() {
  const { texts, place, go } = useApp();
  const { pesel, isOpening } = place;
  const page = useRef<HTMLElement>(null);
  const mayOpen = useMay("teller");
  useShortcuts(page);
  const show = (found: string) => go({ pesel: found, isOpening: false });
  return (
    <div class="counter">
      <main id="main" ref={page} tabIndex={-1}>
        <Finder
          onSearch={() => go({ pesel: undefined, isOpening: false })}
          onFound={show}
          onNew={() => go({ isOpening: true })}
        />
        {isOpening && <NewAccount onOpened={show} onClose={() => go({ isOpening: false })} />}
        {pesel === undefined && !isOpening && (
          <section class="welcome muted">
            <p>{mayOpen ? texts.welcome : texts.welcomeViewer}</p>
          </section>
        )}
        {pesel !== undefined && !isOpening && (
          <Part key={pesel}>
            <AccountView pesel={pesel} />
          </Part>
        )}
      </main>
      <aside>
        <Part>
          <Board />
        </Part>
        <details class="keys">
          <summary>{texts.shortcuts}</summary>
          <dl>
            {shortcuts.map(({ keys, label }) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{texts[label]}</dd>
              </div>
            ))}
          </dl>
        </details>
      </aside>
    </div>
  );
}
