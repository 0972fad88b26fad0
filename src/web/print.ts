/**
 * Prints one part of the page, once it is drawn. styles/print.css knows which by the document's `data-print`.
 * @returns a function that cancels it, as long as the browser's dialog has not opened
 */
export function printOnly(part: "receipt" | "statement" | "till"): () => void {
  const { dataset } = document.documentElement;
  dataset.print = part;
  const end = () => delete dataset.print;
  // A state set just before is rendered two frames later.
  let frame = requestAnimationFrame(() => {
    frame = requestAnimationFrame(() => {
      frame = 0;
      addEventListener("afterprint", end, { once: true });
      print();
    });
  });
  return () => {
    if (frame === 0) return;
    cancelAnimationFrame(frame);
    end();
  };
}
