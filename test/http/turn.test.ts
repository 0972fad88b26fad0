import assert from "node:assert/strict";
import { Server } from "node:net";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { countConnections, endOfTurn } from "../../src/http/turn.ts";

describe("requests of one turn of the event loop", () => {
  const server = new Server();
  countConnections(server);
  const connect = () => server.emit("connection", undefined);
  let going: number;

  beforeEach(() => {
    going = 0;
    for (let nth = 0; nth < 100; nth += 1) void endOfTurn().then(() => (going += 1));
  });

  afterEach(() => nextTurn());

  test("go on together at its end", async () => {
    await nextTurn();
    assert.equal(going, 100);
  });

  test("go on three at a time as long as each turn brings a connection, and then the rest", async () => {
    const seen: number[] = [];
    for (let turns = 0; turns < 10; turns += 1) {
      connect();
      await nextTurn();
      seen.push(going);
    }
    await nextTurn();
    assert.deepEqual([...seen, going], [3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 100]);
  });

  test("go on before those of later turns", async () => {
    connect();
    await nextTurn();
    let isLaterGoing = false;
    void endOfTurn().then(() => (isLaterGoing = true));
    for (; going < 99; connect()) {
      assert.equal(isLaterGoing, false);
      await nextTurn();
    }
  });
});
