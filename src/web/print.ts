/**
 * Prints one part of the page as it is drawn. styles/print.css knows which by the document's `data-print`.
 * @param onEnd is called when the browser's dialog closes
 */
export function printOnly(part: "receipt" | "statement" | "till", onEnd = () => {}): void {
  const { dataset } = document.documentElement;
  dataset.print = part;
  const end = () => {
    delete dataset.print;
    onEnd();
  };
  addEventListener("afterprint", end, { once: true });
  print();
}
