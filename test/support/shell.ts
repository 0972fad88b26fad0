import { fileURLToPath } from "node:url";

/** A word quoted for the shell: a path may have spaces, quotes and dollar signs. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** The built `fx` of this checkout. */
export const launcher = fileURLToPath(new URL("../../bin/fx.js", import.meta.url));

/** The shell's words that run it. */
export const fxInShell = `${quoted(process.execPath)} ${quoted(launcher)}`;
