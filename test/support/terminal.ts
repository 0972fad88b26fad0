import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { launcher, quoted } from "./shell.ts";

export interface AtTerminal {
  /** Everything written to the screen, with control sequences. */
  readonly screen: string;
  /** The final plain text, without overwritten parts. */
  readonly text: string;
  readonly exit: number | null;
}

/** Text typed once `after` has been shown. A function gets the id of the command's process. */
export type Reply = readonly [after: string, typed: string | ((pid: number) => string)];

export interface TerminalOptions {
  readonly replies?: readonly Reply[];
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
  readonly cwd?: string;
}

/** Runs the built `fx` at a pseudo-terminal. */
export function runAtTerminal(args: readonly string[], options: TerminalOptions = {}): Promise<AtTerminal> {
  return runCommandAtTerminal([process.execPath, launcher, ...args], options);
}

/** Runs any command at a pseudo-terminal made by `script` of util-linux. */
export async function runCommandAtTerminal(
  words: readonly string[],
  options: TerminalOptions = {},
): Promise<AtTerminal> {
  const { replies = [], env = {}, columns = 80, rows = 40, cwd } = options;
  const command = words.map(quoted).join(" ");
  const line = `stty cols ${columns} rows ${rows} && exec ${command}`;
  const child = spawn("script", ["-qfec", line, "/dev/null"], {
    cwd,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: "/nonexistent",
      TERM: "xterm",
      TZ: "UTC",
      SHELL: "/bin/sh",
      ...env,
    },
  });
  let screen = "";
  let answered = 0;
  const left = [...replies];
  child.stdout.setEncoding("utf8").on("data", (shown) => {
    screen += shown;
    const [after, typed] = left[0] ?? [];
    if (after === undefined || typed === undefined || !screen.includes(after, answered)) return;
    left.shift();
    answered = screen.length;
    child.stdin.write(typeof typed === "string" ? typed : typed(childOf(child.pid ?? 0)));
  });
  await once(child, "close");
  child.stdin.destroy();
  const text = stripVTControlCharacters(screen).replaceAll(/\r+\n/g, "\n").replaceAll(/^.*\r/gm, "");
  return { screen, text, exit: child.exitCode };
}

/** The process that `script` runs, from /proc. */
function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0]);
}
