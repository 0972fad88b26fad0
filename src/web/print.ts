/** Prints one part of the page. style.css knows which by the document's `data-print`. */
export async function printOnly(part: "receipt" | "statement"): Promise<void> {
  const { dataset } = document.documentElement;
  dataset.print = part;
  // What was set just before is on the page two frames later.
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  addEventListener("afterprint", () => delete dataset.print, { once: true });
  print();
}
