/**
 * The second click or tap of a double one, or Enter held down, can reach a button that has just taken the place of the
 * one that was meant: Confirm, after Exchange. Such repeats do nothing.
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
  page.addEventListener("keydown", (event) => {
    if (event.repeat && event.key === "Enter") event.preventDefault();
  });
}
