import { once } from "node:events";
import { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";

/** Starts a cluster to look at by hand, until an interrupt. */
export async function showCluster(options: ClusterOptions): Promise<void> {
  const interrupted = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  const before = performance.now();
  const cluster = await startCluster(options);
  try {
    const seconds = ((performance.now() - before) / 1000).toFixed(1);
    process.stdout.write(
      `${await described(cluster, options.folder)}\nStarted in ${seconds} s. Ctrl-C ends it.\n`,
    );
    await interrupted;
  } finally {
    await cluster.stop();
  }
}

async function described(cluster: Cluster, folder: string): Promise<string> {
  const hosts = cluster.hosts.map(
    ({ name, address, programs }) =>
      `${name.padEnd(6)}  ${address.padEnd(15)}  ${[...programs.keys()].join(", ")}`,
  );
  return [
    cluster.hasNetwork
      ? "Each host has a network of its own: nsenter --net=PATH COMMAND runs a command there, and PATH is"
      : "Network namespaces cannot be made here: the hosts are addresses of loopback, and no network can be cut.",
    ...(cluster.hasNetwork
      ? cluster.hosts.map(({ name, namespace }) => `${name.padEnd(6)}  ${namespace}`)
      : []),
    "",
    ...hosts,
    "",
    (await cluster.patronictl("list")).trimEnd(),
    "",
    `patronictl -c ${folder}/db1/patroni.yml list`,
    `FX_URL=${cluster.url} fx account list`,
    `psql '${cluster.databaseUrl}'`,
    `Files and logs are in ${folder}.`,
  ].join("\n");
}
