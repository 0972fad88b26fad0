import { fileURLToPath } from "node:url";

/** A word as the shell reads it: a path may have spaces, quotes and dollar signs. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** The built `fx` of this folder. */
export const launcher = fileURLToPath(new URL("../../bin/fx.js", import.meta.url));

/** What runs it in a shell. */
export const fxInShell = `${quoted(process.execPath)} ${quoted(launcher)}`;
