/**
 * Hides all but the first six of every run of 11 digits or more. No amount has such a run: see `formatMoney`. The id of
 * a receipt, and a hash or id of 32 hexadecimal digits, may have one, and stay whole.
 */
export function maskPesels(text: string): string {
  return text.replace(
    /\b[\da-f]{8}-[\da-f]{4}-[47][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}\b|\b(?=\d*[a-f])[\da-f]{32,}\b|\d{11,}/g,
    (run) => (/[a-f-]/.test(run) ? run : `${run.slice(0, 6)}*****`),
  );
}
