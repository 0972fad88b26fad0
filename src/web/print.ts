/** Prints one part of the page as it is drawn. styles/print.css knows which by the document's `data-print`. */
export function printOnly(part: "receipt" | "statement" | "till"): void {
  const { dataset } = document.documentElement;
  dataset.print = part;
  addEventListener("afterprint", () => delete dataset.print, { once: true });
  print();
}
