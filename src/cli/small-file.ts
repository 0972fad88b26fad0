import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** In bytes: more than any file of settings or secrets has. */
const limit = 1024 * 1024;

/**
 * The text of a file of settings or of a secret, without a byte order mark, and whether others than its owner can read it. A file of root's, such
 * as a secret of a container, may be readable by its group.
 * @throws Error with the system's code; EFBIG if the file is longer than 1 MiB
 */
export function readSmallFile(path: string): { readonly text: string; readonly isShared: boolean } {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(limit + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length <= limit; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, null);
    }
    if (length > limit) throw Object.assign(new Error("the file is too long"), { code: "EFBIG" });
    const { mode, uid } = fstatSync(file);
    const others = uid === 0 && process.geteuid?.() !== 0 ? 0o037 : 0o077;
    return {
      text: bytes.toString("utf8", 0, length).replace(/^\uFEFF/, ""),
      isShared: process.platform !== "win32" && (mode & others) !== 0,
    };
  } finally {
    closeSync(file);
  }
}
