import { clearLine, type Screen } from "./terminal.ts";

export interface Progress {
  readonly done: number;
  readonly total: number | undefined;
  /** The counted items, such as "lines". */
  readonly unit: string;
}

const redrawMs = 100;

/** One line at a terminal that is written over: a bar, how many are done, how fast, and how long it will take. */
export class ProgressLine {
  readonly #screen: Screen;
  readonly #start = performance.now();
  #drawn = Number.NEGATIVE_INFINITY;
  #first: number | undefined;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** Does nothing where a line cannot be overwritten, and limits the rate of updates. */
  show(progress: Progress): void {
    this.#first ??= progress.done;
    const now = performance.now();
    if (!this.#screen.live || now - this.#drawn < redrawMs) return;
    this.#drawn = now;
    const seconds = (now - this.#start) / 1000;
    const line = describeProgress(progress, (progress.done - this.#first) / seconds, this.#screen.columns);
    this.#screen.stream.write(`\r${line}\u001b[K`);
  }

  /** Clears the line, so that something else can be written there. */
  clear(): void {
    if (this.#drawn === Number.NEGATIVE_INFINITY) return;
    clearLine(this.#screen);
    this.#drawn = Number.NEGATIVE_INFINITY;
  }
}

/** @param rate per second */
function describeProgress({ done, total, unit }: Progress, rate: number, columns: number): string {
  const counted = `${done} ${unit}, ${Math.round(rate)}/s`;
  if (!total) return counted.slice(0, columns - 1);
  const share = Math.min(1, done / total);
  const left = rate > 0 ? `, ${duration((total - done) / rate)} left` : "";
  const figures = `${Math.floor(share * 100)} %  ${counted}${left}`;
  const width = Math.min(30, columns - figures.length - 4);
  const bar = width < 5 ? "" : `[${"#".repeat(Math.round(share * width)).padEnd(width, ".")}] `;
  return `${bar}${figures}`.slice(0, columns - 1);
}

/** "0:07", "12:30", "1:02:03". */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const tail = `${String(minutes).padStart(hours > 0 ? 2 : 1, "0")}:${String(whole % 60).padStart(2, "0")}`;
  return hours > 0 ? `${hours}:${tail}` : tail;
}
