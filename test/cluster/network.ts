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
