/** The reverse proxies of docs/OPERATIONS.md, from Debian's packages, with the configuration of deploy/. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { freePort, run } from "./postgres.ts";

export interface ReverseProxy {
  /** The proxy's address, over TLS. */
  readonly url: string;
  /** The complete log so far. */
  log(): string;
  stop(): Promise<void>;
}

export const proxies = ["nginx", "haproxy"] as const;

export function programOf(name: (typeof proxies)[number]): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** The proxy's self-signed certificate for localhost. */
export const certificate = fixture("server.crt");

/**
 * Starts a proxy in front of the servers on these loopback ports, one or two. It ends with this process.
 * @param waitSeconds replaces the documented time to wait for a byte of an answer
 */
export async function startProxy(
  name: (typeof proxies)[number],
  [one, two]: readonly number[],
  waitSeconds?: number,
): Promise<ReverseProxy> {
  const folder = mkdtempSync(join(tmpdir(), `fx-${name}-`));
  const files = {
    "certificate.pem": certificate,
    "key.pem": fixture("server.key"),
    "certificate-and-key.pem": certificate + fixture("server.key"),
  };
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text, { mode: 0o600 });
  const port = await freePort();
  const syslog = createSocket("udp4");
  let told = "";
  syslog.on("message", (line) => {
    told += `${line}\n`;
  });
  syslog.bind(0, "127.0.0.1");
  await once(syslog, "listening");
  const documented = configurationOf(name === "nginx" ? "nginx.conf" : "haproxy.cfg")
    .replace(/^.*127\.0\.0\.1:8081.*\n/m, (line) => (two === undefined ? "" : line.replace("8081", `${two}`)))
    .replace("127.0.0.1:8080", `127.0.0.1:${one}`)
    .replace("listen 443", `listen 127.0.0.1:${port}`)
    .replace("bind :443", `bind 127.0.0.1:${port}`)
    .replaceAll(/\/(etc\/fx|var\/log\/nginx)\//g, `${folder}/`)
    .replace("/dev/log", `127.0.0.1:${syslog.address().port}`)
    .replace(/(proxy_read_timeout|timeout server) +\d+s/g, (whole, setting) =>
      waitSeconds === undefined ? whole : `${setting} ${waitSeconds}s`,
    );
  const config = join(folder, `${name}.conf`);
  const around = `pid ${folder}/pid;\nerror_log stderr notice;\nevents {}\nhttp {\n${documented}}\n`;
  writeFileSync(config, name === "nginx" ? around : documented);
  const running = await run(
    programOf(name) ?? name,
    name === "nginx"
      ? ["-e", "stderr", "-p", folder, "-c", config, "-g", "daemon off;"]
      : ["-W", "-db", "-f", config],
    { folder, user: undefined, started: /start worker process |Loading success/, endedBy: "SIGTERM" },
  );
  const logs = ["fx.log", "fx-error.log"].map((file) => join(folder, file));
  return {
    url: `https://localhost:${port}`,
    log: () => told + logs.map((file) => (existsSync(file) ? readFileSync(file, "utf8") : "")).join(""),
    stop: async () => {
      await running.end("delete\n");
      syslog.close();
    },
  };
}

function configurationOf(file: string): string {
  return readFileSync(new URL(`../../deploy/${file}`, import.meta.url), "utf8");
}

function fixture(file: string): string {
  return readFileSync(new URL(`../fixtures/tls/${file}`, import.meta.url), "utf8");
}
