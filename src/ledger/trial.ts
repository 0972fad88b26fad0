import { FxError } from "../core/errors.ts";
import type { RefusalRetention } from "./refusal.ts";
import type { Store } from "./store.ts";
import { answerOf, type Command, Overlay, Work } from "./work.ts";

/** Decides commands as their commits would, each after those before it, and writes nothing. */
export class Trial {
  readonly #store: Pick<Store, "look">;
  readonly #now: () => Date;
  readonly #retention: RefusalRetention;
  readonly #overlay = new Overlay();

  constructor(store: Pick<Store, "look">, now: () => Date, retention: RefusalRetention) {
    this.#store = store;
    this.#now = now;
    this.#retention = retention;
  }

  /** Answers each in its place. An FxError in place of a command is its own answer. */
  decide<T>(commands: readonly (Command<T> | FxError)[]): Promise<(T | FxError)[]> {
    const touched = commands.flatMap((command) => (command instanceof FxError ? [] : [command.request]));
    return this.#store.look(touched, (loaded) => {
      const work = new Work(loaded, this.#overlay, { time: this.#now(), retention: this.#retention });
      return commands.map((command) =>
        command instanceof FxError ? command : answerOf<T>(work.take(command)),
      );
    });
  }
}
