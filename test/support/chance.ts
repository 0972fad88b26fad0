/** mulberry32: pseudo-random numbers from 0 to 1, the same for the same seed on every platform. */
export function chanceFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Random choices that are reproducible by their seed. */
export class Chance {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = chanceFrom(seed);
  }

  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  /** True with this probability, in percent. */
  percent(share: number): boolean {
    return this.#next() * 100 < share;
  }

  /** @param list must not be empty */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  /** A name chosen by weight. */
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
