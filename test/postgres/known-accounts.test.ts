import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Pesel } from "../../src/core/pesel.ts";
import type { Store } from "../../src/ledger/store.ts";
import { Connection } from "../../src/postgres/connection.ts";
import { KnownAccounts } from "../../src/postgres/known-accounts.ts";
import { type PostgresHost, parsePostgresUrl } from "../../src/postgres/url.ts";
import { adult } from "../support/fixture.ts";
import { create, emptyDatabase, openStore, sellGrosz } from "../support/postgres-store.ts";

const [jan, anna] = [adult(), adult(1)];

/** Two processes on one database with an account, which the first has read. */
async function startTwo(t: TestContext) {
  const database = await emptyDatabase(t);
  const [first, second] = [await openStore(t, database.url), await openStore(t, database.url)];
  await create(first, jan);
  await first.account(jan);
  return { ...database, first, second };
}

const sequenceOf = async (store: Store, pesel: Pesel) => (await store.account(pesel))?.sequence;

test("an account that another process has changed is read, and settled, as it is now", async (t) => {
  const { first, second } = await startTwo(t);
  await sellGrosz(second, [jan]);
  assert.equal(await sequenceOf(first, jan), 2);
  await sellGrosz(second, [jan]);
  await sellGrosz(first, [jan]);
  assert.equal(await sequenceOf(second, jan), 4);
});

test("an account is read anew where another server has as many entries of it, but others", async (t) => {
  const { first, run } = await startTwo(t);
  await run(`update account set surname = 'Nowak', hash = repeat('f', 64)`);
  assert.equal((await first.account(jan))?.surname, "Nowak");
});

test("an account that the database no longer has is not there, read or touched", async (t) => {
  const { first, run } = await startTwo(t);
  await run("truncate account, journal, name_word");
  assert.equal(await first.account(jan), undefined);
  await create(first, jan);
  assert.equal(await sequenceOf(first, jan), 1);
});

test("an account whose change could not be committed is read as it was", async (t) => {
  const { first, run } = await startTwo(t);
  await run("alter table journal add check (sequence < 2)");
  await assert.rejects(sellGrosz(first, [jan]));
  assert.equal(await sequenceOf(first, jan), 1);
});

test("of known accounts that are as they were, read or written, the database sends no row", async (t) => {
  const { url, first } = await startTwo(t);
  await create(first, anna);
  const place = parsePostgresUrl(url);
  const connection = await Connection.open(place, place.hosts[0] as PostgresHost);
  t.after(() => connection.close());
  const query = connection.query.bind(connection);
  const sent: unknown[] = [];
  connection.query = async (text, parameters) => {
    const rows = await query(text, parameters);
    sent.push(rows.map(({ pesel }) => pesel).sort());
    return rows;
  };
  const known = new KnownAccounts();
  const pesels = [jan, anna].sort();
  const asRead = await known.read(connection, pesels);
  assert.deepEqual(await known.read(connection, pesels), asRead);
  assert.deepEqual(
    asRead.map((account) => account?.pesel),
    pesels,
  );
  const written = new KnownAccounts();
  written.add(asRead.filter((account) => account !== undefined));
  assert.deepEqual(await written.read(connection, pesels), asRead);
  assert.deepEqual(sent, [pesels.map(Number), [], []]);
});
