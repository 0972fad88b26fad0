import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import packageJson from "../package.json" with { type: "json" };
import { exitOfBatch, exitTable, outcomes } from "../src/cli/exits.ts";
import { answerCodes } from "../src/core/errors.ts";
import { statusOf } from "../src/wire/problem.ts";
import { commands } from "./support/commands.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const decisions = readdirSync(join(root, "docs/decisions")).map((file) => `docs/decisions/${file}`);
const pages = readdirSync(root)
  .filter((file) => file.endsWith(".md"))
  .concat(
    readdirSync(join(root, "docs"))
      .filter((file) => /\.\w+$/.test(file) && !file.endsWith(".webp"))
      .map((file) => `docs/${file}`),
    decisions,
  );

test("docs/ERRORS.md has a row for every code, with its status and its exit", () => {
  const rows = [...read("docs/ERRORS.md").matchAll(/^\| `([a-z-]+)` \| (\d+) \| (\d+) \| (.+?) \|/gm)];
  assert.deepEqual(
    rows.map(([, code, status, exit]) => `${code} ${status} ${exit}`).sort(),
    answerCodes.map((code) => `${code} ${statusOf[code]} ${outcomes[code][0]}`).sort(),
  );
});

test("docs/CLI.md has the exit table as it is", () => {
  const rows = exitTable.map(
    ([exit, meaning, moved, next]) => `| ${exit} | ${meaning} | ${moved} | ${next} |`,
  );
  const page = read("docs/CLI.md").replaceAll("|  |", "| |");
  for (const row of [...rows, exitOfBatch]) assert.ok(page.includes(row.replaceAll("|  |", "| |")), row);
});

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  const headings = page.replace(/^```[\s\S]*?^```/gm, "").matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, text = ""]) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

// npm packs README, LICENSE and package.json by itself.
const packed = ["README.md", "LICENSE", ...packageJson.files];
const isPacked = (path: string) => packed.some((name) => path === name || path.startsWith(`${name}/`));

for (const page of pages) {
  test(`Every link of ${page} leads to a file and a heading`, () => {
    for (const [, target = "", anchor] of read(page).matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g)) {
      const path = target === "" ? page : relative(root, join(root, dirname(page), target));
      const text = read(path);
      assert.ok(isPacked(path), `${page}: ${path} is not in the package`);
      if (anchor !== undefined) assert.ok(anchorsOf(text).includes(anchor), `${page}: ${target}#${anchor}`);
    }
  });
}

test("docs/OPERATIONS.md names every setting of fx serve", () => {
  const page = read("docs/OPERATIONS.md");
  const flags = commands
    .find((command) => command.name() === "serve")
    ?.options.map(({ long }) => long ?? "")
    .filter((flag) => !["--demo", "--help"].includes(flag));
  assert.ok((flags?.length ?? 0) > 15);
  assert.deepEqual(
    flags?.filter((flag) => !new RegExp(`${flag}\\b`).test(page)),
    [],
  );
});

test("Every row of a table in a page has as many cells as its head", () => {
  // A bar ends a cell within code, too, unless it is escaped.
  const cellsOf = (row: string) => row.split(/(?<!\\)\|/).length;
  const wrong = pages.flatMap((page) => {
    const lines = read(page).split("\n");
    return lines.flatMap((line, index) => {
      const head = lines.slice(0, index + 1).findLastIndex((one) => !one.startsWith("|")) + 1;
      const isRow = line.startsWith("|") && page.endsWith(".md");
      return isRow && cellsOf(line) !== cellsOf(lines[head] ?? "") ? [`${page}:${index + 1}`] : [];
    });
  });
  assert.deepEqual(wrong, []);
});

test("docs/DECISIONS.md lists every decision, by its number and title", () => {
  const listed = read("docs/DECISIONS.md").matchAll(/^(\d+)\. \[(.+)\]\((decisions\/.+)\)$/gm);
  assert.deepEqual(
    [...listed].map(([, number, title, page]) => [`docs/${page}`, `# ${number}. ${title}`]),
    decisions.sort().map((page) => [page, read(page).split("\n", 1)[0]]),
  );
});

test("Every file that docs/ARCHITECTURE.md, docs/LEDGER.md and the decisions name exists", () => {
  for (const page of ["docs/ARCHITECTURE.md", "docs/LEDGER.md", ...decisions]) {
    for (const [, path = ""] of read(page).matchAll(/`((?:src|test|docs|bench)\/[\w./-]+)`/g)) {
      assert.ok(
        readdirSync(join(root, dirname(path))).includes(path.split("/").filter(Boolean).at(-1) ?? ""),
        `${page} names ${path}`,
      );
    }
  }
});

test("Every name that docs/ARCHITECTURE.md places in a file is defined or used there", () => {
  const placed = read("docs/ARCHITECTURE.md").matchAll(
    /`([\w.#]+)`,? (?:and `([\w.#]+)` )?in `(src\/[\w./-]+\.ts)`/g,
  );
  const missing = [...placed].flatMap(([, one, other, path = ""]) =>
    [one, other]
      .filter((name) => name && !read(path).includes(name.split(".").at(-1) as string))
      .map((name) => `${name} in ${path}`),
  );
  assert.deepEqual(missing, []);
});
