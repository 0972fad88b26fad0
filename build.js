import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

// These load faster from one file than from the hundreds of their own. The others have native parts or files beside
// their code, and stay in node_modules.
const bundled = ["chalk", "cli-table3", "commander", "csv-parse", "dataloader", "got", "uuid", "zod"];

const { dependencies } = JSON.parse(await readFile(new URL("package.json", import.meta.url), "utf8"));
// As an ES module, node:process reads all of its properties, and opens the standard streams: 8 ms at every start.
const globalProcess = {
  name: "global-process",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^node:process$/ }, ({ path }) => ({ path, namespace: "global-process" }));
    onLoad({ filter: /./, namespace: "global-process" }, () => ({ contents: "module.exports = process;" }));
  },
};

const options = {
  absWorkingDir: import.meta.dirname,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  plugins: [globalProcess],
  external: Object.keys(dependencies).filter((name) => !bundled.includes(name)),
  // CommonJS packages in the bundle call require.
  banner: {
    js: 'import { createRequire as createRequireOf } from "node:module"; const require = createRequireOf(import.meta.url);',
  },
  logLevel: "warning",
};

const { metafile } = await build({
  ...options,
  metafile: true,
  entryPoints: ["src/cli/main.ts"],
  outdir: "dist",
  // What a command imports when it runs stays in files of its own, and is read only then.
  splitting: true,
});

// What a build before has left goes last, so that a command that runs meanwhile finds its files.
const dist = new URL("dist/", import.meta.url);
const built = Object.keys(metafile.outputs).map((path) => basename(path));
for (const { name } of (await readdir(dist, { withFileTypes: true })).filter((entry) => entry.isFile())) {
  if (!built.includes(name)) await rm(new URL(name, dist), { force: true });
}

await writeManual();

/** The man pages, made from the definitions of the commands by a program that is gone afterwards. */
async function writeManual() {
  const program = new URL(`manual-${process.pid}.js`, dist);
  await build({ ...options, entryPoints: ["src/cli/manual.ts"], outfile: fileURLToPath(program) });
  const { manualPages } = await import(program.href).finally(() => rm(program, { force: true }));
  const pages = manualPages();
  const folder = new URL("man/", dist);
  await mkdir(folder, { recursive: true });
  for (const [name, text] of pages) await writeFile(new URL(name, folder), text);
  for (const name of await readdir(folder))
    if (!pages.has(name)) await rm(new URL(name, folder), { force: true });
}
