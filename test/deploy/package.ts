import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import packageJson from "../../package.json" with { type: "json" };

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Packs the build into a folder, and returns the path of the package. */
export function pack(folder: string): string {
  execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], { cwd: root });
  return join(folder, `fx-${packageJson.version}.tgz`);
}

/** The block of a page in this language, under the comment with this name. */
export function documented(language: string, name: string, page = "docs/OPERATIONS.md"): string {
  const block = new RegExp(`<!-- ${name} -->\n\`\`\`${language}\n([\\s\\S]*?)\`\`\``);
  const [, text] = block.exec(readFileSync(join(root, page), "utf8")) ?? [];
  if (text === undefined) throw new Error(`${page} has no block ${name}`);
  return text;
}
