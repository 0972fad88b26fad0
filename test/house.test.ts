import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "src");

/** What each folder of src may import from the others. An arrow that is not here points the wrong way. */
const arrows: Record<string, readonly string[]> = {
  "": ["core"],
  core: [],
  ledger: ["core"],
  rates: ["core"],
  wire: ["core"],
  http: ["core", "wire"],
  client: ["core", "wire"],
  cli: ["core", "ledger", "rates", "wire", "http", "client"],
};
/** Files at the top of src, and who may import them. */
const topFiles: Record<string, readonly string[]> = {
  "../package.json": ["cli"],
  "warsaw.ts": ["rates", "http", "cli"],
  "config.ts": ["cli"],
};

const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => {
    const text = readFileSync(join(source, file), "utf8");
    return {
      file,
      folder: folderOf(file),
      text,
      code: text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, ""),
    };
  });

function folderOf(file: string): string {
  return file.includes("/") ? file.slice(0, file.indexOf("/")) : "";
}

/** The targets of static, dynamic and type imports and of re-exports. */
function importsOf(text: string): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map(([, target]) => target ?? "");
}

/** The files that break a rule, which has to be none. */
function offenders(breaks: (file: (typeof files)[number]) => unknown[], among = files): string[] {
  return among.flatMap((file) => breaks(file).map((what) => `src/${file.file}: ${what}`));
}

test("imports point one way", () => {
  const wrong = ({ file, folder, code }: (typeof files)[number]) =>
    importsOf(code)
      .filter((target) => target.startsWith("."))
      .map((target) => relative(source, join(source, dirname(file), target)))
      .filter((imported) => {
        const to = imported in topFiles ? "" : folderOf(imported);
        if (to === folder) return false;
        return !(to === "" ? topFiles[imported]?.includes(folder) : arrows[folder]?.includes(to));
      });
  assert.deepEqual(offenders(wrong), []);
});

test("the core imports nothing but itself", () => {
  const core = files.filter(({ folder }) => folder === "core");
  assert.ok(core.length > 5);
  assert.deepEqual(
    offenders(({ code }) => importsOf(code).filter((target) => !/^\.\/[a-z]+\.ts$/.test(target)), core),
    [],
  );
});

test("the core has no await, no clock and no chance", () => {
  const core = files.filter(({ folder }) => folder === "core");
  const impure = /\bawait\b|\bDate\.now\b|\bnew Date\(\)|\bprocess\b|\bconsole\b|\bMath\.random\b/g;
  assert.deepEqual(
    offenders(({ code }) => [...code.matchAll(impure)].map(([found]) => found), core),
    [],
  );
});

test("only cli names a concrete adapter", () => {
  const adapters =
    /ledger\/(sqlite|postgres)\.ts|rates\/(nbp|recorded)\.ts|client\/http-service\.ts|http\/server\.ts/;
  const outside = files.filter(({ folder }) => !["cli"].includes(folder));
  assert.deepEqual(
    offenders(
      ({ folder, code }) =>
        importsOf(code).filter(
          (target) => !target.startsWith("./") && adapters.test(target) && folder !== "",
        ),
      outside,
    ),
    [],
  );
});

test("files are named in kebab-case, for what they are", () => {
  const named = /^([a-z0-9]+(-[a-z0-9]+)*\/)*[a-z0-9]+(-[a-z0-9]+)*\.ts$/;
  assert.deepEqual(
    offenders(({ file }) =>
      named.test(file) && !/utils|helpers|manager|index\.ts/.test(file) ? [] : [file],
    ),
    [],
  );
});

test("no file is longer than 400 lines", () => {
  assert.deepEqual(
    offenders(({ text }) => (text.split("\n").length > 401 ? [`${text.split("\n").length} lines`] : [])),
    [],
  );
});

test("nothing is left for later and nothing is silenced", () => {
  const left =
    /\b(TODO|FIXME|XXX)\b|@ts-(ignore|nocheck|expect-error)|biome-ignore|export default|export \*/g;
  assert.deepEqual(
    offenders(({ text }) => [...text.matchAll(left)].map(([found]) => found)),
    [],
  );
});

test("built-in modules are imported as node:", () => {
  assert.deepEqual(
    offenders(({ code }) => importsOf(code).filter((target) => builtinModules.includes(target))),
    [],
  );
});
