import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { FxError } from "../core/errors.ts";
import { Connection, ConnectionLost, poolerAdvice, type Row } from "./connection.ts";
import type { PostgresPlace } from "./url.ts";

/** One round finds a pooler that nobody else uses. Others may by chance put everything back in its place. */
const rounds = 5;
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
    const mark = randomUUID();
    await one.query(`set fx.session = '${mark}'`);
    for (let round = 1; round <= rounds; round += 1) {
      // A transaction that is held open makes the pooler find another session; statement mode allows none.
      const holds = round > 1;
      if (holds) await other.query("begin");
      const theirs = await markOf(other);
      const finding = markOf(one);
      // Where there is only one session for both, this one waits for the other's transaction.
      await Promise.race([finding, sleep(answerMs, undefined, { ref: false })]);
      if (holds) await other.query("rollback");
      if (theirs === mark || (await finding) !== mark) {
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
