import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { defineConfig, type Options } from "tsup";
import { manualPages } from "./src/cli/manual.ts";

type Plugin = NonNullable<Options["esbuildPlugins"]>[number];

const target = "dist";
const staging = `dist-${process.pid}`;

// The dependencies have native parts or files beside their code, and stay in node_modules. What else the code imports
// loads faster from one file than from the hundreds of its own: it is bundled, and a devDependency.
export default defineConfig({
  entry: { main: "src/cli/main.ts", "books-worker": "src/cli/books-worker.ts" },
  outDir: staging,
  format: "esm",
  platform: "node",
  target: "node20",
  // What a command imports when it runs stays in files of its own, and is read only then.
  splitting: true,
  removeNodeProtocol: false,
  // CommonJS packages in the bundle call require.
  banner: {
    js: 'import { createRequire as createRequireOf } from "node:module"; const require = createRequireOf(import.meta.url);',
  },
  esbuildPlugins: [globalProcess(), licences()],
  silent: true,
  esbuildOptions: (options) => {
    options.logLevel = "warning";
  },
  onSuccess: async () => {
    await writeManual();
    await putInPlace();
  },
});

/** As an ES module, node:process reads all of its properties, and opens the standard streams: 8 ms at every start. */
function globalProcess(): Plugin {
  return {
    name: "global-process",
    setup: ({ onResolve, onLoad }) => {
      onResolve({ filter: /^node:process$/ }, ({ path }) => ({ path, namespace: "global-process" }));
      onLoad({ filter: /./, namespace: "global-process" }, () => ({ contents: "module.exports = process;" }));
    },
  };
}

/** Whose code is in the bundle asks that its licence goes with it. */
function licences(): Plugin {
  return {
    name: "licences",
    setup: ({ onEnd }) => {
      onEnd(async ({ metafile }) => {
        if (metafile === undefined) return;
        const packages = Object.keys(metafile.inputs).flatMap(
          (path) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
        );
        const texts = [...new Set(packages)].sort().map(async (folder) => {
          const file = (await readdir(folder)).find((name) => /^licen[cs]e/i.test(name));
          if (file === undefined) throw new Error(`${folder} has no licence`);
          return `${folder}\n\n${await readFile(join(folder, file), "utf8")}`;
        });
        await mkdir(staging, { recursive: true });
        await writeFile(join(staging, "LICENSES.txt"), (await Promise.all(texts)).join("\n\n"));
      });
    },
  };
}

/** The man pages, made from the definitions of the commands. */
async function writeManual() {
  await mkdir(join(staging, "man"));
  for (const [name, text] of manualPages()) await writeFile(join(staging, "man", name), text);
}

/**
 * Each file takes its place whole, the one that imports the others as the last, and what an earlier build left goes
 * after that: a command that starts or runs meanwhile finds its files.
 */
async function putInPlace() {
  await mkdir(join(target, "man"), { recursive: true });
  const built = (await filesOf(staging)).sort((a, b) => Number(a === "main.js") - Number(b === "main.js"));
  for (const file of built) await rename(join(staging, file), join(target, file));
  await rm(staging, { recursive: true });
  for (const file of await filesOf(target))
    if (!built.includes(file)) await rm(join(target, file), { force: true });
}

async function filesOf(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).filter((path) => /\.\w+$/.test(path));
}
