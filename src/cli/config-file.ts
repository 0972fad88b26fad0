import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { lossOf } from "../wire/lossless-json.ts";
import { reasonOf, UsageError } from "./errors.ts";
import { refuseBlank } from "./settings.ts";
import type { Environment } from "./terminal/terminal.ts";

/** Bytes; longer than any file of settings or secrets. */
const maxLength = 1024 * 1024;

export interface ConfigPath {
  readonly path: string;
  /** Whether the user named the file, which must exist then. */
  readonly isNamed: boolean;
}

export function configPath(named: string | undefined, env: Environment): ConfigPath {
  refuseBlank(env.FX_CONFIG, "FX_CONFIG");
  const path = named ?? env.FX_CONFIG;
  if (path !== undefined) return { path, isNamed: true };
  const folder = env.XDG_CONFIG_HOME || join(env.HOME || userHome(), ".config");
  return { path: join(folder, "fx", "config.json"), isNamed: false };
}

/** A container's user may have no entry in /etc/passwd, and so no home. */
function userHome(): string {
  try {
    return homedir();
  } catch {
    return "/";
  }
}

/**
 * Reads the settings in the config file, as its JSON has them; none if there is no file.
 * @param known the names of the settings
 * @throws UsageError
 */
export function readConfigFile(
  { path, isNamed }: ConfigPath,
  known: readonly string[],
): Readonly<Record<string, unknown>> {
  let file: ReturnType<typeof readSmallFile>;
  try {
    file = readSmallFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A folder above it may be closed to this user, as HOME can be to a service's.
    const isMissing = code === "ENOENT" || code === "ENOTDIR" || (code === "EACCES" && !existsSync(path));
    if (isMissing && !isNamed) return {};
    throw new UsageError(`The config file ${path} cannot be read (${reasonOf(error)}).`);
  }
  const content = parseJson(file.text, `The config file ${path}`);
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new UsageError(`The config file ${path} must hold one JSON object.`);
  }
  const unknown = Object.keys(content).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(
      `The config file ${path} sets "${unknown}", which fx does not know. It knows ${known.join(", ")}.`,
    );
  }
  if ("token" in content && file.isShared) throw sharedToken(`The config file ${path}`, path);
  return content as Readonly<Record<string, unknown>>;
}

/**
 * The text of a file of settings or of a secret, without a byte order mark, and whether others than its owner can read
 * it. A file of root's, such as a container's secret, may be readable by its group.
 * @throws Error with the system's code; without one if the file is longer than `most` bytes, as a device can be
 */
export function readSmallFile(
  path: string,
  most = maxLength,
): { readonly text: string; readonly isShared: boolean } {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(most + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length <= most; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, null);
    }
    if (length > most) throw new Error(`it is longer than ${most / 1024 / 1024} MiB`);
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

export function sharedToken(what: string, path: string): UsageError {
  return new UsageError(
    `${what} has a token, and others than its owner can read it. Run chmod 600 ${path}, and have a new token made ` +
      "if somebody may have read this one.",
  );
}

/** @throws UsageError that does not repeat the text, which may be a secret */
export function parseJson(text: string, what: string): unknown {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new UsageError(`${what} is not JSON.`);
  }
  const loss = lossOf(text);
  if (loss === undefined) return content;
  throw new UsageError(
    "name" in loss
      ? `${what} has "${loss.name}" twice in one object, and only the last would count. Remove one.`
      : `${what} has a number with more digits than can be read exactly.`,
  );
}
