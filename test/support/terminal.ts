import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";

export interface AtTerminal {
  /** What the screen has shown, colour and all. */
  readonly screen: string;
  /** The same as plain text. */
  readonly text: string;
  readonly exit: number | null;
}

const launcher = fileURLToPath(new URL("../../bin/fx.js", import.meta.url));

/**
 * Runs the built `fx` at a real terminal, which util-linux's `script` makes. Each reply is typed when what it waits
 * for has been shown.
 */
export async function runAtTerminal(
  args: readonly string[],
  options: {
    readonly replies?: readonly (readonly [after: string, typed: string | (() => string)])[];
    readonly env?: Readonly<Record<string, string>>;
    readonly columns?: number;
  } = {},
): Promise<AtTerminal> {
  const { replies = [], env = {}, columns = 80 } = options;
  const command = [process.execPath, launcher, ...args].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qfec", `stty cols ${columns} rows 40 && exec ${command}`, "/dev/null"], {
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
    child.stdin.write(typeof typed === "string" ? typed : typed());
  });
  await once(child, "close");
  child.stdin.destroy();
  return { screen, text: stripVTControlCharacters(screen).replaceAll("\r", ""), exit: child.exitCode };
}
