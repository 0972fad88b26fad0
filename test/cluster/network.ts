/**
 * Hosts on one bridge. Each is a set of namespaces (network, processes, mounts, name) with a shell as its first
 * process. All processes of a host end with its shell, which ends when its standard input closes, even if this process
 * is killed with SIGKILL.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { quoted } from "../support/shell.ts";

export interface HostOptions {
  /** The last number of the host's address. */
  readonly number: number;
  /** Owner of the host's folder (default root). */
  readonly owner?: "postgres";
  /** A subfolder that is a tmpfs of this size, owned by postgres. */
  readonly disk?: { readonly name: string; readonly megabytes: number } | undefined;
}

const environment = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C.UTF-8",
};

const asPostgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"];

/** Gives the host its own shared memory, so that a killed process leaves none behind. */
const ownMemory = "mount -t tmpfs tmpfs /dev/shm";
/** Runs each line of standard input in the background until it closes. Bash reaps orphans. */
const obey = 'echo ready; while read -r line; do eval "$line" & done';
const ownNamespaces = ["--net", "--pid", "--mount", "--uts", "--fork", "--kill-child", "--mount-proc"];

const run = promisify(execFile);

export class Network {
  readonly folder: string;
  /** The first three numbers of every address, with the point after them. */
  readonly prefix: string;
  readonly #inits: Init[] = [];
  readonly #bridge: Init;
  readonly #device: string;

  private constructor(folder: string, place: { prefix: string; device: string; bridge: Init }) {
    this.folder = folder;
    this.prefix = place.prefix;
    this.#device = place.device;
    this.#bridge = place.bridge;
  }

  static async create(folder: string): Promise<Network> {
    mkdirSync(folder, { recursive: true });
    // The user postgres passes through; no other user lists the folder.
    chmodSync(folder, 0o711);
    const middle = freeSubnet();
    const prefix = `10.${middle}.`;
    const device = `fx${middle.replace(".", "-")}`;
    const bridge = await Init.start("switch");
    const peer = ["type", "veth", "peer", "name", "world", "netns", String(bridge.pid)];
    execFileSync("ip", ["link", "add", device, ...peer]);
    execFileSync("ip", ["addr", "add", `${prefix}1/24`, "dev", device]);
    execFileSync("ip", ["link", "set", device, "up"]);
    bridge.inside(
      "ip link add lan type bridge && ip link set lan up && ip link set world master lan && ip link set world up",
    );
    return new Network(folder, { prefix, device, bridge });
  }

  async addHost(name: string, { number, owner, disk }: HostOptions): Promise<Host> {
    const folder = join(this.folder, name);
    mkdirSync(folder, { recursive: true });
    const init = await Init.start(name);
    this.#inits.push(init);
    const address = `${this.prefix}${number}`;
    this.#bridge.inside(
      `ip link add ${name} type veth peer name eth0 netns ${init.pid} && ip link set ${name} master lan && ` +
        `ip link set ${name} up`,
    );
    init.inside(`ip link set lo up && ip addr add ${address}/24 dev eth0 && ip link set eth0 up`);
    if (disk !== undefined) mkdirSync(join(folder, disk.name));
    if (owner !== undefined) execFileSync("chown", ["-R", `${owner}:${owner}`, folder]);
    const host = new Host({ name, address, folder, init });
    if (disk !== undefined) {
      const options = `size=${disk.megabytes}m,mode=0700,uid=postgres,gid=postgres`;
      await host.exec("mount", "-t", "tmpfs", "-o", options, "tmpfs", join(folder, disk.name));
    }
    return host;
  }

  /** Ends every process of every host. */
  async stop(): Promise<void> {
    await Promise.all(this.#inits.map((init) => init.end()));
    await this.#bridge.end();
    for (let tries = 0; tries < 100 && existsSync(`/sys/class/net/${this.#device}`); tries += 1)
      await pause(50);
  }
}

/** The first process of a set of namespaces. */
class Init {
  /** Id of the shell in this process's namespace. */
  readonly pid: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, pid: number) {
    this.#child = child;
    this.pid = pid;
  }

  static async start(name: string): Promise<Init> {
    const shell = ["bash", "-c", `hostname ${name}; ${ownMemory}; ${obey}`];
    // Its own session keeps a terminal's interrupt from it.
    const child = spawn("unshare", [...ownNamespaces, ...shell], { env: environment, detached: true });
    let complaint = "";
    child.stderr.on("data", (text) => {
      complaint += text;
    });
    child.stdin.on("error", () => {});
    const failed = once(child, "close").then(() => {
      throw new Error(`The host ${name} did not start: ${complaint}`);
    });
    await Promise.race([once(createInterface(child.stdout), "line"), failed]);
    failed.catch(() => {});
    const [inner = ""] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").split(" ");
    return new Init(child, Number(inner));
  }

  /** Starts a shell command without waiting for it. */
  send(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Runs a shell command in the host's network namespace. */
  inside(line: string): void {
    execFileSync("nsenter", ["-t", String(this.pid), "-n", "sh", "-c", line], { env: environment });
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "close");
    this.#child.stdin?.end();
    await ended;
  }
}

export class Host {
  /** One of etcd1 to etcd3, db1 to db3, fx1 and fx2, or proxy. */
  readonly name: string;
  readonly address: string;
  /** The host's files: `name/` in the cluster's folder, with `PROGRAM.log` for each program. */
  readonly folder: string;
  /** Path of its network namespace, for `nsenter --net=…`. */
  readonly namespace: string;
  /** Programs by name: etcd on etcd hosts, patroni and postgres on db hosts, fx, haproxy. */
  readonly programs = new Map<string, Program>();
  readonly clockFile: string;
  readonly #init: Init;

  constructor(options: { name: string; address: string; folder: string; init: Init }) {
    this.name = options.name;
    this.address = options.address;
    this.folder = options.folder;
    this.clockFile = join(options.folder, "clock");
    this.#init = options.init;
    this.namespace = `/proc/${options.init.pid}/ns/net`;
    this.setClock(0);
  }

  /** Runs a command on the host as root, and returns its output. Throws if it fails or takes more than 30 s. */
  async exec(command: string, ...args: readonly string[]): Promise<string> {
    const enter = ["-t", String(this.#init.pid), "-n", "-p", "-m", "-u", "--"];
    const options = { env: environment, timeout: 30_000, maxBuffer: 2 ** 26 };
    return (await run("nsenter", [...enter, command, ...args], options)).stdout;
  }

  /** Sets the clock of fx and PostgreSQL here to real time plus `seconds`, by libfaketime. */
  setClock(seconds: number): void {
    writeFileSync(this.clockFile, `${seconds < 0 ? "" : "+"}${seconds}\n`);
  }

  /** Adds and starts a program in its own folder, which identifies its processes. */
  async start(
    name: string,
    { command, env = {}, user }: { command: readonly string[]; env?: object; user?: "postgres" },
  ): Promise<void> {
    const folder = join(this.folder, name);
    const log = join(this.folder, `${name}.log`);
    mkdirSync(folder);
    appendFileSync(log, "");
    if (user !== undefined) execFileSync("chown", [`${user}:${user}`, folder]);
    const variables = Object.entries({ ...environment, HOME: folder, ...env }).map((pair) => pair.join("="));
    const words = ["env", "-i", ...variables, ...(user === undefined ? [] : asPostgres), ...command];
    const line = `cd ${quoted(folder)} && exec ${words.map(quoted).join(" ")} </dev/null >>${quoted(log)} 2>&1`;
    const program = new Program(name, folder, () => this.#init.send(line));
    this.programs.set(name, program);
    await program.start();
  }

  /** Adds a program that another one starts, identified by its working directory. */
  addStarted(name: string, folder: string): void {
    this.programs.set(name, new Program(name, folder, undefined));
  }
}

export class Program {
  readonly name: string;
  readonly #folder: string;
  readonly #launch: (() => void) | undefined;

  constructor(name: string, folder: string, launch: (() => void) | undefined) {
    this.name = name;
    this.#folder = folder;
    this.#launch = launch;
  }

  /** Sends a signal to all its processes. */
  signal(name: NodeJS.Signals): void {
    const told = new Set<number>();
    // A process may have started another meanwhile.
    for (let round = 0; round < 3; round += 1) {
      for (const pid of this.pids().filter((each) => !told.has(each))) {
        told.add(pid);
        try {
          process.kill(pid, name);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
        }
      }
    }
  }

  /** Starts a killed program again. Does nothing for PostgreSQL, which Patroni starts. */
  async start(): Promise<void> {
    if (this.#launch === undefined || this.isRunning()) return;
    this.#launch();
    for (let tries = 0; !this.isRunning(); tries += 1) {
      if (tries === 500) throw new Error(`${this.name} in ${this.#folder} did not start; its log says why.`);
      await pause(10);
    }
  }

  isRunning(): boolean {
    return this.pids().length > 0;
  }

  /** The ids of all its processes in this process's namespace. */
  pids(): number[] {
    const found: number[] = [];
    for (const entry of readdirSync("/proc")) {
      const pid = Number(entry);
      if (!Number.isInteger(pid)) continue;
      try {
        const folder = readlinkSync(`/proc/${pid}/cwd`);
        if (folder === this.#folder || folder.startsWith(`${this.#folder}/`)) found.push(pid);
      } catch {
        // The process has ended, or belongs to another user.
      }
    }
    return found;
  }
}

/** The middle of a /24 network that no device of this machine uses. */
function freeSubnet(): string {
  const taken = execFileSync("ip", ["-4", "-o", "addr"], { encoding: "utf8" });
  for (;;) {
    const middle = `${200 + Math.floor(Math.random() * 50)}.${Math.floor(Math.random() * 256)}`;
    if (!taken.includes(`10.${middle}.`)) return middle;
  }
}
