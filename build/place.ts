import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * Moves a build into the place of an earlier one while commands start and run from there. Each file takes its place
 * whole, and those that import the others are the last. Only then the earlier build's own files are removed.
 */
export async function putInPlace(staging: string, target: string): Promise<void> {
  const isLast = (file: string) => Number(["client.js", "main.js"].includes(file));
  const built = (await filesOf(staging)).sort((a, b) => isLast(a) - isLast(b));
  for (const file of built) {
    await mkdir(dirname(join(target, file)), { recursive: true });
    await rename(join(staging, file), join(target, file));
  }
  await rm(staging, { recursive: true });
  for (const file of await filesOf(target)) {
    if (!built.includes(file)) await rm(join(target, file), { force: true });
  }
}

async function filesOf(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).filter((path) => /\.\w+$/.test(path));
}
