/** Notifies its watchers of each change. */
export class Watched {
  readonly #watchers = new Set<() => void>();

  watch(onChange: () => void): () => void {
    this.#watchers.add(onChange);
    return () => this.#watchers.delete(onChange);
  }

  protected changed(): void {
    for (const changed of [...this.#watchers]) changed();
  }
}
