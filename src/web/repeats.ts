const quickMs = 500;

/**
 * The second click or tap of a double one, and Enter held down or pressed twice, can reach a button that has just taken
 * the place or the focus of the one that was meant: Confirm, after Exchange. Such repeats do nothing.
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
  let entered: KeyboardEvent | undefined;
  page.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const isAnother = event.target instanceof HTMLButtonElement && event.target !== entered?.target;
    const isQuick = entered !== undefined && event.timeStamp - entered.timeStamp < quickMs;
    if (event.repeat || (isAnother && isQuick)) event.preventDefault();
    else entered = event;
  });
}
