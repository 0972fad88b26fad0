import type { Server } from "node:net";

/** Of a turn that brings a connection: some 0.3 ms, about as long as the connection takes. */
const requestsAtOnce = 3;

/** Requests that go on together. */
interface Group {
  count: number;
  readonly turn: Promise<void>;
  readonly goOn: () => void;
}

const waiting: Group[] = [];
let connections = 0;
let connectionsBefore = 0;

/** To be called once for each server. */
export function countConnections(server: Server): void {
  server.on("connection", () => {
    connections += 1;
  });
}

/**
 * Resolves when the event loop has read what has arrived. The requests of one turn then take each step together, which
 * is faster than taking them one after the other (docs/PERFORMANCE.md). Of the connections that wait to be accepted, a
 * turn takes one: as long as each brings another, only a few requests go on in each, or the last connection would wait
 * for as many answers to each of the others.
 */
export function endOfTurn(): Promise<void> {
  let group = waiting.at(-1);
  if (group === undefined || group.count === requestsAtOnce) {
    let goOn = () => {};
    const turn = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    group = { count: 0, turn, goOn };
    if (waiting.push(group) === 1) setImmediate(endTurn);
  }
  group.count += 1;
  return group.turn;
}

function endTurn(): void {
  const isQuiet = connections === connectionsBefore;
  connectionsBefore = connections;
  for (const { goOn } of waiting.splice(0, isQuiet ? waiting.length : 1)) goOn();
  if (waiting.length > 0) setImmediate(endTurn);
}
