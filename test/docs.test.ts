import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { exitOf, exitTable } from "../src/cli/errors.ts";
import { answerCodes } from "../src/core/errors.ts";
import { statusOf } from "../src/wire/problem.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const pages = readdirSync(root)
  .filter((file) => file.endsWith(".md"))
  .concat(
    readdirSync(join(root, "docs"))
      .filter((file) => !file.endsWith(".webp"))
      .map((file) => `docs/${file}`),
  );

test("docs/ERRORS.md has a row for every code, with its status and its exit", () => {
  const rows = [...read("docs/ERRORS.md").matchAll(/^\| `([a-z-]+)` \| (\d+) \| (\d+) \| (.+?) \|/gm)];
  assert.deepEqual(
    rows.map(([, code, status, exit]) => `${code} ${status} ${exit}`).sort(),
    answerCodes.map((code) => `${code} ${statusOf[code]} ${exitOf[code]}`).sort(),
  );
});

test("docs/CLI.md has the exit table as it is", () => {
  const rows = exitTable.map(
    ({ exit, meaning, moved, next }) => `| ${exit} | ${meaning} | ${moved} | ${next} |`,
  );
  const page = read("docs/CLI.md").replaceAll("|  |", "| |");
  for (const row of rows) assert.ok(page.includes(row.replaceAll("|  |", "| |")), row);
});

describe("every link to a file of the project leads to one", () => {
  for (const page of pages) {
    test(page, () => {
      for (const [, target = ""] of read(page).matchAll(/\]\(([^)#:]+)(#[^)]*)?\)/g)) {
        const path = relative(root, join(root, dirname(page), target));
        assert.doesNotThrow(() => read(path), `${page} links to ${target}`);
      }
    });
  }
});

test("every file that docs/ARCHITECTURE.md and docs/LEDGER.md name is there", () => {
  for (const page of ["docs/ARCHITECTURE.md", "docs/LEDGER.md", "docs/DECISIONS.md"]) {
    for (const [, path = ""] of read(page).matchAll(/`((?:src|test|docs|bench)\/[\w./-]+)`/g)) {
      assert.ok(
        readdirSync(join(root, dirname(path))).includes(path.split("/").filter(Boolean).at(-1) ?? ""),
        `${page} names ${path}`,
      );
    }
  }
});

test("every name that docs/ARCHITECTURE.md places in a file is defined or used there", () => {
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
