/** A state that changes by events only, as `step` says, and tells who watches it. */
export class StateMachine<State, Event> {
  #state: State;
  readonly #step: (state: State, event: Event) => State;
  readonly #watchers = new Set<() => void>();

  constructor(start: State, step: (state: State, event: Event) => State) {
    this.#state = start;
    this.#step = step;
  }

  get state(): State {
    return this.#state;
  }

  tell(event: Event): State {
    this.#state = this.#step(this.#state, event);
    for (const changed of [...this.#watchers]) changed();
    return this.#state;
  }

  watch(onChange: () => void): () => void {
    this.#watchers.add(onChange);
    return () => this.#watchers.delete(onChange);
  }
}
