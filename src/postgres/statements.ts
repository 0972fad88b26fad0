import {
  accountColumns,
  foundColumns,
  foundFrom,
  holderColumns,
  joinAccount,
  joinHolder,
} from "../sql/statements.ts";

/** The statements of a transaction. Lists have the same length, one for each column. */

/** Takes a list of PESELs. */
export const selectAccounts = `select ${accountColumns} from unnest($1::bigint[]) as wanted (pesel) ${joinAccount}`;
export const lockAccounts =
  "select pesel from account where pesel = any($1::bigint[]) order by pesel for update";
/** The ids alone: hardly any key was used, and the server plans each statement again. */
export const findKeys =
  "select journal.id from journal join unnest($1::bigint[], $2::text[]) as k (pesel, key) " +
  "on journal.pesel = k.pesel and journal.idempotency_key = k.key";
/** Entries as `answeredEntry` reads them, with what they are found by. */
export const findAnswered =
  `select journal.pesel, journal.idempotency_key, ${foundColumns}, ${holderColumns} ${foundFrom} ${joinHolder} ` +
  "where journal.id = any($1::uuid[])";
export const findRefusals =
  "select refusal.* from unnest($1::bigint[], $2::text[]) as k (pesel, key) " +
  "join refusal on refusal.pesel = k.pesel and refusal.idempotency_key = k.key";
export const findReversed = `select journal.id, ${foundColumns} ${foundFrom} where journal.id = any($1::uuid[])`;
export const findEntries = "select id, hash from journal where id = any($1::uuid[])";
export const findEpochs = "select epoch, table_id from accepted_table where epoch = any($1::bigint[])";

export const writeAccounts =
  "insert into account (pesel, name, surname, sequence) " +
  "select * from unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) " +
  "on conflict (pesel) do update set name = excluded.name, surname = excluded.surname, sequence = excluded.sequence";
export const deleteWords = "delete from name_word where pesel = any($1::bigint[])";
export const insertWords =
  "insert into name_word (pesel, word) select * from unnest($1::bigint[], $2::text[])";
export const insertEntries = "insert into journal (entry, hash) select * from unnest($1::text[], $2::text[])";
export const insertRefusals =
  "insert into refusal (pesel, idempotency_key, digest, code, message, refused_at, asked_by, hash) select * from " +
  "unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[]) " +
  "on conflict (idempotency_key, pesel) do update set position = default, digest = excluded.digest, " +
  "code = excluded.code, message = excluded.message, refused_at = excluded.refused_at, " +
  "asked_by = excluded.asked_by, hash = excluded.hash";
/** Deletes some of the oldest: more than a batch adds, and few enough that orders do not wait. */
export const deleteRefusals =
  "delete from refusal where position in (select position from refusal order by position limit 512) " +
  "and (refused_at < $1 or position <= (select max(position) from refusal) - $2::bigint)";
export const insertTables =
  "insert into rate_table (id, source, number, trading_date, effective_date, rates) select * from " +
  "unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) on conflict do nothing";
export const insertAccepted =
  "insert into accepted_table (epoch, table_id, accepted_at, overridden_by, hash) values ($1, $2, $3, $4, $5)";
