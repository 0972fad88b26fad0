import { statSync } from "node:fs";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { realName } from "../../files/new-file.ts";
import { type Role, roles } from "../../wire/role.ts";
import { parseJson } from "../config-file.ts";
import { reasonOf, UsageError } from "../errors.ts";

/** A token in the file. Times are ISO 8601, in UTC. */
export interface KeptToken {
  readonly name: string;
  readonly role: Role;
  readonly created: string;
  readonly expires: string | null;
  /** The hash of the token, in hexadecimal. */
  readonly sha256: string;
}

/** The ending of the next version of a file, which is also the lock against other changes. */
const nextEnding = ".next";
const lockTimeoutMs = 5000;

const contents = z.strictObject({
  tokens: z.array(
    z.strictObject({
      name: z.string().refine((name) => nameFault(name) === undefined),
      role: z.enum(roles),
      created: z.iso.datetime(),
      expires: z.iso.datetime().nullable(),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
});

/** The fault of a name for a token. The journal and the log have the name, so it must not be a PESEL or a token. */
export function nameFault(name: string): string | undefined {
  if (/\d{11}|^fxt_/.test(name)) return "must not be a PESEL or a token";
  return /^[A-Za-z0-9][\w.-]{0,63}$/.test(name)
    ? undefined
    : "is 1 to 64 letters of a to z, digits, points, hyphens and underscores, and begins with a letter or a digit";
}

/** @throws UsageError that names the file and says what is wrong with it */
export async function readTokenFile(path: string): Promise<readonly KeptToken[]> {
  return parseTokens(await readTokenText(path), path);
}

/** @throws UsageError if it cannot be read, or others than its owner may use it */
export async function readTokenText(path: string): Promise<string> {
  const handle = await opened(path);
  try {
    const found = await handle.stat({ bigint: true });
    if (!found.isFile()) throw new UsageError(`${path} is not a file.`);
    const there = await stat(path, { bigint: true }).catch(() => undefined);
    // A file that was replaced has no name left, but is still found where it is mounted.
    if (found.nlink === 0n && there?.ino === found.ino) {
      throw new UsageError(
        `The file of tokens ${path} is mounted by itself, and its original has been replaced since: revoked tokens would stay in force. Mount the folder that it is in, not the file.`,
      );
    }
    if ((found.mode & 0o077n) !== 0n) {
      throw new UsageError(
        `Others than its owner may use the file of tokens ${path}. Run chmod 600 ${path}.`,
      );
    }
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

/**
 * Changes the tokens in the file, which is made if there is none. Whoever reads it finds the old tokens or the new ones.
 * @throws UsageError
 */
export async function changeTokenFile(
  path: string,
  change: (tokens: readonly KeptToken[]) => readonly KeptToken[],
): Promise<void> {
  try {
    const target = realName(path);
    await replaceFile(target, change);
    const folder = await open(dirname(target));
    await folder.sync().finally(() => folder.close());
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new UsageError(`${path} cannot be written (${reasonOf(error)}).`);
  }
}

async function replaceFile(
  target: string,
  change: (tokens: readonly KeptToken[]) => readonly KeptToken[],
): Promise<void> {
  const nextPath = `${target}${nextEnding}`;
  const next = await lock(nextPath);
  try {
    const old = statSync(target, { throwIfNoEntry: false });
    if (old !== undefined && old.nlink > 1) {
      throw new UsageError(
        `${target} has another hard link, where the tokens would stay as they are. Remove the other name.`,
      );
    }
    const tokens = old === undefined ? [] : await readTokenFile(target);
    await next.writeFile(layOut(change(tokens)));
    // A file that root changes stays readable to the server's user.
    if (old !== undefined && old.uid !== process.getuid?.()) await next.chown(old.uid, old.gid);
    await next.sync();
    await rename(nextPath, target);
  } catch (error) {
    await rm(nextPath, { force: true });
    throw error;
  } finally {
    await next.close();
  }
}

async function opened(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") {
      throw new UsageError(
        `There is no file of tokens ${path}. fx token create NAME --role operator --tokens ${path} makes it.`,
      );
    }
    throw new UsageError(`The file of tokens ${path} cannot be read (${reasonOf(error)}).`);
  }
}

/** @throws UsageError that says where it is not a file of tokens */
export function parseTokens(text: string, path: string): readonly KeptToken[] {
  const json = parseJson(text.replace(/^\uFEFF/, ""), `The file of tokens ${path}`);
  const { data, error } = contents.safeParse(json);
  if (data === undefined) {
    const [place] = error.issues.map((issue) => issue.path.join("."));
    throw new UsageError(
      `The file of tokens ${path} is not one that fx token writes${place ? `, at ${place}` : ""}.`,
    );
  }
  for (const field of ["name", "sha256"] as const) {
    if (new Set(data.tokens.map((token) => token[field])).size < data.tokens.length) {
      throw new UsageError(`The file of tokens ${path} has two tokens of one ${field}.`);
    }
  }
  return data.tokens;
}

function layOut(tokens: readonly KeptToken[]): string {
  const lines = tokens.map((token) => `\n    ${JSON.stringify(token)}`);
  return `{\n  "tokens": [${lines.join(",")}\n  ]\n}\n`;
}

/** Creates the file's next version, which locks out other changes. */
async function lock(nextPath: string): Promise<FileHandle> {
  const deadline = performance.now() + lockTimeoutMs;
  for (;;) {
    try {
      return await open(nextPath, "wx", 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (performance.now() > deadline) {
        throw new UsageError(
          `${nextPath} is there: another fx token is at work, or was killed. If none is at work, delete it.`,
        );
      }
      await pause(20);
    }
  }
}
