import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import { build, defineConfig, type Options } from "tsup";
import { manualPages } from "./src/cli/manual.ts";

type Plugin = NonNullable<Options["esbuildPlugins"]>[number];

const target = "dist";
const staging = `dist-${process.pid}`;

// The dependencies have native parts or files beside their code, and stay in node_modules. What else the code imports
// loads faster from one file than from the hundreds of its own: it is bundled, and a devDependency.
export default defineConfig({
  entry: { main: "src/cli/main.ts" },
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
  esbuildPlugins: [globalProcess(), noteBundled()],
  silent: true,
  esbuildOptions: (options) => {
    options.logLevel = "warning";
  },
  onSuccess: async () => {
    await writeManual();
    await buildPage();
    await writeLicences();
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

/** What only the OpenAPI document says of the wire's shapes is no part of the page. */
function withoutDocumentation(): Plugin {
  return {
    name: "without-documentation",
    setup: ({ onLoad }) => {
      onLoad({ filter: /src\/wire\/[\w-]*(requests|schemas)\.ts$/ }, async ({ path }) => {
        const code = await readFile(path, "utf8");
        const contents = code
          .replace(/\bdescription:(\s*\+?\s*"(\\.|[^"\\])*")+,?/g, "")
          .replace(/\bexamples: \[[^[\]]*\],?/g, "")
          .replace(/\.meta\(\{\s*(id: "\w+",?)?\s*\}\)/g, "");
        return { contents, loader: "ts" };
      });
    },
  };
}

/** The folders of the packages whose code is in a bundle. */
const inBundles = new Set<string>();

function noteBundled(): Plugin {
  return {
    name: "note-bundled",
    setup: ({ onEnd }) => {
      onEnd(({ metafile }) => {
        for (const path of Object.keys(metafile?.inputs ?? {})) {
          const folder = /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0];
          if (folder !== undefined) inBundles.add(folder);
        }
      });
    },
  };
}

/** What goes with the code of others: the licences that ask for it, and the list of all that is in the package. */
async function writeLicences() {
  const folders = [...inBundles].sort();
  const texts = folders.map(async (folder) => {
    const file = (await readdir(folder)).find((name) => /^licen[cs]e/i.test(name));
    if (file === undefined) throw new Error(`${folder} has no licence`);
    return `${folder}\n\n${await readFile(join(folder, file), "utf8")}`;
  });
  await writeFile(join(staging, "LICENSES.txt"), (await Promise.all(texts)).join("\n\n"));
  const bill = JSON.stringify(await billOfMaterials(folders), null, 1);
  await writeFile(join(staging, "sbom.cdx.json"), `${bill}\n`);
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

/** What tellers see, each file beside itself compressed. */
async function buildPage() {
  const folder = join(staging, "web");
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
    // What only an operator opens is loaded then.
    splitting: true,
    // The page is whole without packages: what it imports is in it.
    noExternal: [/./],
    esbuildPlugins: [noteBundled(), withoutDocumentation()],
    silent: true,
    esbuildOptions: (options) => {
      options.logLevel = "warning";
      options.legalComments = "none";
    },
  });
  // What the page needs at once is asked for at once.
  const main = await readFile(join(assets, "main.js"), "utf8");
  const parts = new Set(main.match(/(?<=from\s*"\.\/)chunk-\w+\.js(?=")/g));
  const links = [...parts].map((part) => `<link rel="modulepreload" href="assets/${part}">\n    `);
  const html = await readFile("src/web/index.html", "utf8");
  await writeFile(join(folder, "index.html"), html.replace("<script", `${links.join("")}<script`));
  await copyFile("src/web/icon.svg", join(assets, "icon.svg"));
  for (const name of await readdir(assets)) {
    const bytes = await readFile(join(assets, name));
    await writeFile(join(assets, `${name}.br`), await promisify(brotliCompress)(bytes));
    await writeFile(join(assets, `${name}.gz`), await promisify(gzip)(bytes, { level: 9 }));
  }
}

/**
 * Each file takes its place whole, the one that imports the others as the last, and what an earlier build left goes
 * after that: a command that starts or runs meanwhile finds its files.
 */
async function putInPlace() {
  for (const folder of ["man", "web/assets"]) await mkdir(join(target, folder), { recursive: true });
  const built = (await filesOf(staging)).sort((a, b) => Number(a === "main.js") - Number(b === "main.js"));
  for (const file of built) await rename(join(staging, file), join(target, file));
  await rm(staging, { recursive: true });
  for (const file of await filesOf(target))
    if (!built.includes(file)) await rm(join(target, file), { force: true });
}

async function filesOf(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).filter((path) => /\.\w+$/.test(path));
}
