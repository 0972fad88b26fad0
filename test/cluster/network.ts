/**
 * Hosts: each a set of namespaces of its own (network, processes, mounts, name) on one bridge, with a shell as its first
 * process. Everything of a host ends with that shell, and the shell ends when its standard input closes: when this
 * process ends, even by `kill -9`, nothing is left behind. Where namespaces cannot be made, a host is an address of
 * loopback, and its shell ends its programs.
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

export interface Host {
  /** etcd1 to etcd3, db1 to db3, fx1 and so on, proxy. */
  readonly name: string;
  readonly address: string;
  /** Its files: `name/` of the cluster's folder. Each program's log is `PROGRAM.log` there. */
  readonly folder: string;
  /** Its network namespace as a path for `nsenter --net=…`; undefined on loopback. */
  readonly namespace: string | undefined;
  /** By name: etcd on the etcd hosts, patroni and postgres on the db hosts, fx, haproxy. */
  readonly programs: ReadonlyMap<string, Program>;
  /** Runs a command inside, as root, and gives what it printed. @throws if it fails, or takes more than 30 s */
  exec(command: string, ...args: readonly string[]): Promise<string>;
  /** Sets what libfaketime tells fx and PostgreSQL here: real time and so many seconds. Needs `clocks`. */
  setClock(seconds: number): void;
}

export interface Program {
  readonly name: string;
  /** All its processes, as this process sees them. */
  pids(): Promise<number[]>;
  /** Sends it to all of them. */
  signal(name: NodeJS.Signals): Promise<void>;
  /** Again, after it was killed. PostgreSQL is started by Patroni, so this does nothing for it. */
  start(): Promise<void>;
  isRunning(): boolean;
}

export interface ProgramOptions {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** As the user postgres, where this process is root. */
  readonly asPostgres?: boolean;
}

export interface HostOptions {
  /** The last number of its address. */
  readonly number: number;
  /** Whose folder it is: root's unless this says so. */
  readonly owner?: "postgres";
  /** A folder of its folder that is to be a disk (tmpfs) of this size, which belongs to the user postgres. */
  readonly disk?: { readonly name: string; readonly megabytes: number } | undefined;
}

const isRoot = process.getuid?.() === 0;
/** Whether this process may make namespaces, and has what puts them on a network. */
export const canMakeNamespaces = isRoot && ["/usr/sbin/ip", "/sbin/ip"].some((path) => existsSync(path));

const environment = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C.UTF-8",
};

const asPostgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"];

/** Shared memory that outlives a process that was killed ends with the host. */
const ownMemory = "mount -t tmpfs tmpfs /dev/shm";

/** Carries out each line of its standard input, beside the others, until that closes. Bash reaps the orphans. */
const obey = 'echo ready; while read -r line; do eval "$line" & done';
/** What ends when its namespace does has to be found by its folder on loopback. */
const endAll =
  'for _ in 1 2 3; do find /proc/[0-9]* -maxdepth 1 -name cwd -lname "$0/*" 2>/dev/null | cut -d/ -f3 | xargs -r kill -9; done';
const ownNamespaces = ["--net", "--pid", "--mount", "--uts", "--fork", "--kill-child", "--mount-proc"];

const run = promisify(execFile);

/** What a command of this machine printed, with none of its settings. @throws if it fails, or takes more than 30 s */
export async function runHere(command: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(command, args, { env: environment, timeout: 30_000, maxBuffer: 2 ** 26 });
  return stdout;
}

export class Network {
  readonly folder: string;
  readonly hasNamespaces: boolean;
  /** The first three numbers of every address, and a point. */
  readonly prefix: string;
  readonly #inits: Init[] = [];
  readonly #switch: Init | undefined;
  readonly #device: string;

  private constructor(folder: string, place: { prefix: string; device: string; bridge: Init | undefined }) {
    this.folder = folder;
    this.prefix = place.prefix;
    this.#device = place.device;
    this.#switch = place.bridge;
    this.hasNamespaces = place.bridge !== undefined;
  }

  /** @param namespaces false for loopback, even where namespaces could be made */
  static async create(folder: string, namespaces = true): Promise<Network> {
    if (namespaces && !canMakeNamespaces) return Network.create(folder, false);
    mkdirSync(folder, { recursive: true });
    // The user postgres has to pass, and nobody has to look.
    chmodSync(folder, 0o711);
    const middle = freeSubnet(namespaces ? 10 : 127);
    const place = { prefix: `${namespaces ? 10 : 127}.${middle}.`, device: `fx${middle.replace(".", "-")}` };
    if (!namespaces) return new Network(folder, { ...place, bridge: undefined });
    let bridge: Init;
    try {
      bridge = await Init.start("switch", folder, true);
    } catch {
      return Network.create(folder, false);
    }
    const network = new Network(folder, { ...place, bridge });
    const { device } = place;
    execFileSync("ip", [
      "link",
      "add",
      device,
      "type",
      "veth",
      "peer",
      "name",
      "world",
      "netns",
      String(bridge.pid),
    ]);
    execFileSync("ip", ["addr", "add", `${place.prefix}1/24`, "dev", device]);
    execFileSync("ip", ["link", "set", device, "up"]);
    bridge.inside(
      "ip link add lan type bridge && ip link set lan up && ip link set world master lan && ip link set world up",
    );
    return network;
  }

  async addHost(name: string, { number, owner, disk }: HostOptions): Promise<OwnHost> {
    const folder = join(this.folder, name);
    mkdirSync(folder, { recursive: true });
    const init = await Init.start(name, folder, this.hasNamespaces);
    this.#inits.push(init);
    const address = `${this.prefix}${number}`;
    if (this.#switch !== undefined) {
      this.#switch.inside(
        `ip link add ${name} type veth peer name eth0 netns ${init.pid} && ip link set ${name} master lan && ` +
          `ip link set ${name} up`,
      );
      init.inside(`ip link set lo up && ip addr add ${address}/24 dev eth0 && ip link set eth0 up`);
    }
    if (disk !== undefined) mkdirSync(join(folder, disk.name));
    if (owner !== undefined && isRoot) execFileSync("chown", ["-R", `${owner}:${owner}`, folder]);
    const host = new OwnHost({ name, address, folder, init, isIsolated: this.hasNamespaces });
    if (disk !== undefined && this.hasNamespaces) {
      const options = `size=${disk.megabytes}m,mode=0700,uid=postgres,gid=postgres`;
      await host.exec("mount", "-t", "tmpfs", "-o", options, "tmpfs", join(folder, disk.name));
    }
    return host;
  }

  /** Ends every process of every host. */
  async stop(): Promise<void> {
    await Promise.all(this.#inits.map((init) => init.end()));
    await this.#switch?.end();
    for (let tries = 0; tries < 100 && existsSync(`/sys/class/net/${this.#device}`); tries += 1)
      await pause(50);
  }
}

class Init {
  /** As this process sees it. */
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #isIsolated: boolean;

  private constructor(child: ChildProcess, pid: number, isIsolated: boolean) {
    this.#child = child;
    this.pid = pid;
    this.#isIsolated = isIsolated;
  }

  static async start(name: string, folder: string, isIsolated: boolean): Promise<Init> {
    const [program, ...args] = isIsolated
      ? ([
          "unshare",
          ...ownNamespaces,
          "bash",
          "-c",
          `hostname ${name}; ${ownMemory}; ${obey}`,
          folder,
        ] as const)
      : (["bash", "-c", `${obey}; ${endAll}`, folder] as const);
    // In a session of its own, so that an interrupt from the terminal reaches only this process.
    const child = spawn(program, args, { env: environment, detached: true, stdio: ["pipe", "pipe", "pipe"] });
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
    const pid = child.pid ?? 0;
    const [inner = ""] = isIsolated
      ? readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")
      : [];
    return new Init(child, isIsolated ? Number(inner) : pid, isIsolated);
  }

  /** Starts a command line of the shell, without waiting for it. */
  send(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Runs a command line of the shell in its network. */
  inside(line: string): void {
    execFileSync("nsenter", ["-t", String(this.pid), "-n", "sh", "-c", line], { env: environment });
  }

  /** What runs a command among its processes. */
  get prefix(): readonly string[] {
    return this.#isIsolated ? ["nsenter", "-t", String(this.pid), "-n", "-p", "-m", "-u", "--"] : [];
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "close");
    this.#child.stdin?.end();
    await ended;
  }
}

export class OwnHost implements Host {
  readonly name: string;
  readonly address: string;
  readonly folder: string;
  readonly namespace: string | undefined;
  readonly programs = new Map<string, Program>();
  readonly clockFile: string;
  readonly #init: Init;

  constructor(options: { name: string; address: string; folder: string; init: Init; isIsolated: boolean }) {
    this.name = options.name;
    this.address = options.address;
    this.folder = options.folder;
    this.clockFile = join(options.folder, "clock");
    this.#init = options.init;
    this.namespace = options.isIsolated ? `/proc/${options.init.pid}/ns/net` : undefined;
    this.setClock(0);
  }

  async exec(command: string, ...args: readonly string[]): Promise<string> {
    const [program = command, ...rest] = [...this.#init.prefix, command, ...args];
    return runHere(program, rest);
  }

  setClock(seconds: number): void {
    writeFileSync(this.clockFile, `${seconds < 0 ? "" : "+"}${seconds}\n`);
  }

  /** Adds and starts a program, in a folder of its own, by which its processes are known. */
  async start(
    name: string,
    { command, env = {}, asPostgres: demoted = false }: ProgramOptions,
  ): Promise<Program> {
    const folder = join(this.folder, name);
    const log = join(this.folder, `${name}.log`);
    mkdirSync(folder);
    appendFileSync(log, "");
    if (demoted && isRoot) execFileSync("chown", ["postgres:postgres", folder]);
    const variables = Object.entries({ ...environment, HOME: folder, ...env }).map((pair) => pair.join("="));
    const words = ["env", "-i", ...variables, ...(demoted && isRoot ? asPostgres : []), ...command];
    const line = `cd ${quoted(folder)} && exec ${words.map(quoted).join(" ")} </dev/null >>${quoted(log)} 2>&1`;
    const program = new OwnProgram(name, folder, () => this.#init.send(line));
    this.programs.set(name, program);
    await program.start();
    return program;
  }

  /** Adds a program that another one starts, and that works in this folder. */
  addStarted(name: string, folder: string): void {
    this.programs.set(name, new OwnProgram(name, folder, undefined));
  }
}

class OwnProgram implements Program {
  readonly name: string;
  readonly #folder: string;
  readonly #launch: (() => void) | undefined;

  constructor(name: string, folder: string, launch: (() => void) | undefined) {
    this.name = name;
    this.#folder = folder;
    this.#launch = launch;
  }

  async pids(): Promise<number[]> {
    return this.#find();
  }

  async signal(name: NodeJS.Signals): Promise<void> {
    const told = new Set<number>();
    // One may have started another meanwhile.
    for (let round = 0; round < 3; round += 1) {
      for (const pid of this.#find().filter((each) => !told.has(each))) {
        told.add(pid);
        try {
          process.kill(pid, name);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
        }
      }
    }
  }

  async start(): Promise<void> {
    if (this.#launch === undefined || this.isRunning()) return;
    this.#launch();
    for (let tries = 0; !this.isRunning(); tries += 1) {
      if (tries === 500) throw new Error(`${this.name} in ${this.#folder} did not start; its log says why.`);
      await pause(10);
    }
  }

  isRunning(): boolean {
    return this.#find().length > 0;
  }

  #find(): number[] {
    const found: number[] = [];
    for (const entry of readdirSync("/proc")) {
      const pid = Number(entry);
      if (!Number.isInteger(pid)) continue;
      try {
        const folder = readlinkSync(`/proc/${pid}/cwd`);
        if (folder === this.#folder || folder.startsWith(`${this.#folder}/`)) found.push(pid);
      } catch {
        // It has ended, or is another user's.
      }
    }
    return found;
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** The middle of a network of 256 addresses that no device of this machine has. */
function freeSubnet(first: number): string {
  const taken = first === 10 ? execFileSync("ip", ["-4", "-o", "addr"], { encoding: "utf8" }) : "";
  for (;;) {
    const middle = `${200 + Math.floor(Math.random() * 50)}.${Math.floor(Math.random() * 256)}`;
    if (!taken.includes(`${first}.${middle}.`)) return middle;
  }
}
