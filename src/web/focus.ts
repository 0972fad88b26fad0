import { useLayoutEffect, useState } from "preact/hooks";

/**
 * Focuses an element that has appeared, if the focus is still where it was asked for, or nowhere; brings into sight what
 * has stood before.
 * @param asker the element from which it was asked for; null for none, undefined if nobody has asked for it now
 */
export function takeFocus(element: HTMLElement | null, asker: Element | null | undefined): void {
  const { activeElement } = document;
  if (asker === undefined) element?.scrollIntoView({ block: "nearest" });
  else if (activeElement === asker || activeElement?.matches("body, main") !== false) element?.focus();
}

/** Whether somebody types: a box with text has the focus. */
export function isTyping(): boolean {
  return Boolean((document.activeElement as HTMLInputElement | null)?.value);
}

/** Focuses the page's main part when the focused element is removed and nothing else takes the focus. */
export function keepFocus(page: Document): void {
  let last: Element | undefined;
  page.addEventListener("focusin", ({ target }) => {
    last = target as Element;
  });
  const look = () => {
    if (page.activeElement !== page.body || last?.isConnected !== false) return;
    page.getElementById("main")?.focus({ preventScroll: true });
  };
  // The part that comes, or the one that goes, may focus another element first.
  new MutationObserver(() => setTimeout(look)).observe(page.body, { childList: true, subtree: true });
}

/** When this part of the page goes, gives the focus back to `asker`, or else to the element that had it before. */
export function useFocusReturn(asker?: Element | null): void {
  const [before] = useState(() => asker ?? document.activeElement);
  useLayoutEffect(
    () => () =>
      queueMicrotask(() => {
        if (document.activeElement === document.body && before instanceof HTMLElement) before.focus();
      }),
    [],
  );
}
