import { copyFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import { build, type Options } from "tsup";

/** Builds the page for tellers into a folder, each file beside itself compressed. */
export async function buildPage(
  folder: string,
  esbuildPlugins: NonNullable<Options["esbuildPlugins"]>,
): Promise<void> {
  const assets = join(folder, "assets");
  await build({
    config: false,
    entry: { main: "src/web/main.tsx" },
    outDir: assets,
    tsconfig: "src/web/tsconfig.json",
    format: "esm",
    platform: "browser",
    target: "es2022",
    minify: true,
    noExternal: [/./],
    esbuildPlugins,
    silent: true,
    esbuildOptions: (options) => {
      options.logLevel = "warning";
      options.legalComments = "none";
    },
  });
  await copyFile("src/web/index.html", join(folder, "index.html"));
  await copyFile("src/web/icon.svg", join(assets, "icon.svg"));
  for (const name of await readdir(assets)) {
    const bytes = await readFile(join(assets, name));
    await writeFile(join(assets, `${name}.br`), await promisify(brotliCompress)(bytes));
    await writeFile(join(assets, `${name}.gz`), await promisify(gzip)(bytes, { level: 9 }));
  }
}
