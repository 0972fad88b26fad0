import { schemaVersion } from "../ledger/store.ts";
import { schemaOf } from "../sql/schema.ts";

/** The whole schema, with which `prepare.ts` compares the database. */
export const schema = `
  create table fx_schema (
    id integer not null primary key check (id = 1),
    version integer not null
  );
  insert into fx_schema values (1, ${schemaVersion});
${schemaOf({
  bigint: "bigint",
  uuid: "uuid",
  counted: "bigint not null generated always as identity primary key",
  bytewise: ' collate "C"',
  computed: (member, type) => {
    const text = `entry::json ->> '${member}'`;
    return `generated always as (${type === "text" ? text : `(${text})::${type}`}) stored`;
  },
  table: "",
  accounts: " with (fillfactor = 70)",
  words: "",
})}`;
