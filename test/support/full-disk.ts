import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

export interface Disk {
  readonly path: string;
  fill(): void;
  makeRoom(): void;
}

/** The reason why a small disk cannot be mounted, if any. */
export function diskRefusal(): string | undefined {
  try {
    mount().unmount();
    return undefined;
  } catch {
    return "mounting a tmpfs takes root";
  }
}

/** A disk of 4 MiB. */
export function smallDisk(t: TestContext): Disk {
  const { path, unmount } = mount();
  t.after(unmount);
  const ballast = join(path, "ballast");
  return {
    path,
    fill() {
      const file = openSync(ballast, "a");
      try {
        for (;;) writeSync(file, Buffer.alloc(4096));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      } finally {
        closeSync(file);
      }
    },
    makeRoom: () => rmSync(ballast),
  };
}

function mount(): { readonly path: string; unmount(): void } {
  const path = mkdtempSync(join(tmpdir(), "fx-disk-"));
  const remove = () => rmSync(path, { recursive: true });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", path], { stdio: "pipe" });
  } catch (error) {
    remove();
    throw error;
  }
  return {
    path,
    unmount() {
      // Lazily, as a process left by a failed test has files open there.
      execFileSync("umount", ["--lazy", path]);
      remove();
    },
  };
}
