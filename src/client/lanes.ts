/** Runs tasks, so many at once at most, and those of one account in the order in which they came. */
export class Lanes {
  #free: number;
  readonly #waiting: (() => void)[] = [];
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(width: number) {
    this.#free = width;
  }

  /** @param task that never fails */
  async run<T>(account: string, task: () => Promise<T>): Promise<T> {
    const mine = this.#after(this.#last.get(account), task);
    this.#last.set(account, mine);
    const result = await mine;
    if (this.#last.get(account) === mine) this.#last.delete(account);
    return result;
  }

  async #after<T>(before: Promise<unknown> | undefined, task: () => Promise<T>): Promise<T> {
    await before;
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const result = await task();
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
    return result;
  }
}
