/** The name that `word` was probably meant to be: the nearest, with at most one slip for every four letters. */
export function nearMiss(word: string, names: readonly string[]): string | undefined {
  const most = (name: string) => Math.max(1, Math.floor(name.length / 4));
  const [nearest] = names
    .filter((name) => Math.abs(name.length - word.length) <= most(name))
    .map((name) => ({ name, slips: slipsBetween(word, name) }))
    .filter(({ name, slips }) => slips <= most(name))
    .sort((a, b) => a.slips - b.slips);
  return nearest?.name;
}

/** How many letters are missing, added, changed, or swapped with the next (optimal string alignment). */
function slipsBetween(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j += 1) {
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        at(i - 1, j) + 1,
        at(i, j - 1) + 1,
        at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
        isSwap ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
  }
  return at(a.length, b.length);
}
