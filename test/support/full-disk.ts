import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

export interface Disk {
  readonly path: string;
  /** Leaves no room for another byte. */
  fill(): void;
  makeRoom(): void;
}

/** Why there can be no disk of its own, if so. */
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
      // At once: a process that a failed test has left has files open there.
      execFileSync("umount", ["--lazy", path]);
      remove();
    },
  };
}
