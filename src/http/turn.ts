import type { Server } from "node:http";

/** While connections keep coming, answers wait for so long, and no longer. */
const longestMs = 40;

let connections = 0;
let connectionsBefore = 0;
let turn: Promise<void> | undefined;

/** To be called once for each server. */
export function countConnections(server: Server): void {
  server.on("connection", () => {
    connections += 1;
  });
}

/**
 * Resolves when the event loop has read what has arrived. The requests of one turn then take each step together, which
 * is faster than taking them one after the other (docs/PERFORMANCE.md). Of the connections that wait to be accepted, a
 * turn takes one: as long as each brings another, turns are kept short, or the last would wait for as many answers to
 * each of the others.
 */
export function endOfTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    let heldSince = 0;
    const end = () => {
      const isQuiet = connections === connectionsBefore;
      connectionsBefore = connections;
      if (heldSince === 0) heldSince = performance.now();
      if (!isQuiet && performance.now() - heldSince < longestMs) return void setImmediate(end);
      turn = undefined;
      resolve();
    };
    setImmediate(end);
  });
  return turn;
}
