import type { ReadStream, WriteStream } from "node:tty";
import { Chalk, type ChalkInstance } from "chalk";

/** One output stream, and how to write for whoever reads it. */
export interface Screen {
  readonly stream: NodeJS.WritableStream;
  /** Laid out for a person, at a terminal. Otherwise plain text for a program, with tabs between the fields. */
  readonly rich: boolean;
  readonly columns: number;
  /** Whether a line can be written over, as a progress bar does. */
  readonly live: boolean;
  readonly paint: ChalkInstance;
  /** Whether the terminal shows more than ASCII. */
  readonly unicode: boolean;
}

/** The three standard streams. stdout is the result, stderr is everything else. */
export interface Terminal {
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: Screen;
  readonly stderr: Screen;
  /** Whether somebody is there to be asked. */
  readonly interactive: boolean;
  readonly env: Environment;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export function openTerminal(
  streams: { stdin: NodeJS.ReadStream; stdout: NodeJS.WriteStream; stderr: NodeJS.WriteStream },
  env: Environment,
  noColor: boolean,
): Terminal {
  const { stdin, stdout, stderr } = streams;
  return {
    stdin,
    stdout: screen(stdout, env, noColor),
    stderr: screen(stderr, env, noColor),
    interactive: isTerminal(stdin) && isTerminal(stderr),
    env,
  };
}

/** Writes one line or several. */
export function write(screen: Screen, text: string): void {
  screen.stream.write(`${text}\n`);
}

/** FX_FORCE_TTY=columns lays output out as for a terminal of that width, for pagers and documents. */
function screen(stream: NodeJS.WriteStream, env: Environment, noColor: boolean): Screen {
  const forced = Number.parseInt(env.FX_FORCE_TTY ?? "", 10);
  const rich = forced > 0 || isTerminal(stream);
  return {
    stream,
    rich,
    columns: forced > 0 ? forced : isTerminal(stream) ? stream.columns || 80 : Number.POSITIVE_INFINITY,
    live: isTerminal(stream) && env.TERM !== "dumb",
    paint: new Chalk({ level: hasColor(isTerminal(stream), env, noColor) ? 1 : 0 }),
    unicode: /^$|utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || ""),
  };
}

export function hasColor(terminal: boolean, env: Environment, noColor: boolean): boolean {
  if (noColor) return false;
  if (env.FORCE_COLOR !== undefined) return !["0", "false"].includes(env.FORCE_COLOR);
  if (env.NO_COLOR || env.TERM === "dumb") return false;
  return terminal;
}

function isTerminal(stream: NodeJS.ReadStream | NodeJS.WriteStream): stream is ReadStream & WriteStream {
  return stream.isTTY === true;
}
