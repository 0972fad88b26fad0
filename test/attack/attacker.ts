/**
 * Attacks a server from when it is told how until it is told to end, and then says how many answers there were. It has
 * the lowest priority: a hostile client has a machine of its own, and takes no processor time from the server and from
 * others.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { constants, setPriority } from "node:os";
import { sendLoad } from "../../bench/load.ts";

export type Assault = { readonly url: string; readonly connections: number } & (
  | {
      /** Sends the texts of a file in turn, over each connection the next as soon as one is answered. */
      readonly how: "ask";
      readonly file: string;
      /** Requests in each text: one, if it does not say. */
      readonly atOnce?: number;
    }
  | {
      /** Asks for the paths in turn, and leaves before the answers. */
      readonly how: "leave";
      readonly paths: readonly string[];
      readonly afterMs: number;
    }
  | {
      /** Makes a new connection for each request. */
      readonly how: "reconnect";
      readonly text: string;
    }
);

let answers = 0;
let hasEnded = false;
let stopAsking: (() => Promise<void>) | undefined;

process.once("disconnect", async () => {
  await stopAsking?.();
  process.exit();
});
process.on("message", async (message: Assault | "end") => {
  if (message !== "end") return begin(message);
  hasEnded = true;
  await stopAsking?.();
  process.send?.(answers, () => process.exit());
});
setPriority(constants.priority.PRIORITY_LOW);
process.send?.("ready");

function begin(assault: Assault): void {
  if (assault.how === "ask") ask(assault);
  else
    for (let nth = 0; nth < assault.connections; nth += 1) {
      if (assault.how === "leave") void leave(assault, nth);
      else void reconnect(assault);
    }
}

/** The generator has the priority of this process. */
function ask(load: Extract<Assault, { how: "ask" }>): void {
  const { stop, result } = sendLoad(load);
  stopAsking = async () => {
    stop();
    answers += (await result).requests;
  };
}

async function leave(
  { url, paths, afterMs }: Extract<Assault, { how: "leave" }>,
  first: number,
): Promise<void> {
  for (let nth = first; !hasEnded; nth += 1) {
    const signal = AbortSignal.timeout(afterMs);
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
