import assert from "node:assert/strict";
import { copyFileSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import { leaksIn, makeTokens, Play } from "./fuzz/play.ts";
import type { Tokens } from "./fuzz/requests.ts";
import { adult } from "./support/fixture.ts";
import { newFolder } from "./support/folder.ts";
import { type HttpAnswer, send } from "./support/http.ts";
import { openConnection } from "./support/raw-connection.ts";
import { type Ran, runFx, type Served, startFx } from "./support/run-fx.ts";

const [holder, other, stranger] = [adult(301), adult(302), adult(303)];
const mistyped = `${holder.slice(0, 10)}${(Number(holder[10]) + 1) % 10}`;
const person = { name: "Żaneta", surname: "Gżegżółka" };
const balance = "7318.37";
const tokenFile = join(newFolder(), "tokens.json");
let tokens: Tokens;
let operator = "";

before(async () => {
  tokens = await makeTokens(tokenFile);
  [operator = ""] = tokens.valid.operator;
  isSilentAbout(readFileSync(tokenFile, "utf8"), "the file of tokens");
});

function isSilentAbout(written: string, what: string): void {
  assert.deepEqual(leaksIn(written), [], what);
}

const opening = { ...person, pesel: holder, pln: Number(balance) };
const order = { pesel: holder, from: "PLN", to: "USD", toBuy: 1 };

/** Answers that tell on purpose: the reason of a suspension to all, and the version in a checkpoint to who sent it. */
const meant = /"code":"trading-suspended"|not a whole checkpoint: a newer fx /;

/** Notes whole answers of failures, and the heads of the others. */
function listener() {
  let told = "";
  const hear = ({ status, headers, text }: HttpAnswer) => {
    told += `${status} ${JSON.stringify([...headers])}\n${status >= 400 && !meant.test(text) ? `${text}\n` : ""}`;
  };
  return { hear, told: () => told };
}

/** Sends requests of every shape, and bytes that are no request, and returns what was told. */
async function askEverything(url: string, requests: number): Promise<string> {
  const { hear, told } = listener();
  assert.equal(await new Play(url, hear).run(requests, tokens, 1), undefined);
  let answered = "";
  for (const [bytes, breaksOff] of notHttp) {
    const { socket, closed, received } = await openConnection(url);
    socket.write(bytes, () => breaksOff && socket.destroySoon());
    await closed;
    answered += received();
  }
  return told() + answered;
}

const begun = (path: string, type: string) =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: 99\r\n\r\n{"${holder}"`;

/** Bytes that are no request, or that break off. */
const notHttp: readonly (readonly [bytes: string, breaksOff: boolean])[] = [
  [`${holder} ${person.surname}\r\n\r\n`, false],
  [`GRAB /api/user/${holder} HTTP/1.1\r\nHost: localhost\r\n\r\n`, false],
  [`GET /api/user/${holder} HTTP/1.1\r\nHost: localhost\r\nX: ${holder.repeat(2000)}\r\n\r\n`, false],
  [`GET /api/user/${holder} HTTP/1.1\r\nAuthorization: Bearer fxt_x\r\n\r\n`, false],
  [begun("/api/user", "application/json"), true],
  [begun("/api/bulk", "application/x-ndjson"), true],
];

/** The settings of PostgreSQL that docs/OPERATIONS.md asks for. */
function quietSettings(): Record<string, string> {
  const page = readFileSync(new URL("../docs/OPERATIONS.md", import.meta.url), "utf8");
  const lines = [...page.matchAll(/^ +(log_\w+) = (\w+)/gm)];
  assert.equal(lines.length, 3);
  return Object.fromEntries(lines.map(([, name, value]) => [name, value]));
}

const mostTalkative = { FX_LOG_LEVEL: "debug" };

/** Checks every part of what a server has written and still says, stops it, and resolves to its whole log. */
async function isSilent(served: Served, told: string): Promise<string> {
  const headers = { authorization: `Bearer ${operator}` };
  const { text: metrics } = await send(served.url, "GET", "/metrics", { headers });
  assert.match(metrics, /fx_orders_total/);
  isSilentAbout(metrics, "/metrics");
  isSilentAbout(told, "an answer");
  const { stdout, stderr } = await served.stop();
  isSilentAbout(stdout + stderr, "the log");
  return stderr;
}

async function serve(t: TestContext, db: string, env: Record<string, string> = {}): Promise<Served> {
  const settings = { FX_DB: db, FX_TOKENS: tokenFile, ...mostTalkative };
  const served = await startFx(["--rates", "demo"], { env: { ...settings, ...env } });
  t.after(() => served.stop());
  return served;
}

/** Asks with the operator's token; `told` is what `listener` notes. */
function asker(url: string) {
  const { hear, told } = listener();
  const ask = async (method: string, path: string, body?: unknown) => {
    const headers = {
      ...(body !== undefined && { "content-type": "application/json" }),
      authorization: `Bearer ${operator}`,
    };
    const answer = await send(url, method, path, { headers, body });
    hear(answer);
    return answer.status;
  };
  return { ask, told };
}

describe("no PESEL, name, note, balance or token is in a log, a metric, an error, a link or a file's name", () => {
  test("Nothing personal is written, whatever is asked for", async (t) => {
    const folder = newFolder(t);
    const served = await serve(t, `sqlite:${join(folder, "fx.db")}`);
    await isSilent(served, await askEverything(served.url, 1500));
    isSilentAbout(readdirSync(folder).join("\n"), "a file's name");
  });

  test("Nothing personal is written when entries cannot be read, the file is locked, or another takes its place", async (t) => {
    const folder = newFolder(t);
    const path = join(folder, "fx.db");
    const served = await serve(t, `sqlite:${path}`);
    const { ask, told } = asker(served.url);
    assert.equal(await ask("POST", "/api/user", opening), 204);
    assert.equal(await ask("POST", "/api/user", { ...opening, pesel: other }), 204);
    const database = new DatabaseSync(path);
    database.exec(
      `update journal set entry = json_set(entry, '$.initial', '${person.surname}') where position = 2`,
    );
    for (const where of ["history", "", "name"]) await ask("GET", `/api/user/${other}/${where}`);
    assert.equal(await ask("GET", `/api/user/${other}/history`), 500);
    await ask("POST", `/api/exchange/${other}`, { ...order, pesel: other });
    assert.equal(await ask("GET", "/api/export?format=ndjson&full=true").catch(() => 0), 0);
    await ask("GET", "/api/position");
    database.exec("begin exclusive");
    assert.ok((await ask("POST", `/api/exchange/${holder}`, order)) >= 500);
    database.exec("rollback");
    database.close();
    copyFileSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
    for (const where of ["", "/history"]) assert.equal(await ask("GET", `/api/user/${holder}${where}`), 500);
    assert.equal(await ask("POST", `/api/exchange/${holder}`, order), 500);
    const log = await isSilent(served, told());
    assert.match(log, /The ledger is damaged/);
    assert.match(log, /"code":"storage-unavailable"/);
  });

  test("Nothing personal is written when PostgreSQL refuses a statement, or is away", {
    skip: process.env.FX_TEST_POSTGRES === "none",
  }, async (t) => {
    let log = "";
    const { createDatabase, startPostgres } = await import("./support/postgres.ts");
    const { Network } = await import("./support/proxy.ts");
    const settings = { ...quietSettings(), log_min_duration_statement: "0" };
    const server = await startPostgres({
      settings,
      onLog: (text) => {
        log += text;
      },
    });
    const database = await createDatabase(server.url);
    const network = await Network.open(database.url);
    const served = await serve(t, `${network.url}?deadline=1`);
    t.after(async () => {
      await network.close();
      await server.stop();
    });
    const everything = await askEverything(served.url, 400);
    const { ask, told } = asker(served.url);
    const fails = async (method: string, where: string, body?: unknown) =>
      assert.ok((await ask(method, where, body)) >= 500);
    const deposit = [
      `/api/user/${other}/deposits`,
      { amount: 5, currency: "PLN", note: person.surname },
    ] as const;
    assert.equal(await ask("POST", "/api/user", { ...opening, pesel: other }), 204);
    await database.run("alter table journal add constraint none check (pesel < 0) not valid");
    await fails("POST", ...deposit);
    await fails("POST", "/api/user", { ...opening, pesel: stranger });
    network.cut();
    await fails("POST", ...deposit);
    await fails("GET", `/api/user/${other}`);
    network.restore();
    await isSilent(served, everything + told());
    await server.kill();
    assert.match(log, /violates check constraint/);
    assert.match(log, /duration: [\s\S]*insert into journal/i);
    isSilentAbout(
      log.replaceAll(`${Number.MAX_SAFE_INTEGER}`, ""),
      "PostgreSQL's log, with the settings of docs/OPERATIONS.md,",
    );
  });

  test("Nothing personal is written when fx crashes", async (t) => {
    const bug = `
      process.once("SIGWINCH", () => {
        const entry = JSON.stringify(${JSON.stringify({ ...person, holder })});
        const cause = new Error('invalid input for "' + entry + '"');
        const error = new Error("${holder} of " + '"${person.surname}"', { cause });
        throw Object.assign(error, { detail: "Key (pesel)=(${holder})", parameters: [entry], token: "${operator}" });
      });`;
    const preload = join(newFolder(t), "bug.mjs");
    writeFileSync(preload, bug);
    const served = await serve(t, "memory:", { NODE_OPTIONS: `--import ${pathToFileURL(preload)}` });
    served.signal("SIGWINCH");
    const { stderr, exit } = await served.ended;
    assert.equal(exit, 1);
    assert.match(stderr, /^fx: crashed, because of a bug in fx: Error: [\s\S]*\n {4}at /m);
    isSilentAbout(stderr, "what it printed");
  });

  test("Nothing personal is written when commands fail", async (t) => {
    const folder = newFolder(t);
    const served = await serve(t, `sqlite:${join(folder, "fx.db")}`);
    const env = { FX_URL: served.url, FX_TOKEN: operator, FX_RATES: "demo", ...mostTalkative };
    const fx = (line: string, stdin = "") => runFx(line.split(" "), { env, stdin, cwd: folder });
    const names = `--name ${person.name} --surname ${person.surname}`;
    assert.equal((await fx(`account create - ${names} --pln ${balance}`, holder)).exit, 0);
    const failed: Ran[] = [];
    for (const token of [tokens.valid.viewer[0] ?? "", tokens.invalid[0] ?? ""]) {
      const ran = await runFx(["audit"], { env: { ...env, FX_TOKEN: token } });
      assert.equal(ran.exit, 10);
      failed.push(ran);
    }
    for (const [line, stdin] of [
      [`account create - ${names} --pln 1`, holder],
      ["account show -", stranger],
      ["account show -", mistyped],
      ["account show -", `${person.surname} ${holder}`],
      [`account show ${holder} ${other} ${person.surname}`],
      ["account withdraw - --amount 9999 --currency PLN --yes", holder],
      ["account withdraw - --amount 1 --currency USD --yes --json", holder],
      ["exchange - --from PLN --to USD --to-buy 1000000 --yes", holder],
      [`exchange - --from PLN --to ${person.surname} --to-buy 1 --yes`, holder],
      ["account close - --yes", holder],
      [`receipt show ${holder}`],
      [`receipt reverse ${holder} --reason slip --yes`],
      [`backup ${join(folder, "none", "copy.db")} --db sqlite:${join(folder, "fx.db")}`],
      [`audit --against ${join(folder, "fx.db")}`],
      [`accounts ${holder}`],
      [`account show ${holder} --url http://127.0.0.1:1`],
      [`rates --url http://127.0.0.1:1/?token=${operator}`],
      [`rates --url http://fx:${operator}@127.0.0.1:1`],
    ] as const) {
      const ran = await fx(line, stdin);
      assert.notEqual(ran.exit, 0, line);
      failed.push(ran);
    }
    const cleaned = failed.map(({ stderr }) => stderr).join("\n");
    isSilentAbout(cleaned, "a message");
    await isSilent(served, "");
    isSilentAbout(readdirSync(folder).join("\n"), "a file's name");
  });
});
