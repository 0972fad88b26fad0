import { isatty } from "node:tty";
import { Interrupted, type SentRequest } from "./errors.ts";
import { type Signal, signalExits } from "./exits.ts";

const watched = Object.keys(signalExits) as readonly Signal[];

/** One Ctrl-C under npx arrives twice: from the terminal, and passed on by npm. */
export const sameSignalMs = 300;

/** SIGINT, SIGTERM and SIGHUP while a command runs. Before `watch` is called, they end the command without a message. */
export class Signals {
  /** Rejects when a signal ends the command. */
  readonly interrupted: Promise<never>;
  readonly #requestOf: () => SentRequest | undefined;
  #interrupt: (reason: Interrupted) => void = () => {};
  #stop: ((signal: Signal) => void) | undefined;
  #stoppingSince = Number.NEGATIVE_INFINITY;
  #isWatching = false;
  /** Whether SIGHUP ends the command. Under nohup, whose ignoring of SIGHUP Node resets, no stream is a terminal. */
  readonly #endsOnHangup = [0, 1, 2].some((descriptor) => isatty(descriptor));

  /** @param requestOf the request that changes something, which an interrupt reports */
  constructor(requestOf: () => SentRequest | undefined) {
    this.#requestOf = requestOf;
    this.interrupted = new Promise((_, reject) => {
      this.#interrupt = reject;
    });
    this.interrupted.catch(() => {});
  }

  /** From now on, a signal ends the command with its exit. */
  watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    for (const signal of watched) process.on(signal, this.take);
  }

  /** At the first signal `stop` is called, for the command to end by itself; the next one interrupts it. */
  stopOnFirst(stop: (signal: Signal) => void): void {
    this.#stop = stop;
    this.watch();
  }

  /** Handles a signal, or Ctrl-C, which is a key in raw mode. */
  readonly take = (signal: NodeJS.Signals): void => {
    const isStopping = this.#stoppingSince > Number.NEGATIVE_INFINITY;
    // A closed terminal can send SIGHUP twice: by the system, and by the shell.
    if (signal === "SIGHUP" && (isStopping || !this.#endsOnHangup)) return;
    const stop = this.#stop;
    this.#stop = undefined;
    if (stop !== undefined) {
      this.#stoppingSince = performance.now();
      stop(signal as Signal);
    } else if (performance.now() - this.#stoppingSince > sameSignalMs) {
      this.#interrupt(new Interrupted(signal as Signal, this.#requestOf()));
    }
  };

  close(): void {
    for (const signal of watched) process.removeListener(signal, this.take);
  }
}
