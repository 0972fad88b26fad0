/** Numbers from 0 to 1. mulberry32: the same from the same seed, everywhere. */
export function chanceFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Choices that a seed repeats. */
export class Chance {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = chanceFrom(seed);
  }

  /** A whole number from 0, below `limit`. */
  below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  /** True so often of a hundred times. */
  percent(share: number): boolean {
    return this.#next() * 100 < share;
  }

  /** @param list with one or more */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  /** A name, as often as its weight says. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const names = Object.entries<number>(weights) as [Name, number][];
    let rest = this.#next() * names.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of names) {
      rest -= weight;
      if (rest < 0) return name;
    }
    return (names.at(-1) as [Name, number])[0];
  }

  bytes(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, () => this.below(256)));
  }
}
