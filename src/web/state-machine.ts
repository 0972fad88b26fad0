/** Tells who watches it of each change. */
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

/** A state that changes by events only, as `step` says. */
export class StateMachine<State, Event> extends Watched {
  #state: State;
  readonly #step: (state: State, event: Event) => State;

  constructor(start: State, step: (state: State, event: Event) => State) {
    super();
    this.#state = start;
    this.#step = step;
  }

  get state(): State {
    return this.#state;
  }

  tell(event: Event): State {
    this.#state = this.#step(this.#state, event);
    this.changed();
    return this.#state;
  }
}
