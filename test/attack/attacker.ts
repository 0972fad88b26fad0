/**
 * Attacks a server from when it is told how until it is told to end, and then says how many answers there were. It has
 * the lowest priority: a hostile client has a machine of its own, and takes no processor time from the server and from
 * others.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { constants, setPriority } from "node:os";
import { openSocket } from "./attack.ts";

export type Assault = { readonly url: string; readonly connections: number } & (
  | {
      /** Sends so many requests at once over each connection, and as many again when half of them are answered. */
      readonly how: "pipeline";
      readonly text: string;
      readonly count: number;
    }
  | {
      /** Asks for the paths in turn over each connection, for the next as soon as it is answered, or leaves before. */
      readonly how: "ask";
      readonly paths: readonly string[];
      readonly leaveAfterMs?: number;
    }
  | {
      /** Makes a new connection for each request. */
      readonly how: "reconnect";
      readonly text: string;
    }
);

let answers = 0;
let hasEnded = false;

process.once("disconnect", () => process.exit());
process.on("message", (message: Assault | "end") => {
  if (message !== "end") return void Promise.all(clientsOf(message));
  hasEnded = true;
  process.send?.(answers, () => process.exit());
});
setPriority(constants.priority.PRIORITY_LOW);
process.send?.("ready");

function clientsOf(assault: Assault): Promise<void>[] {
  const client =
    assault.how === "pipeline"
      ? () => pipeline(assault)
      : assault.how === "ask"
        ? (nth: number) => ask(assault, nth)
        : () => reconnect(assault);
  return Array.from({ length: assault.connections }, (_, nth) => client(nth));
}

async function pipeline({ url, text, count }: Extract<Assault, { how: "pipeline" }>): Promise<void> {
  let unanswered = 0;
  const send = () => {
    unanswered += count;
    socket.write(text);
  };
  const socket = await openSocket(url, (more) => {
    answers += more;
    unanswered -= more;
    if (unanswered < count / 2) send();
  });
  send();
}

async function ask(
  { url, paths, leaveAfterMs }: Extract<Assault, { how: "ask" }>,
  first: number,
): Promise<void> {
  for (let nth = first; !hasEnded; nth += 1) {
    const signal = leaveAfterMs === undefined ? null : AbortSignal.timeout(leaveAfterMs);
    await fetch(url + paths[nth % paths.length], { signal })
      .then((answer) => answer.arrayBuffer())
      .catch(() => {});
    answers += 1;
  }
}

async function reconnect({ url, text }: Extract<Assault, { how: "reconnect" }>): Promise<void> {
  const { hostname, port } = new URL(url);
  while (!hasEnded) {
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.resume().on("error", () => {});
    await once(socket, "close");
    answers += 1;
  }
}
