import type { ReadStream } from "node:tty";
import type { CalendarDate } from "../core/date.ts";
import { type Pesel, parsePesel } from "../core/pesel.ts";
import type { ExchangeService } from "../core/service.ts";
import { type Config, loadConfig } from "./config.ts";
import { type Exit, Interrupted, type MoneyRequest, RequestFailed, UsageError } from "./errors.ts";
import type { Needs } from "./open.ts";
import { withoutLinks, withoutSecrets } from "./target.ts";
import { writeDocument } from "./terminal/output.ts";
import { type Terminal, takeScreen, write } from "./terminal/terminal.ts";

/** What the command line gave, by the option's name. */
export interface CommandOptions {
  readonly json?: boolean;
  readonly url?: string;
  readonly rates?: string;
}

/** One Ctrl-C under npx arrives twice: from the terminal, and passed on by npm. */
export const sameSignalMs = 300;

/** What every command works with: the terminal, the settings, and the service they name. */
export class Context {
  readonly terminal: Terminal;
  /** Of fx. */
  readonly version: string;
  /** Rejects when a signal ends the command. */
  readonly interrupted: Promise<never>;
  /** The exit of a command that does not fail: not 0 if it found something wrong. */
  exit: Exit = 0;
  giveBackScreen: () => void = () => {};
  #interrupt: (reason: Interrupted) => void = () => {};
  #request: MoneyRequest | undefined;
  #ignoreSignals: (() => void) | undefined;
  #stop: ((signal: Interrupted["signal"]) => void) | undefined;
  #stoppingSince = Number.NEGATIVE_INFINITY;
  #service: ExchangeService | undefined;

  constructor(terminal: Terminal, version: string) {
    this.terminal = terminal;
    this.version = version;
    this.interrupted = new Promise((_, reject) => {
      this.#interrupt = reject;
    });
    this.interrupted.catch(() => {});
  }

  config(options: CommandOptions): Config {
    return loadConfig({ ...options }, this.terminal.env);
  }

  /**
   * The settings of a command that asks a service.
   * @throws UsageError
   */
  asking(options: CommandOptions): Config {
    const config = this.config(options);
    const { url } = config.settings;
    if (config.origins.rates === "flag" && url.kind === "server") {
      throw new UsageError(
        `--rates is for a store in this process. The server at ${withoutSecrets(url.address)} has rates of its own.`,
      );
    }
    return config;
  }

  /** Opens the service that the settings name, here or behind HTTP. */
  async service(options: CommandOptions, needs: Needs): Promise<ExchangeService> {
    const { settings } = this.asking(options);
    this.watchSignals();
    const { openService } = await import("./open.ts");
    this.#service = await openService({ ...settings, url: withoutLinks(settings.url) }, needs);
    return this.#service;
  }

  /** At the first signal `stop` is called, for the command to end by itself; the next one interrupts it. */
  stopOnSignal(stop: (signal: Interrupted["signal"]) => void): void {
    this.#stop = stop;
    this.watchSignals();
  }

  /** The request that moves money, if the command has one. */
  get request(): MoneyRequest | undefined {
    return this.#request;
  }

  /** Called before a request that moves money is sent, so that an interrupt can report it. */
  prepare(key: string): void {
    this.#request = { key, state: "unsent" };
  }

  /** @throws RequestFailed */
  async send<T>(key: string, request: () => Promise<T>): Promise<T> {
    this.#request = { key, state: "sent" };
    try {
      const answer = await request();
      this.#request = { key, state: "done" };
      return answer;
    } catch (error) {
      this.#request = { key, state: "unsent" };
      throw new RequestFailed(key, error);
    }
  }

  /**
   * Reads a PESEL argument; "-" is standard input, so that it stays out of the shell's history and the process list.
   * @throws FxError invalid-pesel
   */
  async pesel(argument: string): Promise<Pesel> {
    const text = argument === "-" ? await this.#line("PESEL: ") : argument;
    return parsePesel(text.trim(), await this.today());
  }

  /** Today in Poland. */
  async today(): Promise<CalendarDate> {
    const { warsawDate } = await import("../core/date.ts");
    return warsawDate(new Date());
  }

  /**
   * Whether to ask before money moves: not with --yes, and not in a script.
   * @throws UsageError if someone is at a terminal but cannot be asked
   */
  asksFirst(yes: boolean): boolean {
    const { interactive, attended } = this.terminal;
    if (yes || !attended) return false;
    if (interactive) return true;
    throw new UsageError(
      "The question cannot be asked, because stdin or stderr is redirected. Give --yes to go on without it.",
    );
  }

  /** Asks a yes-or-no question, where the end of input is a no. */
  async confirm(question: string): Promise<boolean> {
    return /^y(es)?$/i.test((await this.#ask(`${question} [y/N] `)).trim());
  }

  /** Prints the result as the one document of --json. */
  document(document: unknown): void {
    writeDocument(this.terminal.stdout, document);
  }

  /** Takes the screen until `giveBackScreen`, which is called at the latest before a failure is shown. */
  takeScreen(keyboard: ReadStream, onKey: (key: string) => void): void {
    this.giveBackScreen = takeScreen(this.terminal.stdout, keyboard, (key) => {
      // In raw mode Ctrl-C is a key, and no signal unless it is made one.
      if (key.includes("\u0003")) this.#take("SIGINT");
      else onKey(key);
    });
  }

  async close(): Promise<void> {
    try {
      await this.#service?.close();
    } finally {
      this.#ignoreSignals?.();
    }
  }

  /** Makes SIGINT and SIGTERM end the command with their exits. Before this, they end it silently. */
  watchSignals(): void {
    if (this.#ignoreSignals !== undefined) return;
    const signals = ["SIGINT", "SIGTERM"] as const;
    const take = (signal: NodeJS.Signals) => this.#take(signal as Interrupted["signal"]);
    for (const signal of signals) process.on(signal, take);
    this.#ignoreSignals = () => {
      for (const signal of signals) process.removeListener(signal, take);
    };
  }

  #take(signal: Interrupted["signal"]): void {
    const stop = this.#stop;
    this.#stop = undefined;
    if (stop !== undefined) {
      this.#stoppingSince = performance.now();
      stop(signal);
    } else if (performance.now() - this.#stoppingSince > sameSignalMs) {
      this.#interrupt(new Interrupted(signal, this.#request));
    }
  }

  async #line(prompt: string): Promise<string> {
    if (this.terminal.interactive) return this.#ask(prompt);
    let text = "";
    for await (const chunk of this.terminal.stdin) {
      text += String(chunk);
      if (text.includes("\n") || text.length > 1000) break;
    }
    const [line = ""] = text.split("\n");
    if (line.trim() === "") throw new UsageError("There is no PESEL on standard input.");
    return line;
  }

  async #ask(prompt: string): Promise<string> {
    this.watchSignals();
    const { stdin, stderr } = this.terminal;
    const { createInterface } = await import("node:readline/promises");
    const lines = createInterface({ input: stdin, output: stderr.stream });
    // At a terminal in raw mode Ctrl-C is a key, and no signal unless it is made one.
    lines.on("SIGINT", () => {
      write(stderr, "");
      this.#take("SIGINT");
    });
    const ended = new Promise<undefined>((resolve) => lines.once("close", () => resolve(undefined)));
    const answer = await Promise.race([lines.question(prompt), ended]);
    lines.close();
    if (answer === undefined) write(stderr, "");
    return answer ?? "";
  }
}
