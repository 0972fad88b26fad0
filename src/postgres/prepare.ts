import { FxError } from "../core/errors.ts";
import { newIdentityKey } from "../ledger/rows.ts";
import { type Access, schemaVersion } from "../ledger/store.ts";
import type { Connection } from "./connection.ts";
import { rules, schema, selectRules, tables } from "./schema.ts";
import { inTransaction } from "./transaction.ts";

/**
 * Makes sure that the database holds a ledger of this schema, and makes one where `access` allows it. Any number of
 * processes may do so at once: one of them makes the tables, the others fail with a conflict, and find them when they
 * are called again.
 * @throws FxError storage-unavailable if the database holds something else, or nothing that `access` allows
 */
export function prepareLedger(connection: Connection, access: Access): Promise<void> {
  return inTransaction(connection, () => findOrCreate(connection, access));
}

async function findOrCreate(connection: Connection, access: Access): Promise<void> {
  const { rows: existing } = await connection.query(
    "select table_name from information_schema.tables where table_schema = current_schema() and table_name in " +
      `(${tables.map((table) => `'${table}'`).join(", ")})`,
  );
  if (existing.some(({ table_name }) => table_name === "fx_schema")) {
    const [row] = (await connection.query("select version from fx_schema")).rows;
    const version = Number(row?.version ?? 0);
    if (version === schemaVersion && existing.length === tables.length) return requireRules(connection);
    throw unusable(
      `The database was written by another version of fx (schema ${version}; this one has schema ${schemaVersion}). ` +
        "Use that version, or name another database.",
    );
  }
  if (existing.length > 0) {
    throw unusable(
      `The database has a table "${existing[0]?.table_name}" that is not of fx. Name another database.`,
    );
  }
  if (access !== "create") {
    throw unusable("The database holds no ledger yet. fx serve, fx account create and fx batch create one.");
  }
  await createLedger(connection);
}

async function requireRules(connection: Connection): Promise<void> {
  const found = new Set((await connection.query(selectRules)).rows.map(({ rule }) => rule));
  const missing = rules.find((rule) => !found.has(rule));
  if (missing === undefined) return;
  throw unusable(
    `The database is damaged: it does not have this of the schema of fx, or not so: ${missing}. ` +
      "What it should refuse could be done twice. Restore it from a backup.",
  );
}

async function createLedger(connection: Connection): Promise<void> {
  const [encoding] = (await connection.query("show server_encoding")).rows;
  if (!/^utf-?8$/i.test(String(encoding?.server_encoding))) {
    throw unusable(
      `The database's encoding is ${encoding?.server_encoding}, which does not hold every name. Create one with UTF8.`,
    );
  }
  const { id, value, hash } = newIdentityKey();
  await connection.query(schema);
  await connection.query("insert into identity_key values ($1, $2, $3)", [id, value, hash]);
}

function unusable(message: string): FxError {
  return new FxError("storage-unavailable", message);
}
