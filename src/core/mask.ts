/**
 * Hides all but the first six of every run of 11 digits or more. No amount has such a run: see `formatMoney`. A hash or
 * id of 32 hexadecimal digits may have one, and stays whole.
 */
export function maskPesels(text: string): string {
  return text.replace(/\b(?=\d*[a-f])[0-9a-f]{32,}\b|\d{11,}/g, (run) =>
    /[a-f]/.test(run) ? run : `${run.slice(0, 6)}*****`,
  );
}
