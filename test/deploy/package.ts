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

/** The block of docs/OPERATIONS.md in this language, under the comment with this name. */
export function documented(language: string, name: string): string {
  const page = readFileSync(join(root, "docs/OPERATIONS.md"), "utf8");
  const [, text] = new RegExp(`<!-- ${name} -->\n\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
  if (text === undefined) throw new Error(`docs/OPERATIONS.md has no block ${name}`);
  return text;
}
