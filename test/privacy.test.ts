import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFileSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import type { Operation } from "../src/wire/operation.ts";
import { operations } from "../src/wire/operations.ts";
import { adult } from "./support/fixture.ts";
import { newFolder } from "./support/folder.ts";
import { type HttpRequest, send } from "./support/http.ts";
import { type Ran, runFx, type Served, startFx } from "./support/run-fx.ts";

const [holder, other, stranger] = [adult(101), adult(202), adult(303)];
const mistyped = `${holder.slice(0, 10)}${(Number(holder[10]) + 1) % 10}`;
const person = { name: "Żaneta", surname: "Gżegżółka" };
const renamed = { name: "Brunhilda", surname: "Mazgajewska" };
const note = "rozliczenie z teściową";
const balance = "7318.37";
/** A token that no file has, and the tokens that are made before the tests. */
const token = `fxt_${"Zq7".repeat(12)}`;
const made = { operator: "", viewer: "", revoked: "" };
const tokenFolder = newFolder();
const tokenFile = join(tokenFolder, "tokens.json");
const key = (nth: number) => `key-of-${holder}-${nth}`;

/** Texts that nothing written may contain, in all their spellings. */
const secrets: string[] = [
  ...[holder, other, stranger, mistyped],
  ...[holder, other].map((pesel) => `${pesel.slice(0, 6)}-${pesel.slice(6)}`),
  ...Object.values(person),
  ...Object.values(renamed),
  note,
  token,
  ...[balance, balance.replace(".", ","), "7 318.37", "731837"],
].flatMap((text) => [text, encodeURIComponent(text), JSON.stringify(text).slice(1, -1)]);

before(async () => {
  const fx = (...line: string[]) => runFx(["token", ...line, "--tokens", tokenFile]);
  for (const [name, role] of [
    ["operator", "operator"],
    ["viewer", "viewer"],
    ["revoked", "operator"],
  ] as const) {
    const { stdout, exit } = await fx("create", name, "--role", role);
    assert.equal(exit, 0);
    made[name] = stdout.trim();
    secrets.push(made[name], basic(made[name]));
  }
  isSilentAbout(readFileSync(tokenFile, "utf8"), "the file of tokens");
  assert.equal((await fx("revoke", "revoked")).exit, 0);
});

function basic(password: string): string {
  return Buffer.from(`fx:${password}`).toString("base64");
}

function bearer(presented: string): Record<string, string> {
  return { authorization: `Bearer ${presented}` };
}

function isSilentAbout(written: string, what: string): void {
  for (const secret of secrets) {
    const at = written.toLowerCase().indexOf(secret.toLowerCase());
    const around = written.slice(Math.max(0, at - 200), at + 200);
    assert.equal(at, -1, `${what} has ${secret}: …${around}…`);
  }
}

const opening = { ...person, pesel: holder, pln: Number(balance) };
const order = { pesel: holder, from: "PLN", to: "USD", toBuy: 1 };
const cash = { amount: 5, currency: "PLN", note };

/** A body that is right, for each operation that takes one. */
const bodies: Readonly<Partial<Record<keyof typeof operations, unknown>>> = {
  createAccount: opening,
  exchange: order,
  deposit: cash,
  withdraw: cash,
  rename: renamed,
  closeAccount: {},
  blockAccount: { reason: note },
  unblockAccount: { reason: note },
  reverse: { reason: note },
};

/** Bodies that are wrong in every way, each with what must not be repeated. */
const wrongBodies: readonly (string | object)[] = [
  `{"pesel": "${holder}", "name": "${person.name}`,
  `["${holder}", "${person.surname}"]`,
  `"${person.surname} ${holder}"`,
  `{"pesel":"${holder}","pesel":"${other}"}`,
  `{"${holder}.1":1,"${holder}.1":1}`,
  { [`${holder}.1`]: 1, [`${holder.slice(0, 6)}-${holder.slice(6)}`]: 1, [person.surname]: 1, [token]: 1 },
  { ...order, pesel: mistyped, from: person.surname, to: token, toBuy: Number(balance), note },
  { ...order, pesel: other },
  { ...order, toBuy: 1e12 },
  { ...order, from: person.surname },
  { ...opening, pesel: stranger.replace(/.$/, "x"), name: person.surname.repeat(20) },
  { ...opening, surname: `${person.surname}\u0000` },
  { ...cash, currency: person.surname, note: note.repeat(20) },
  { ...cash, amount: 1e12 },
  { reason: `${note}\u202e` },
  { ...order, fill: person.surname.repeat(2000) },
];

const json = { "content-type": "application/json" };

/** Asks with the operator's token. `told` has whole answers of failures, and the heads of the others. */
function asker(url: string) {
  let told = "";
  const ask = async (method: string, path: string, { headers, body }: HttpRequest = {}) => {
    const type = body === undefined ? {} : json;
    const given = { ...type, ...bearer(made.operator), ...headers };
    const answer = await send(url, method, path, { headers: given, body });
    told += `${answer.status} ${JSON.stringify([...answer.headers])}\n`;
    if (answer.status >= 400) told += `${answer.text}\n`;
    return answer;
  };
  return { ask, told: () => told };
}

/** Sends right and wrong requests to every operation, and returns what was told. */
async function askEverything(url: string): Promise<string> {
  const { ask, told } = asker(url);
  let shown = "";
  let receipt = "";
  let nth = 0;
  const post = async (path: string, body: unknown, type?: string) => {
    nth += 1;
    const headers = { "content-type": type ?? "application/json", "idempotency-key": key(nth) };
    const answer = await ask("POST", path, { headers, body });
    receipt = answer.headers.get("fx-receipt")?.split("/").at(-1) ?? receipt;
    return answer;
  };
  assert.equal((await post("/api/user", opening)).status, 204);
  assert.equal((await post("/api/user", { ...opening, pesel: other })).status, 204);
  assert.equal((await post(`/api/exchange/${holder}`, order)).status, 200);
  const at = (path: string, pesel: string) => path.replace("{pesel}", pesel).replace("{code}", "USD");
  for (const [id, { method, path, lines }] of Object.entries<Operation>(operations)) {
    const query = new URLSearchParams({
      name: person.surname,
      key: key(1),
      cursor: holder,
      [holder]: holder,
    });
    for (const pesel of [holder, other, stranger, mistyped, person.surname, token].map(encodeURIComponent)) {
      const here = at(path, pesel).replace("{id}", pesel === holder ? receipt : pesel);
      if (method === "GET" || lines !== undefined) await ask(method, here);
      await ask(method, `${here}?${query}`);
      await ask(method, `${here}%`);
      await ask(method === "GET" ? "DELETE" : "PUT", `${here}?pesel=${pesel}`);
      if (method !== "POST" || lines !== undefined) continue;
      await post(here, bodies[id as keyof typeof bodies]);
      await post(here, bodies[id as keyof typeof bodies], "text/plain");
      if (pesel === holder) for (const body of wrongBodies) await post(here, body);
    }
  }
  const strange = [
    ...[token, made.viewer, made.revoked, made.operator.slice(0, -1), `${made.operator} x`].map(bearer),
    ...[`Basic ${basic(made.operator)}`, made.operator, "", person.surname.replace(/\W/g, "x")].map(
      (authorization) => ({ authorization }),
    ),
  ];
  for (const { method, path } of Object.values<Operation>(operations)) {
    const here = `${at(path, holder).replace("{id}", receipt)}?access_token=${made.operator}`;
    for (const headers of strange) await ask(method, here, { headers });
  }
  const pages = await ask("GET", "/api/users?limit=1");
  const { next } = pages.json as { next: string };
  await ask("GET", `/api/users?limit=1&cursor=${next}`);
  shown += `${next}\n`;
  const line = (body: object) => `${JSON.stringify(body)}\n`;
  const bulk = [
    order,
    opening,
    { ...cash, kind: "deposit", pesel: holder },
    ...wrongBodies.map((body) => ({ ...Object(body) })),
  ];
  const answers = await post("/api/bulk", bulk.map(line).join("") + wrongBodies[0], "application/x-ndjson");
  shown += answers.text
    .split("\n")
    .filter((text) => text.includes("problem"))
    .join("\n");
  await post(
    "/api/audit/comparison",
    line({ checkpoint: 1, [holder]: person.surname }),
    "application/x-ndjson",
  );
  const ids = { "x-request-id": `${person.surname.charCodeAt(0)}-${holder}`, traceparent: holder };
  for (const headers of [ids, { ...ids, "x-request-id": token }, { ...ids, "fx-table": holder }]) {
    await ask("GET", `/api/user/${holder}`, { headers });
    await ask("GET", `/api/${holder}/${encodeURIComponent(person.surname)}`, { headers });
  }
  for (const [bytes, destroy] of notHttp) shown += await sendBytes(url, bytes, destroy);
  return told() + shown;
}

/** Bytes that are no request, or that break off. */
const notHttp: readonly (readonly [bytes: string, breaksOff: boolean])[] = [
  [`${holder} ${person.surname}\r\n\r\n`, false],
  [`GRAB /api/user/${holder} HTTP/1.1\r\nHost: localhost\r\n\r\n`, false],
  [`GET /api/user/${holder} HTTP/1.1\r\nHost: localhost\r\nX: ${holder.repeat(2000)}\r\n\r\n`, false],
  [`GET /api/user/${holder} HTTP/1.1\r\nAuthorization: Bearer ${token}\r\n\r\n`, false],
  [
    `POST /api/user HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"${holder}"`,
    true,
  ],
  [
    `POST /api/bulk HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: 99\r\n\r\n{"${holder}"`,
    true,
  ],
];

async function sendBytes(url: string, bytes: string, breaksOff: boolean): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let text = "";
  socket
    .on("error", () => {})
    .on("data", (chunk) => {
      text += chunk;
    });
  const closed = once(socket, "close");
  socket.write(bytes, () => breaksOff && socket.destroySoon());
  await closed;
  return text;
}

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
  const metrics = await (await fetch(`${served.url}/metrics`, { headers: bearer(made.operator) })).text();
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

describe("no PESEL, name, note, balance or token is in a log, a metric, an error, a link or a file's name", () => {
  test("Nothing personal is written, whatever is asked for", async (t) => {
    const folder = newFolder(t);
    const served = await serve(t, `sqlite:${join(folder, "fx.db")}`);
    const told = await askEverything(served.url);
    const log = await isSilent(served, told);
    for (const { path } of Object.values(operations)) {
      assert.ok(
        path.startsWith("/health/") || log.includes(`"route":"${path}"`),
        `${path} is not in the log`,
      );
    }
    isSilentAbout(readdirSync(folder).join("\n"), "a file's name");
  });

  test("Nothing personal is written when entries cannot be read, the file is locked, or another takes its place", async (t) => {
    const folder = newFolder(t);
    const path = join(folder, "fx.db");
    const served = await serve(t, `sqlite:${path}`);
    const { ask: asked, told } = asker(served.url);
    const ask = async (method: string, where: string, body?: unknown) =>
      (await asked(method, where, { body })).status;
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
    const everything = await askEverything(served.url);
    const { ask: asked, told } = asker(served.url);
    const ask = async (method: string, where: string, body?: unknown) => {
      const { status, text } = await asked(method, where, { body });
      assert.ok(status >= 500, text);
    };
    await database.run("alter table journal add constraint none check (pesel < 0) not valid");
    await ask("POST", `/api/exchange/${other}`, { ...order, pesel: other });
    await ask("POST", "/api/user", { ...opening, pesel: stranger });
    network.cut();
    await ask("POST", `/api/exchange/${other}`, { ...order, pesel: other });
    await ask("GET", `/api/user/${other}`);
    network.restore();
    await isSilent(served, everything + told());
    await server.kill();
    assert.match(log, /violates check constraint/);
    assert.match(log, /duration: [\s\S]*insert into journal/i);
    isSilentAbout(log, "PostgreSQL's log, with the settings of docs/OPERATIONS.md,");
  });

  test("Nothing personal is written when fx crashes", async (t) => {
    const bug = `
      process.once("SIGWINCH", () => {
        const entry = JSON.stringify(${JSON.stringify({ ...person, holder })});
        const cause = new Error('invalid input for "' + entry + '"');
        const error = new Error("${holder} of " + '"${person.surname}"', { cause });
        throw Object.assign(error, { detail: "Key (pesel)=(${holder})", parameters: [entry], token: "${token}" });
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
    const env = { FX_URL: served.url, FX_TOKEN: made.operator, FX_RATES: "demo", ...mostTalkative };
    const fx = (line: string, stdin = "") => runFx(line.split(" "), { env, stdin, cwd: folder });
    const names = `--name ${person.name} --surname ${person.surname}`;
    assert.equal((await fx(`account create - ${names} --pln ${balance}`, holder)).exit, 0);
    const failed: Ran[] = [];
    for (const [name, tokenOf] of Object.entries({ viewer: made.viewer, revoked: made.revoked, token })) {
      const ran = await runFx(["audit"], { env: { ...env, FX_TOKEN: tokenOf } });
      assert.equal(ran.exit, 10, name);
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
      [`rates --url http://127.0.0.1:1/?token=${made.operator}`],
      [`rates --url http://fx:${made.operator}@127.0.0.1:1`],
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
