import { useLayoutEffect, useState } from "preact/hooks";

/**
 * Focuses an element that has appeared, unless the teller is typing elsewhere: an Enter or a space that is meant for
 * another form would confirm an order.
 * @param before the element that asked for it
 */
export function takeFocus(element: HTMLElement | null | undefined, before?: Element | null): void {
  const { activeElement } = document;
  const isTyping = activeElement?.matches("input, select, textarea") === true;
  if (!isTyping || activeElement === before) element?.focus();
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
