import { useLayoutEffect, useState } from "preact/hooks";

/**
 * Focuses an element that has appeared, unless the teller is typing in another form: an Enter or a space that is meant
 * for that form would confirm an order.
 */
export function takeFocus(element: HTMLElement | null | undefined): void {
  const { activeElement } = document;
  const isTyping = activeElement?.matches("input, select, textarea") === true;
  if (!isTyping || activeElement.closest("form")?.contains(element ?? null)) element?.focus();
}

/** When this part of the page goes, gives the focus back to the element that had it before. */
export function useFocusReturn(): void {
  const [before] = useState(() => document.activeElement);
  useLayoutEffect(
    () => () =>
      queueMicrotask(() => {
        if (document.activeElement === document.body && before instanceof HTMLElement) before.focus();
      }),
    [],
  );
}
