import { execFileSync } from "node:child_process";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, type TestContext } from "node:test";
import { newFolder } from "./folder.ts";

/** The reason why nothing can be mounted here, or false. */
export const cannotMount = mountRefusal();

function mountRefusal(): string | false {
  try {
    execFileSync("unshare", ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], { stdio: "pipe" });
    return false;
  } catch {
    return "mounting a file system takes root's rights";
  }
}

/** A new folder as `newFolder` makes it, whose mounts end before it is removed. */
export function folderForMounts(t?: TestContext): string {
  const unmount = () => {
    // Lazily, as the driver keeps a database's files open until its statements are collected.
    for (const where of mounted.splice(0)) execFileSync("umount", ["--lazy", where]);
  };
  if (t === undefined) after(unmount);
  else t.after(unmount);
  return newFolder(t);
}

const mounted: string[] = [];

export function mount(where: string, ...args: readonly string[]): void {
  execFileSync("mount", [...args, where], { stdio: "pipe" });
  mounted.push(where);
}

export interface Disk {
  readonly path: string;
  /** Fills the disk up to this room in bytes (default none). */
  fill(roomBytes?: number): void;
  makeRoom(): void;
}

/** A small disk until the end of the test, or of all tests of the file; a mere folder if nothing can be mounted. */
export function smallDisk(t?: TestContext, megabytes = 4): Disk {
  const path = folderForMounts(t);
  if (cannotMount === false) mount(path, "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs");
  const ballast = join(path, "ballast");
  return {
    path,
    fill: (roomBytes = 0) => {
      const { bavail, bsize } = statfsSync(path);
      writeFileSync(ballast, Buffer.alloc(bavail * bsize - roomBytes));
    },
    makeRoom: () => rmSync(ballast),
  };
}
