import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { adapters } from "../support/adapters.ts";

const accesses = ["read", "write", "create"] as const;
const journalKey = (rest: string) => `drop index journal_key; create ${rest}`;

/** Statements that change a schema, separated by a semicolon and a space. */
const changes = [
  "drop index journal_id",
  "drop index journal_account",
  "drop index journal_key",
  "drop index journal_reverses",
  "drop index refusal_key",
  "drop index name_word_word",
  "drop index rate_table_effective_date",
  journalKey("index journal_key on journal (idempotency_key, pesel) where idempotency_key is not null"),
  journalKey("unique index journal_key on journal (idempotency_key, pesel) where pesel > 5"),
  "alter table refusal add column more text",
];
const otherKey = "alter table journal add column idempotency_key text generated always as";
const own: Readonly<Record<string, readonly string[]>> = {
  "postgres:": [
    "alter table journal drop constraint journal_pkey",
    "alter table accepted_table drop constraint accepted_table_pkey",
    "update pg_index set indisvalid = false where indexrelid = 'journal_key'::regclass",
    "alter table journal alter column idempotency_key drop expression",
    `drop index journal_key; alter table journal drop column idempotency_key; ${otherKey} (entry::json ->> 'other') stored`,
    "alter table journal alter column hash drop not null",
    "alter table account alter column name type varchar(20)",
    "alter table journal set unlogged",
    "alter table refusal enable row level security",
    'alter table name_word alter column word type text collate "POSIX"',
  ],
};
const versions: Readonly<Record<string, (version: number) => string>> = {
  "sqlite:": (version) => `pragma user_version = ${version}`,
  "postgres:": (version) => `update fx_schema set version = ${version}`,
};
const sameVersion = "alter table accepted_table rename to table_in_force";

for (const { name, database } of adapters) {
  if (database === undefined) continue;
  const refuses = (sql: string, message: RegExp) =>
    test(`A ledger in ${name} is refused after: ${sql}`, async (t) => {
      const { open, openWith, run } = await database(t);
      await (await open()).close();
      for (const statement of sql.split("; ")) await run(statement);
      for (const access of accesses) {
        await assert.rejects(() => openWith({ access }), { code: "storage-unavailable", message });
      }
    });

  describe(`A ledger in ${name} of another version`, () => {
    const others = [2, 7, 0].map((version) => [versions[name]?.(version) ?? "", version] as const);
    for (const [sql, version] of [...others, [sameVersion, 1] as const]) {
      const found = `\\(schema ${version}; this one has schema 1\\)`;
      refuses(sql, new RegExp(`was written by another version of fx ${found}\\. Use that version, or name `));
    }
  });

  describe(`A ledger in ${name} with a changed schema`, () => {
    const message = /is damaged: its (table|index) \w+ (lacks "|has "|is missing|is another)/;
    for (const sql of [...changes, ...(own[name] ?? [])]) refuses(sql, message);
  });
}
