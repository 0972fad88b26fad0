/** A machine with its own systemd: a systemd-nspawn container that shares only /usr with this one. */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import type { Ran } from "../support/run-fx.ts";
import { until } from "../support/until.ts";

export interface Machine {
  /** Path of its root folder on this machine. */
  readonly root: string;
  /** Runs a shell script as its root user, in /root. */
  run(script: string): Promise<Ran>;
  stop(): Promise<void>;
}

/** The reason why this machine cannot run one, or false. */
export function cannotBoot(): string | false {
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    return "a machine with systemd takes root's rights";
  const missing = spawnSync("systemd-nspawn", ["--version"]).error !== undefined;
  return missing && "systemd-nspawn is not installed (apt-get install systemd-container)";
}

/** Boots a machine and waits for its systemd. It shares this machine's network. */
export async function bootMachine(): Promise<Machine> {
  const root = mkdtempSync(join(tmpdir(), "fx-machine-"));
  chmodSync(root, 0o755);
  for (const path of [
    "usr",
    "etc/systemd/system",
    "var/lib",
    "opt",
    "root",
    "tmp",
    "proc",
    "sys",
    "dev",
    "run",
  ])
    mkdirSync(join(root, path), { recursive: true });
  for (const path of ["bin", "sbin", "lib", "lib64"]) symlinkSync(`usr/${path}`, join(root, path));
  const files = {
    passwd: "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    group: "root:x:0:\nnogroup:x:65534:\n",
    shadow: "root:*:1::::::\nnobody:*:1::::::\n",
    "machine-id": "00000000000000000000000000000f00\n",
    "os-release": readFileSync("/etc/os-release", "utf8"),
  };
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(root, "etc", name), text, { mode: 0o644 });
  for (const name of ["pam.d", "security", "login.defs"])
    cpSync(`/etc/${name}`, join(root, "etc", name), { recursive: true });
  symlinkSync("/usr/lib/systemd/system/basic.target", join(root, "etc/systemd/system/default.target"));

  const nspawn = spawn(
    "systemd-nspawn",
    [
      ...["--quiet", "--register=no", "--keep-unit", "--console=pipe", "--machine=fx-machine"],
      ...[`--directory=${root}`, "--bind-ro=/usr", "--tmpfs=/usr/local", "--boot"],
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let log = "";
  for (const stream of [nspawn.stdout, nspawn.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      log += text;
    });
  const ended = once(nspawn, "exit");
  const kill = () => nspawn.kill("SIGKILL");
  process.once("exit", kill);

  const run = async (script: string): Promise<Ran> => {
    const command = ["--target", String(leaderOf(nspawn)), "--all", "/bin/bash", "-c", `cd /root; ${script}`];
    const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root" };
    try {
      return { ...(await promisify(execFile)("nsenter", command, { env })), exit: 0 };
    } catch (error) {
      const { stdout = "", stderr = String(error), code } = error as Partial<Ran> & { code?: number };
      return { stdout, stderr, exit: code ?? null };
    }
  };
  try {
    await until(async () => {
      if (nspawn.exitCode !== null) throw new Error(`systemd-nspawn ended with ${nspawn.exitCode}`);
      if (leaderOf(nspawn) === undefined) return false;
      return /^(running|degraded)/.test((await run("systemctl is-system-running")).stdout);
    });
  } catch (error) {
    kill();
    rmSync(root, { recursive: true });
    throw new Error(`The machine did not start:\n${log}`, { cause: error });
  }
  return {
    root,
    run,
    stop: async () => {
      // At SIGTERM, systemd-nspawn has systemd stop all units first.
      nspawn.kill("SIGTERM");
      await Promise.race([ended, pause(20_000, undefined, { ref: false }).then(kill)]);
      await ended;
      process.off("exit", kill);
      rmSync(root, { recursive: true });
      // systemd-nspawn leaves its control groups behind if no systemd cleans up.
      for (const path of controlGroups())
        spawnSync("find", [path, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"]);
    },
  };
}

function controlGroups(): string[] {
  const paths = ["", "systemd/", "unified/"].flatMap((hierarchy) =>
    ["payload", "supervisor"].map((name) => `/sys/fs/cgroup/${hierarchy}${name}`),
  );
  return paths.filter((path) => existsSync(path));
}

/** The id of its systemd in this machine's namespace. */
function leaderOf({ pid }: ChildProcess): number | undefined {
  try {
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
    return first ? Number(first) : undefined;
  } catch {
    return undefined;
  }
}
