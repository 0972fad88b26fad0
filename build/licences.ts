import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Options } from "tsup";

type Plugin = NonNullable<Options["esbuildPlugins"]>[number];

/** Notes the folder of each package whose code is bundled. */
export function noteBundled(folders: Set<string>): Plugin {
  return {
    name: "note-bundled",
    setup: ({ onEnd }) => {
      onEnd(({ metafile }) => {
        for (const path of Object.keys(metafile?.inputs ?? {})) {
          const folder = /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0];
          if (folder !== undefined) folders.add(folder);
        }
      });
    },
  };
}

/** Writes the licences of bundled packages, which their authors ask for. */
export async function writeLicences(path: string, folders: ReadonlySet<string>): Promise<void> {
  const texts = [...folders].sort().map(async (folder) => {
    const file = (await readdir(folder)).find((name) => /^licen[cs]e/i.test(name));
    if (file === undefined) throw new Error(`${folder} has no licence`);
    return `${folder.slice(folder.indexOf("node_modules/"))}\n\n${await readFile(join(folder, file), "utf8")}`;
  });
  await writeFile(path, (await Promise.all(texts)).join("\n\n"));
}
