import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ClusterOptions } from "./cluster.ts";

/** A text of src, and what is put in its place. */
interface Patch {
  readonly file: string;
  readonly text: string;
  readonly instead: string;
}

interface OnPurpose {
  /** Absent where it is a setting of the cluster. */
  readonly patch?: Patch;
  /** By name, what makes it show within minutes; absent if everything does. */
  readonly faults?: readonly string[];
}

/** Faults that are put in on purpose, which the judge has to find. */
export const breaks: Readonly<Record<"answer-before-commit" | "retry-blindly" | "asynchronous", OnPurpose>> =
  {
    /** An order is answered when its COMMIT is sent. */
    "answer-before-commit": {
      patch: {
        file: "src/postgres/transaction.ts",
        text: "await commit(connection, statements.length === 0 ? [writeLock] : statements);",
        instead: "commit(connection, statements).catch(() => {});",
      },
    },
    /** After a lost COMMIT, an order is done again without looking whether it was done. */
    "retry-blindly": {
      patch: {
        file: "src/postgres/transaction.ts",
        text: "if (done === undefined) return",
        instead: "if (done !== null) return",
      },
      faults: ["connections broken in COMMIT", "switch-over", "primary killed"],
    },
    /** Patroni's standbys are asynchronous. */
    asynchronous: { faults: ["primary's Patroni stopped"] },
  };

export type Break = keyof typeof breaks;

const root = fileURLToPath(new URL("../..", import.meta.url));

/** @throws if the text is not there exactly once */
export function patched({ file, text, instead }: Patch): string {
  const parts = readFileSync(join(root, file), "utf8").split(text);
  if (parts.length !== 2) throw new Error(`${file} has this ${parts.length - 1} times, not once: ${text}`);
  return parts.join(instead);
}

/**
 * What a cluster is to be started with, so that it has the fault: a changed copy of src, built, or a setting. `remove`
 * deletes the copy.
 */
export async function withFault(
  name: Break,
): Promise<{ readonly options: Partial<ClusterOptions>; remove(): void }> {
  const { patch } = breaks[name];
  if (patch === undefined) return { options: { asynchronous: true }, remove: () => {} };
  const text = patched(patch);
  const { execFile } = await import("node:child_process");
  const folder = mkdtempSync(join(tmpdir(), `fx-${name}-`));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const copied = ["src", "bin", "package.json", "package-lock.json", "tsconfig.json", "tsup.config.ts"];
    for (const each of copied) cpSync(join(root, each), join(folder, each), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, patch.file), text);
    await promisify(execFile)(join(root, "node_modules/.bin/tsup"), { cwd: folder });
    return { options: { fxCommand: [process.execPath, join(folder, "bin/fx.js")] }, remove };
  } catch (error) {
    remove();
    throw error;
  }
}
