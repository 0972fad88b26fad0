/**
 * The second click or tap of a double one can reach a button that has just taken the place of the one that was meant, and
 * Enter held down one that has just got the focus. Such repeats do nothing.
 */
export function ignoreStrayRepeats(page: Document): void {
  let clicked: Element | null = null;
  page.addEventListener(
    "click",
    (event) => {
      const button = (event.target as Element).closest("button");
      if (event.detail < 2 || button === null) clicked = button;
      else if (button !== clicked) {
        event.preventDefault();
        event.stopPropagation();
      }
    },
    true,
  );
  page.addEventListener("keydown", (event) => {
    if (event.repeat && event.key === "Enter") event.preventDefault();
  });
}
