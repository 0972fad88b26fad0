import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import type { Texts } from "./texts.ts";

/**
 * With Alt, because a letter alone would keep people from dictating (WCAG 2.2, 2.1.4). Each goes to, or presses, what has
 * this `data-key`.
 */
export const shortcuts = [
  { keys: "Alt+S", label: "search" },
  { keys: "Alt+N", label: "newAccount" },
  { keys: "Alt+A", label: "amount" },
  { keys: "Alt+C", label: "cashAlone" },
  { keys: "Alt+T", label: "statement" },
] as const satisfies readonly { keys: string; label: keyof Texts }[];

export function useShortcuts(page: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!event.altKey || event.ctrlKey || event.metaKey) return;
      // On a Mac, and with AltGr, Alt with a letter types another one.
      const shortcut = shortcuts.find(({ keys }) => keys === `Alt+${event.key.toUpperCase()}`);
      const target = page.current?.querySelector<HTMLElement>(`[data-key="${shortcut?.label}"]`);
      if (shortcut === undefined || !target) return;
      event.preventDefault();
      target.focus();
      if (target instanceof HTMLInputElement) target.select();
      if (target instanceof HTMLButtonElement) target.click();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
