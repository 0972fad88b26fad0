import { FxError } from "../core/errors.ts";
import type { OpenOptions } from "../ledger/store.ts";
import type { Connection } from "./connection.ts";
import { migrations } from "./schema.ts";

const tables = [
  "fx_schema",
  "account",
  "journal",
  "rate_table",
  "accepted_table",
  "refusal",
  "reversal",
  "identity_key",
  "name_word",
];

/**
 * What is to be done before the ledger can be used: nothing, a new ledger, or the upgrade of one.
 * @throws FxError storage-unavailable if the database is of a newer fx, or of something else, or if `access` may not
 * change it
 */
export async function findSchema(
  connection: Connection,
  { access = "create" }: OpenOptions,
): Promise<"current" | "none" | "older"> {
  const existing = await connection.query(
    "select table_name from information_schema.tables where table_schema = current_schema() and table_name in " +
      `(${tables.map((table) => `'${table}'`).join(", ")})`,
  );
  const has = (name: string) => existing.some(({ table_name }) => table_name === name);
  if (has("fx_schema")) {
    const [row] = await connection.query("select version from fx_schema");
    const version = Number(row?.version ?? 0);
    if (version === migrations.length) return "current";
    refuseNewer(version);
    if (access === "read" && has("account")) refuseOlder(version);
  } else if (existing.length > 0) {
    throw new FxError(
      "storage-unavailable",
      `The database has a table "${existing[0]?.table_name}" that is not of fx. Name another database.`,
    );
  }
  if (access !== "create" && !has("account")) {
    throw new FxError(
      "storage-unavailable",
      "The database holds no ledger yet. fx serve, fx account create and fx batch create one.",
    );
  }
  return has("account") ? "older" : "none";
}

/**
 * Brings the schema up to date. Any number of processes may do so at once: the first to lock the row of the version does
 * it, and the others find it done. To be called again after a conflict.
 * @throws FxError storage-unavailable if the database is of a newer fx, or has another encoding
 */
export async function migratePostgres(
  connection: Connection,
  { onUpgrade = () => {} }: Pick<OpenOptions, "onUpgrade">,
): Promise<void> {
  const [encoding] = await connection.query("show server_encoding");
  if (!/^utf-?8$/i.test(String(encoding?.server_encoding))) {
    throw new FxError(
      "storage-unavailable",
      `The database's encoding is ${encoding?.server_encoding}, which does not hold every name. Create one with UTF8.`,
    );
  }
  await connection.query(
    "create table if not exists fx_schema (id integer not null primary key check (id = 1), version integer not null)",
  );
  await connection.query("insert into fx_schema (id, version) values (1, 0) on conflict do nothing");
  try {
    await connection.query("begin; set local statement_timeout = 0");
    const [row] = await connection.query("select version from fx_schema for update");
    const version = Number(row?.version);
    refuseNewer(version);
    for (const step of migrations.slice(version)) {
      if (typeof step === "string") await connection.query(step);
      else await step(connection);
    }
    await connection.query(`update fx_schema set version = ${migrations.length}`);
    await connection.query("commit");
    if (version > 0 && version < migrations.length) onUpgrade(version, migrations.length);
  } catch (error) {
    if (connection.usable) await connection.query("rollback");
    throw error;
  }
}

function refuseOlder(version: number): never {
  throw new FxError(
    "storage-unavailable",
    `The database was written by an older fx (schema ${version}; this one reads ${migrations.length}). ` +
      "fx serve upgrades it; the older fx does not start on it after that.",
  );
}

function refuseNewer(version: number): void {
  if (version <= migrations.length) return;
  throw new FxError(
    "storage-unavailable",
    `The database was written by a newer fx (schema ${version}; this one knows ${migrations.length}). Use that fx.`,
  );
}
