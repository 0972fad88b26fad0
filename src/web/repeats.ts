const quickMs = 500;

/**
 * The second click or tap of a double one, Enter held down, and Enter or Space pressed again at once, can reach a button
 * that has just taken the place or the focus of the one that was meant: Confirm, after Exchange. Such repeats do nothing.
 */
export function ignoreStrayRepeats(page: Document): void {
  let clicked: string | null | undefined;
  page.addEventListener(
    "click",
    (event) => {
      const name = (event.target as Element).closest("button")?.textContent;
      if (event.detail < 2 || name === undefined) clicked = name;
      else if (name !== clicked) {
        event.preventDefault();
        event.stopPropagation();
      }
    },
    true,
  );
  let pressed: EventTarget | null = null;
  /** When a button was last pressed by a key, or got the focus after that. */
  let latest = Number.NEGATIVE_INFINITY;
  page.addEventListener("focusin", ({ timeStamp }) => {
    if (pressed !== null) latest = timeStamp;
  });
  page.addEventListener("keydown", (event) => {
    const { target, timeStamp } = event;
    const isButton = target instanceof HTMLButtonElement;
    if (event.key !== "Enter" && (event.key !== " " || !isButton)) {
      // Whoever presses another key between, such as Tab, chooses the button.
      pressed = null;
      return;
    }
    const isStray = isButton && pressed !== null && target !== pressed && timeStamp - latest < quickMs;
    if (isStray || (event.repeat && event.key === "Enter")) event.preventDefault();
    else pressed = target;
    latest = timeStamp;
  });
}
