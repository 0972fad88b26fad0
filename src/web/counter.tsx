import { useRef, useState } from "preact/hooks";
import { AccountView } from "./account.tsx";
import { useApp, useMay } from "./app.ts";
import { Board } from "./board.tsx";
import { Finder } from "./finder.tsx";
import { NewAccount } from "./new-account.tsx";
import { shortcuts, useShortcuts } from "./shortcuts.ts";

/** Where a customer is served: an account on one side, the rates on the other. */
export function Counter({ onRatesMoved }: { readonly onRatesMoved: () => void }) {
  const { texts } = useApp();
  const [pesel, setPesel] = useState<string>();
  const [isOpening, setOpening] = useState(false);
  const page = useRef<HTMLElement>(null);
  const mayOpen = useMay("teller");
  useShortcuts(page);
  const show = (found: string) => {
    setOpening(false);
    setPesel(found);
  };
  return (
    <div class="counter">
      <main id="main" ref={page} tabIndex={-1}>
        <Finder onFound={show} onNew={() => setOpening(true)} />
        {isOpening && <NewAccount onOpened={show} onClose={() => setOpening(false)} />}
        {pesel === undefined && !isOpening && (
          <section class="welcome muted">
            <p>{mayOpen ? texts.welcome : texts.welcomeViewer}</p>
          </section>
        )}
        {pesel !== undefined && !isOpening && (
          <AccountView key={pesel} pesel={pesel} onRatesMoved={onRatesMoved} />
        )}
      </main>
      <aside>
        <Board />
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
