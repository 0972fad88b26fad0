import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { reasonOf } from "./reason.ts";
import { readSmallFile } from "./small-file.ts";

/** A setting of the wrong form. `message` names it and where it stands. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

export function configPath(env: Readonly<Record<string, string | undefined>>): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homeOfUser(), ".config"), "fx", "config.json");
}

/** A container's user may have no entry in /etc/passwd, and so no home. */
function homeOfUser(): string {
  try {
    return homedir();
  } catch {
    return "/";
  }
}

/**
 * What the config file sets, as its JSON has it; nothing where there is none.
 * @param known the names of the settings
 * @throws ConfigError
 */
export function readConfigFile(path: string, known: readonly string[]): Readonly<Record<string, unknown>> {
  let file: ReturnType<typeof readSmallFile>;
  try {
    file = readSmallFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || (code === "EACCES" && isOutOfReach(path))) return {};
    throw new ConfigError(`The config file ${path} cannot be read (${reasonOf(error)}).`);
  }
  let content: unknown;
  try {
    content = JSON.parse(file.text);
  } catch {
    throw new ConfigError(`The config file ${path} is not JSON.`);
  }
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new ConfigError(`The config file ${path} must hold one JSON object.`);
  }
  for (const [name, value] of Object.entries(content)) {
    if (!known.includes(name)) {
      throw new ConfigError(
        `The config file ${path} sets "${name}", which fx does not know. It knows ${known.join(", ")}.`,
      );
    }
    if (typeof value === "string") refuseBlank(value, `"${name}" in ${path}`);
  }
  if ("token" in content && file.isShared) throw sharedToken(`The config file ${path}`, path);
  return content as Readonly<Record<string, unknown>>;
}

/** Whether a folder above the file is closed to this user, so that nobody can say whether there is such a file. */
function isOutOfReach(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch {
    return true;
  }
}

/**
 * Compose and shells make a blank value of a name that is not set. Taken as a value or as none, it could open a server
 * to everybody, or keep its accounts in memory.
 * @throws ConfigError
 */
export function refuseBlank(text: string, place: string): void {
  if (text.trim() === "") throw new ConfigError(`${place} is blank. Give it a value, or remove it.`);
}

export function sharedToken(what: string, path: string): ConfigError {
  return new ConfigError(
    `${what} has a token, and others than its owner can read it. Run chmod 600 ${path}, and have a new token made ` +
      "if somebody may have read this one.",
  );
}
