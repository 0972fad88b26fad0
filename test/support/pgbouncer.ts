/** PgBouncer on loopback, from Debian's package. */
import { execFileSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { folderFor, freePort, run, runSql, unprivileged } from "./postgres.ts";

export interface PgBouncer {
  /** The URL of the database through PgBouncer. */
  readonly url: string;
  /** Changes a setting at run time, from the next transaction on. */
  set(name: string, value: string): Promise<void>;
  stop(): Promise<void>;
}

const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"];
const program = folders.map((folder) => join(folder, "pgbouncer")).find((path) => existsSync(path));

/** The reason to skip a test, or false. */
export const withoutPgBouncer =
  program === undefined ? "pgbouncer is not installed (apt-get install pgbouncer)" : false;

/** Starts PgBouncer in front of a database. It ends with this process. */
export async function startPgBouncer(
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<PgBouncer> {
  const { hostname, port, username, password } = new URL(databaseUrl);
  const user = unprivileged();
  const folder = folderFor(user, "fx-pgbouncer-");
  const at = { ini: join(folder, "pgbouncer.ini"), users: join(folder, "users.txt") };
  const ownPort = await freePort();
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: String(ownPort),
    unix_socket_dir: "",
    auth_type: "trust",
    auth_file: at.users,
    admin_users: username,
    ...settings,
  };
  writeFileSync(at.users, `"${username}" "${password}"\n`);
  writeFileSync(
    at.ini,
    ["[databases]", `* = host=${hostname} port=${port}`, "[pgbouncer]"]
      .concat(Object.entries(all).map(([name, value]) => `${name} = ${value}`))
      .join("\n"),
  );
  if (user !== undefined) execFileSync("chown", ["-R", `${user.uid}:${user.gid}`, folder]);
  const running = await run(program ?? "pgbouncer", [at.ini], {
    folder,
    user,
    started: /process up/,
    endedBy: "SIGTERM",
  });
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${ownPort}`;
  const console = new URL(url);
  console.pathname = "/pgbouncer";
  return {
    url: url.href,
    set: async (name, value) => {
      await runSql(console.href, `set ${name} = '${value}'`);
    },
    stop: async () => {
      await running.end("delete\n");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
