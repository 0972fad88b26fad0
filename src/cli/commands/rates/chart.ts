/** One line of a chart. */
export interface Series {
  /** At least one. */
  readonly values: readonly number[];
  readonly paint: (text: string) => string;
}

const bars = "▁▂▃▄▅▆▇█";

/** The values as one row of bars, the lowest to the highest over the whole height. */
export function sparkline(values: readonly number[]): string {
  const { low, span } = rangeOf(values);
  return values.map((value) => bars[Math.round(((value - low) / span) * (bars.length - 1))]).join("");
}

/** The bits of a Braille character, 2 dots wide and 4 high. */
const dots = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;

/**
 * Lines over one another in a frame of `width` and `height` characters, of Braille dots: 8 to a character, so that 90
 * tables fit a terminal of 40 columns. The scale stands to the left, inside of `width`.
 */
export function plot(
  series: readonly Series[],
  { width, height, label }: { width: number; height: number; label: (value: number) => string },
): string[] {
  const { low, span } = rangeOf(series.flatMap(({ values }) => values));
  // A label at every fourth row, and at the last.
  const labels = Array.from({ length: height }, (_, row) =>
    row % 4 === 0 || row === height - 1 ? label(low + span * (1 - row / (height - 1))) : "",
  );
  const indent = Math.max(...labels.map(({ length }) => length));
  const columns = width - indent - 2;
  const cells = Array.from({ length: height }, () =>
    new Array<BrailleCell>(columns).fill({ bits: 0, series: 0 }),
  );
  series.forEach(({ values }, index) => {
    for (const [x, y] of trace(values, 2 * columns, 4 * height, low, span)) {
      const row = cells[Math.floor(y / 4)] as BrailleCell[];
      const before = row[Math.floor(x / 2)] as BrailleCell;
      row[Math.floor(x / 2)] = { bits: before.bits | (dots[y % 4]?.[x % 2] ?? 0), series: index };
    }
  });
  return cells.map((row, index) => {
    const scale = labels[index] ?? "";
    return `${scale.padStart(indent)} ${scale === "" ? "│" : "┤"}${painted(row, series)}`;
  });
}

/** A row as text, with neighbours of one series painted together. */
function painted(row: readonly BrailleCell[], series: readonly Series[]): string {
  const runs: { text: string; series: number }[] = [];
  for (const { bits, series: by } of row) {
    const text = bits === 0 ? " " : String.fromCodePoint(0x2800 + bits);
    const run = runs.at(-1);
    // A gap has the colour of the dots before it.
    if (run !== undefined && (bits === 0 || run.series === by)) run.text += text;
    else runs.push({ text, series: bits === 0 ? -1 : by });
  }
  const last = runs.at(-1);
  if (last !== undefined) last.text = last.text.trimEnd();
  return runs.map(({ text, series: by }) => series[by]?.paint(text) ?? text).join("");
}

interface BrailleCell {
  readonly bits: number;
  /** The series that drew here last. */
  readonly series: number;
}

/** Every dot of one line, each column joined to the one before. */
function* trace(
  values: readonly number[],
  width: number,
  height: number,
  low: number,
  span: number,
): Generator<readonly [x: number, y: number]> {
  const heightAt = (x: number): number => {
    const position = (x / (width - 1)) * (values.length - 1);
    const [from = 0, to = from] = values.slice(Math.floor(position), Math.floor(position) + 2);
    return Math.round((1 - (from + (to - from) * (position % 1) - low) / span) * (height - 1));
  };
  let before = heightAt(0);
  for (let x = 0; x < width; x += 1) {
    const y = heightAt(x);
    for (let between = Math.min(y, before); between <= Math.max(y, before); between += 1) {
      // The column before keeps its own dot of the two ends.
      if (between !== before || y === before) yield [x, between];
    }
    before = y;
  }
}

/** The lowest value, and the span to the highest: never 0, as it is a divisor. */
function rangeOf(values: readonly number[]): { low: number; span: number } {
  const low = Math.min(...values);
  return { low, span: Math.max(...values) - low || 1 };
}
