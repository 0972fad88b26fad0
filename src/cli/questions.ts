import { warsawDate } from "../core/date.ts";
import { type Pesel, parsePesel } from "../core/pesel.ts";
import { UsageError } from "./errors.ts";
import type { Signals } from "./signals.ts";
import { type Terminal, write } from "./terminal/terminal.ts";

/** Questions to the user, on stderr, with the answer from stdin. */
export class Questions {
  readonly #terminal: Terminal;
  readonly #signals: Signals;

  constructor(terminal: Terminal, signals: Signals) {
    this.#terminal = terminal;
    this.#signals = signals;
  }

  /**
   * Whether to ask before money moves: not with --yes, and not in a script.
   * @throws UsageError if someone is at a terminal but cannot be asked
   */
  asksFirst(yes: boolean): boolean {
    const { interactive, attended } = this.#terminal;
    if (yes || !attended) return false;
    if (interactive) return true;
    throw new UsageError(
      "The question cannot be asked, because of --quiet, or because stdin or stderr is redirected. Give --yes to go on without it.",
    );
  }

  /** Asks a yes-or-no question, where the end of input is a no. */
  async confirm(question: string): Promise<boolean> {
    return /^y(es)?$/i.test((await this.#ask(`${question} [y/N] `)).trim());
  }

  /**
   * Reads a PESEL argument; "-" is standard input, so that it stays out of the shell's history and the process list.
   * @throws FxError invalid-pesel
   */
  async pesel(argument: string): Promise<Pesel> {
    const text = argument === "-" ? await this.#line() : argument;
    return parsePesel(text.trim(), warsawDate(new Date()));
  }

  /** @throws UsageError */
  async #line(): Promise<string> {
    if (this.#terminal.interactive) return this.#ask("PESEL: ");
    let text = "";
    for await (const chunk of this.#terminal.stdin) {
      text += String(chunk);
      if (text.includes("\n") || text.length > 1000) break;
    }
    const [line = "", ...rest] = text.split("\n");
    if (line.trim() === "") throw new UsageError("There is no PESEL on standard input.");
    if (rest.join("").trim() !== "") {
      throw new UsageError("There is more than one line on standard input. Give one PESEL.");
    }
    return line;
  }

  async #ask(prompt: string): Promise<string> {
    this.#signals.watch();
    const { stdin, stderr } = this.#terminal;
    const { createInterface } = await import("node:readline");
    const lines = createInterface({ input: stdin, output: stderr.stream });
    lines.on("SIGINT", () => {
      write(stderr, "");
      this.#signals.take("SIGINT");
    });
    const answer = await new Promise<string | undefined>((resolve) => {
      lines.once("close", () => resolve(undefined));
      lines.question(prompt, resolve);
    });
    lines.close();
    if (answer === undefined) write(stderr, "");
    return answer ?? "";
  }
}
