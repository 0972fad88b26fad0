import type { Writable } from "node:stream";

/** As much as a reader that is a few seconds late lets gather. */
const unreadAtMost = 1024 * 1024;

/**
 * A log that writes the lines of one turn of the event loop together, because a write for each costs an order a tenth of
 * its time (docs/PERFORMANCE.md). Lines that a reader who has stalled leaves no room for are dropped and counted.
 */
export class TurnLog {
  /** Is told how many lines were dropped when there is room again. */
  onDropped: (lines: number) => void = () => {};
  readonly #stream: Writable;
  readonly #flush = () => {
    const { writableLength } = this.#stream;
    if (this.#lines !== "" && writableLength < unreadAtMost) this.#stream.write(this.#lines);
    else this.#dropped += this.#count;
    this.#lines = "";
    this.#count = 0;
  };
  #lines = "";
  #count = 0;
  #dropped = 0;

  constructor(stream: Writable) {
    this.#stream = stream;
    process.on("exit", this.#flush);
    stream.on("drain", () => {
      const dropped = this.#dropped;
      this.#dropped = 0;
      if (dropped > 0) this.onDropped(dropped);
    });
  }

  write(line: string): void {
    if (this.#lines === "") setImmediate(this.#flush);
    this.#lines += line;
    this.#count += 1;
  }

  end(): void {
    this.#flush();
    process.off("exit", this.#flush);
  }
}
