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
  core: [],
  ledger: ["core"],
  rates: ["core"],
  wire: ["core"],
  sql: ["core", "ledger"],
  sqlite: ["core", "ledger", "sql"],
  postgres: ["core", "ledger", "sql"],
  batch: ["core", "wire"],
  http: ["core", "wire"],
  client: ["core", "wire"],
  web: ["core", "wire", "batch"],
  cli: ["core", "ledger", "rates", "wire", "batch", "sqlite", "postgres", "http", "client", ".."],
};

const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file))
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

/** The files of src that a file imports, by types, too. */
function importedBy({ file, code }: (typeof files)[number]): string[] {
  return importsOf(code)
    .filter((target) => target.startsWith("."))
    .map((target) => relative(source, join(source, dirname(file), target)));
}

test("every file stands in a folder that has its rule", () => {
  assert.deepEqual([...new Set(files.map(({ folder }) => folder))].sort(), Object.keys(arrows).sort());
});

test("imports point one way", () => {
  const wrong = (file: (typeof files)[number]) =>
    importedBy(file).filter((imported) => {
      const to = folderOf(imported);
      return to !== file.folder && !arrows[file.folder]?.includes(to);
    });
  assert.ok(files.some((file) => importedBy(file).length > 3));
  assert.deepEqual(offenders(wrong), []);
});

test("no files import each other in a circle", () => {
  const imports = new Map(files.map((file) => [file.file, importedBy(file)]));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]) => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" > "));
    if (done.has(file) || path.includes(file)) return;
    for (const imported of imports.get(file) ?? []) visit(imported, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  assert.deepEqual(circles, []);
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

test("only cli/open.ts names a concrete adapter, but for what has no other", () => {
  const adapters = /^(sqlite|postgres|rates|client|http)\//;
  const own = {
    // A backup is of a SQLite file, and doctor looks at each thing by itself.
    "cli/commands/backup.ts": ["sqlite/backup.ts"],
    "cli/commands/completion/completion.ts": ["rates/recorded.ts"],
    "cli/commands/doctor/checkup.ts": ["client/http-service.ts", "client/transport.ts", "rates/inspect.ts"],
    "cli/commands/serve/server.ts": [
      ...["http/admin.ts", "http/origin.ts", "http/paths.ts", "http/server.ts"],
      "rates/news.ts",
    ],
    "cli/commands/serve/tls.ts": ["http/server.ts"],
  } as Record<string, readonly string[]>;
  const inCli = files.filter(({ folder, file }) => folder === "cli" && file !== "cli/open.ts");
  assert.ok(inCli.length > 20);
  const wrong = (file: (typeof files)[number]) =>
    importedBy(file).filter((target) => adapters.test(target) && !own[file.file]?.includes(target));
  assert.deepEqual(offenders(wrong, inCli), []);
});

test("no file takes a URL's path, in which a space is %20, for the path of a file", () => {
  for (const folder of ["src", "test", "bench"]) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (!/\.[jt]sx?$/.test(file)) continue;
      const text = readFileSync(join(root, folder, file), "utf8");
      assert.doesNotMatch(text, /import\.meta\.url\)\.pathname/, `${folder}/${file}`);
    }
  }
});

test("a command's exit is set in one place", () => {
  assert.deepEqual(
    offenders(({ file, code }) => (file === "cli/run.ts" || !/\bexitCode\s*=/.test(code) ? [] : [file])),
    [],
  );
});

test("files are named in kebab-case, for what they are", () => {
  const named = /^([a-z0-9]+(-[a-z0-9]+)*\/)*[a-z0-9]+(-[a-z0-9]+)*\.tsx?$/;
  assert.deepEqual(
    offenders(({ file }) =>
      named.test(file) && !/utils|helpers|manager|index\.ts/.test(file) ? [] : [file],
    ),
    [],
  );
});

test("a type's name says one thing", () => {
  const declared = (text: string) =>
    [...text.matchAll(/^export (?:declare )?(?:abstract )?(?:class|interface|type|enum) (\w+)/gm)].map(
      ([, name]) => name,
    );
  const names = files.flatMap(({ code }) => declared(code));
  assert.ok(names.length > 200);
  // The batcher's own request.
  const known = ["Request"];
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index && !known.includes(name ?? "")),
    [],
  );
});

test("the rules, the ledger and the rates have no two files of one name", () => {
  const names = files
    .filter(({ folder }) => ["core", "ledger", "rates"].includes(folder))
    .map(({ file }) => file.slice(file.indexOf("/") + 1));
  // The interface, and what implements it; the lines of a checkpoint, and the audit's part about them.
  const known = ["service.ts", "checkpoint.ts"];
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index && !known.includes(name)),
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
