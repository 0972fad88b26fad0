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

/** What goes with the code of others: the licences that ask for it, and the list of all that is in the package. */
function licences(): Plugin {
  return {
    name: "licences",
    setup: ({ onEnd }) => {
      onEnd(async ({ metafile }) => {
        if (metafile === undefined) return;
        const inBundle = Object.keys(metafile.inputs).flatMap(
          (path) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
        );
        const folders = [...new Set(inBundle)].sort();
        await mkdir(staging, { recursive: true });
        const texts = folders.map(async (folder) => {
          const file = (await readdir(folder)).find((name) => /^licen[cs]e/i.test(name));
          if (file === undefined) throw new Error(`${folder} has no licence`);
          return `${folder}\n\n${await readFile(join(folder, file), "utf8")}`;
        });
        await writeFile(join(staging, "LICENSES.txt"), (await Promise.all(texts)).join("\n\n"));
        await writeFile(
          join(staging, "sbom.cdx.json"),
          `${JSON.stringify(await billOfMaterials(folders), null, 1)}\n`,
        );
      });
    },
  };
}

/** A package, as the lock file has it under its path. */
interface Locked {
  readonly name?: string;
  readonly version: string;
  readonly license: string;
  readonly integrity?: string;
  readonly dev?: true;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** CycloneDX's bill of materials: the packages in the bundle, and the dependencies beside it. */
async function billOfMaterials(inBundle: readonly string[]): Promise<object> {
  const lock: { packages: Record<string, Locked> } = JSON.parse(await readFile("package-lock.json", "utf8"));
  const { "": own, ...others } = lock.packages;
  const bundled = inBundle.map((folder) => folder.slice(folder.indexOf("node_modules/")));
  const shipped = Object.entries(others).filter(([path, { dev }]) => !dev || bundled.includes(path));
  const paths = new Set(shipped.map(([path]) => path));
  const component = (path: string, { version, license, integrity }: Locked, type = "library") => {
    const name = path.split("node_modules/").at(-1) as string;
    const hash = Buffer.from(integrity?.replace("sha512-", "") ?? "", "base64").toString("hex");
    return {
      type,
      "bom-ref": path,
      name,
      version,
      licenses: [{ license: { id: license } }],
      purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
      ...(hash && { hashes: [{ alg: "SHA-512", content: hash }] }),
    };
  };
  /** Where Node finds what a package imports. */
  const found = (from: string, name: string): string[] => {
    const path = `${from && `${from}/`}node_modules/${name}`;
    if (paths.has(path)) return [path];
    return from === "" ? [] : found(from.slice(0, Math.max(0, from.lastIndexOf("/node_modules/"))), name);
  };
  const dependencies = (ref: string, { dependencies, devDependencies }: Locked) => ({
    ref: ref || "fx",
    dependsOn: Object.keys({ ...dependencies, ...devDependencies }).flatMap((name) => found(ref, name)),
  });
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: component("fx", own as Locked, "application") },
    components: shipped.map(([path, locked]) => component(path, locked)),
    dependencies: Object.entries({ "": own as Locked, ...Object.fromEntries(shipped) }).map(
      ([path, locked]) => dependencies(path, locked),
    ),
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
