const kept = 100_000;

/** What was last put or got, so many at most. */
export class Recent<Key, Value> {
  /** The older half is dropped as a whole, because deleting the first keys of a Map one by one gets ever slower. */
  #recent = new Map<Key, Value>();
  #older = new Map<Key, Value>();

  get(key: Key): Value | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const older = this.#older.get(key);
    if (older !== undefined) this.put(key, older);
    return older;
  }

  put(key: Key, value: Value): void {
    this.#recent.set(key, value);
    if (this.#recent.size < kept / 2) return;
    this.#older = this.#recent;
    this.#recent = new Map();
  }

  clear(): void {
    this.#recent.clear();
    this.#older.clear();
  }
}
