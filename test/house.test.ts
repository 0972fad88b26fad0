import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "src");

/** The folders of src that each may import from. An arrow that is not here points the wrong way. */
const arrows: Record<string, readonly string[]> = {
  core: [],
  files: [],
  ledger: ["core"],
  rates: ["core", "outbound"],
  wire: ["core"],
  outbound: ["core", "wire"],
  sql: ["core", "ledger"],
  sqlite: ["core", "files", "ledger", "sql"],
  postgres: ["core", "ledger", "sql"],
  batch: ["core", "wire"],
  http: ["core", "wire"],
  client: ["core", "wire", "outbound"],
  web: ["core", "wire", "batch"],
  cli: [
    "core",
    "files",
    "ledger",
    "rates",
    "wire",
    "batch",
    "sqlite",
    "postgres",
    "http",
    "client",
    "outbound",
    "..",
  ],
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

/** The files that break a rule; a test requires that there are none. */
function offenders(breaks: (file: (typeof files)[number]) => unknown[], among = files): string[] {
  return among.flatMap((file) => breaks(file).map((what) => `src/${file.file}: ${what}`));
}

/** The files of src that a file imports, by types, too. */
function importedBy({ file, code }: (typeof files)[number]): string[] {
  return importsOf(code)
    .filter((target) => target.startsWith("."))
    .map((target) => relative(source, join(source, dirname(file), target)));
}

test("Every folder of src has a rule about what it may import", () => {
  assert.deepEqual([...new Set(files.map(({ folder }) => folder))].sort(), Object.keys(arrows).sort());
});

test("Imports of src point one way", () => {
  const wrong = (file: (typeof files)[number]) =>
    importedBy(file).filter((imported) => {
      const to = folderOf(imported);
      return to !== file.folder && !arrows[file.folder]?.includes(to);
    });
  assert.ok(files.some((file) => importedBy(file).length > 3));
  assert.deepEqual(offenders(wrong), []);
});

test("The core imports no package, awaits nothing, and has no clock and no randomness", () => {
  const core = files.filter(({ folder }) => folder === "core");
  const impure =
    /from "[^.]|\bawait\b|\bDate\.now\b|\bnew Date\(\)|\bprocess\b|\bconsole\b|\bMath\.random\b/g;
  assert.deepEqual(
    offenders(({ code }) => [...code.matchAll(impure)].map(([found]) => found), core),
    [],
  );
});

test("In the command, only open.ts imports a store, a source or a client, with few exceptions", () => {
  const adapters = /^(sqlite|postgres|rates|client|http)\//;
  const own = {
    // A backup is of a SQLite file, and doctor looks at each thing by itself.
    "cli/commands/backup.ts": ["sqlite/backup.ts"],
    "cli/commands/completion/completion.ts": ["rates/recorded.ts"],
    "cli/commands/doctor/checkup.ts": ["client/http-service.ts", "client/transport.ts", "rates/open.ts"],
    "cli/commands/serve/server.ts": [
      ...["http/admin.ts", "http/origin.ts", "http/paths.ts", "http/server.ts"],
      "rates/trading.ts",
    ],
    "cli/commands/serve/tls.ts": ["http/server.ts"],
    // Only the rule that says whether the tables of a source age.
    "cli/program.ts": ["rates/source.ts"],
  } as Record<string, readonly string[]>;
  const inCli = files.filter(({ folder, file }) => folder === "cli" && file !== "cli/open.ts");
  assert.ok(inCli.length > 20);
  const wrong = (file: (typeof files)[number]) =>
    importedBy(file).filter((target) => adapters.test(target) && !own[file.file]?.includes(target));
  assert.deepEqual(offenders(wrong, inCli), []);
});

test("No file takes the path of a URL, where a space is %20, for the path of a file", () => {
  for (const folder of ["src", "test", "bench"]) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (!/\.[jt]sx?$/.test(file)) continue;
      const text = readFileSync(join(root, folder, file), "utf8");
      assert.doesNotMatch(text, /import\.meta\.url\)\.pathname/, `${folder}/${file}`);
    }
  }
});

test("No two exported types of src have the same name", () => {
  const declared = (text: string) =>
    [...text.matchAll(/^export (?:declare )?(?:abstract )?(?:class|interface|type|enum) (\w+)/gm)].map(
      ([, name]) => name,
    );
  const names = files.flatMap(({ code }) => declared(code));
  assert.ok(names.length > 200);
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  );
});

test("Nothing in src is left for later, and no warning is silenced", () => {
  const left = /\b(TODO|FIXME|XXX)\b|@ts-(ignore|nocheck|expect-error)|biome-ignore/g;
  assert.deepEqual(
    offenders(({ text }) => [...text.matchAll(left)].map(([found]) => found)),
    [],
  );
});

test("src uses no interface that is experimental in Node 20", () => {
  const modules = /"node:(?:readline\/promises|sqlite|sea|test|wasi|trace_events|inspector\/promises)"/;
  const names =
    /import \{[^}]*\b(?:hash|addAbortListener|compose|scheduler|styleText|openAsBlob|cp|cpSync|parseEnv|MIMEType|register|tracingChannel|promiseHooks)\b[^}]*\} from "node:|\bimport\.meta\.(?:dirname|filename|resolve)\b/;
  // The methods of arrays that readable streams have as an experiment, called on a stream.
  const operators =
    /(?:\bReadable\.from\([^;]*?\)|\b(?:stdin|body|socket|stream|request|response|raw))\s*\.(?:map|filter|forEach|toArray|some|find|every|flatMap|drop|take|reduce|compose|iterator)\(/;
  assert.deepEqual(
    offenders(({ file, code }) =>
      file.startsWith("web/")
        ? []
        : [modules, names, operators].flatMap((form) => form.exec(code)?.[0] ?? []),
    ),
    [],
  );
});
