import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { manualPages } from "../src/cli/manual.ts";

/**
 * Writes the man pages, made from the definitions of the commands, and lists them in package.json: npm installs those
 * of `man`, and ignores `directories.man` of a packed file.
 */
export async function writeManual(folder: string): Promise<void> {
  const pages = manualPages();
  await mkdir(folder, { recursive: true });
  for (const [name, text] of pages) await writeFile(join(folder, name), text);
  const before = await readFile("package.json", "utf8");
  const listed = { ...JSON.parse(before), man: [...pages.keys()].sort().map((name) => `dist/man/${name}`) };
  const after = `${JSON.stringify(listed, null, 2)}\n`;
  if (after !== before) await writeFile("package.json", after);
}
