import { createWriteStream, fstatSync } from "node:fs";
import { Writable } from "node:stream";
import type { ReadStream, WriteStream } from "node:tty";
import { Chalk, type ChalkInstance } from "chalk";

/** An output stream, and how to format for it. */
export interface Screen {
  readonly stream: NodeJS.WritableStream;
  /** Laid out for a person, at a terminal. Otherwise plain text for a program, with tabs between the fields. */
  readonly rich: boolean;
  readonly columns: number;
  readonly rows: number;
  /** Whether the terminal can overwrite a line (not TERM=dumb). */
  readonly live: boolean;
  readonly paint: ChalkInstance;
  /** Whether the terminal shows more than ASCII. */
  readonly unicode: boolean;
}

/** The three standard streams. stdout is the result, stderr is everything else. */
export interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: Screen;
  readonly stderr: Screen;
  /** stderr for errors and warnings, which --quiet does not silence. */
  readonly errors: Screen;
  /** Whether a question can be asked: on stderr, with the answer from stdin. */
  readonly interactive: boolean;
  /** Whether any of the three streams is a terminal. */
  readonly attended: boolean;
  /** Whether only the result and errors are printed. */
  readonly isQuiet: boolean;
  readonly env: Environment;
}

type Output = NodeJS.WritableStream & Partial<Pick<WriteStream, "isTTY" | "columns" | "rows">>;

export type Environment = Readonly<Record<string, string | undefined>>;

export function openTerminal(
  streams: { stdin: NodeJS.ReadStream; stdout: Output; stderr: Output },
  env: Environment,
  noColor: boolean,
): Terminal {
  const { stdin, stdout, stderr } = streams;
  const errors = screen(stderr, env, noColor);
  return {
    stdin,
    stdout: screen(stdout, env, noColor),
    stderr: errors,
    errors,
    interactive: isTerminal(stdin) && isTerminal(stderr),
    attended: [stdin, stdout, stderr].some(isTerminal),
    isQuiet: false,
    env,
  };
}

/** The terminal under --quiet: stderr takes nothing, so no question can be asked. */
export function quiet(terminal: Terminal): Terminal {
  const sink = new Writable({ write: (_chunk, _encoding, done) => done() });
  return {
    ...terminal,
    stderr: { ...terminal.stderr, stream: sink, live: false },
    interactive: false,
    isQuiet: true,
  };
}

/**
 * Opens standard output. For a file, the stream reports short writes; Node's own loses data silently on a full disk.
 */
export function openOutput(stdout: Output & { readonly fd: number }): Output {
  return fstatSync(stdout.fd).isFile() ? createWriteStream("", { fd: stdout.fd, autoClose: false }) : stdout;
}

export function write(screen: Screen, text: string): void {
  screen.stream.write(`${text}\n`);
}

/** Clears the current line, such as a progress bar, or the ^C that the terminal shows. */
export function clearLine({ stream, live }: Screen): void {
  if (live) stream.write("\r\u001b[K");
}

/** The screen as wide and high as its terminal is now. */
export function resized(screen: Screen): Screen {
  const { columns = screen.columns, rows = screen.rows } = screen.stream as Partial<WriteStream>;
  return { ...screen, columns, rows };
}

/** Redraws the screen without flicker. Lines that do not fit are cut above the last line. */
export function showPage(stdout: Screen, text: string, lastLine: string): void {
  const lines = text
    .trimEnd()
    .split("\n")
    .slice(0, Math.max(0, stdout.rows - 3));
  const page = [...lines, "", lastLine].map((line) => `${line}\u001b[K\r\n`);
  stdout.stream.write(`\u001b[H${page.join("")}\u001b[J`);
}

/** FX_FORCE_TTY=columns lays output out as for a terminal of that width, for pagers and documents. */
function screen(stream: Output, env: Environment, noColor: boolean): Screen {
  const forced = Number.parseInt(env.FX_FORCE_TTY ?? "", 10);
  const rich = forced > 0 || isTerminal(stream);
  return {
    stream,
    rich,
    columns: forced > 0 ? forced : isTerminal(stream) ? stream.columns || 80 : Number.POSITIVE_INFINITY,
    rows: isTerminal(stream) ? stream.rows || 24 : 24,
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

function isTerminal(stream: NodeJS.ReadStream | Output): stream is ReadStream & WriteStream {
  return stream.isTTY === true;
}
