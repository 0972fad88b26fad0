import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { FxError } from "../core/errors.ts";
import { Connection, ConnectionLost, poolerAdvice, type Row } from "./connection.ts";
import type { PostgresPlace } from "./url.ts";

/** One round finds a pooler that nobody else uses. Others may by chance put everything back in its place. */
const rounds = 12;
const secondConnectionMs = 2000;
const answerMs = 1000;

/**
 * Makes sure that a connection is one session of the server for as long as it lasts. A pooler in transaction or
 * statement mode hands each transaction to whichever session is free: two connections, used in turn, then find what the
 * other left, or do not find their own.
 * @throws FxError storage-unavailable if it is not
 */
export async function refusePooler(one: Connection, place: PostgresPlace): Promise<void> {
  let other: Connection;
  try {
    const connectTimeoutMs = Math.min(place.connectTimeoutMs, secondConnectionMs);
    other = await Connection.open({ ...place, connectTimeoutMs }, one.server);
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
    place.onNotice?.(
      `fx could not make a second connection to see whether a pooler stands in between: ${error.message}`,
    );
    return;
  }
  try {
    const marks = new Map([one, other].map((connection) => [connection, randomUUID()]));
    for (const [connection, mark] of marks) await connection.query(`set fx.session = '${mark}'`);
    for (let round = 1; round <= rounds; round += 1) {
      // A transaction that is held open makes the pooler find another session; statement mode allows none. A pooler
      // hands its sessions out newest or oldest first, so neither connection may always be the first to ask.
      const holds = round > 1;
      const [first, second] = round % 4 < 2 ? [other, one] : [one, other];
      if (holds) await first.query("begin");
      const firstMark = await markOf(first);
      const finding = markOf(second);
      // Where there is only one session for both, the second waits for the transaction of the first.
      await Promise.race([finding, sleep(answerMs, undefined, { ref: false })]);
      if (holds) await first.query("rollback");
      if (firstMark !== marks.get(first) || (await finding) !== marks.get(second)) {
        throw new FxError(
          "storage-unavailable",
          "Between fx and the database is a pooler that runs what one connection sends in different sessions. " +
            `${poolerAdvice}.`,
        );
      }
    }
  } finally {
    await other.close();
  }
}

async function markOf(connection: Connection): Promise<unknown> {
  const [row]: readonly Row[] = await connection.query("select current_setting('fx.session', true) as mark");
  return row?.mark;
}
