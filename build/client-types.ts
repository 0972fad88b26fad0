import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const entry = "client/main.d.ts";
const importedFile = /(?<=(?:from |import\()")(\.[^"]+)\.ts(?=")/g;

/**
 * Writes the types of fx/client into a folder: its declarations and those that they lead to, and no others. They import no
 * package.
 */
export async function writeClientTypes(folder: string): Promise<void> {
  const made = await mkdtemp(join(tmpdir(), "fx-types-"));
  const faults = await declare(made);
  const files = new Set([entry]);
  for (const file of files) {
    const source = `src/${file.replace(".d.ts", ".ts")}(`;
    const fault = faults.find((line) => line.startsWith(source));
    if (fault !== undefined) throw new Error(fault);
    const text = await readFile(join(made, file), "utf8");
    for (const [, path = ""] of text.matchAll(importedFile)) files.add(join(dirname(file), `${path}.d.ts`));
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text.replace(importedFile, "$1.js"));
  }
  await rm(made, { recursive: true });
}

/**
 * Makes the declarations of every file that the entry imports, and returns what the compiler has against them. Most of
 * these files are not public: a type of theirs that has no name outside its file harms nobody.
 */
async function declare(folder: string): Promise<readonly string[]> {
  const tsc = join("node_modules", "typescript", "bin", "tsc");
  const args = [tsc, "-p", "build/client-types.json", "--pretty", "false", "--outDir", folder];
  try {
    await promisify(execFile)(process.execPath, args);
    return [];
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout).split("\n");
  }
}
