import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { openSqlite } from "../../src/sqlite/store.ts";
import { emptyCheckpoint } from "../../src/wire/audit.ts";
import { bulkType } from "../../src/wire/bulk.ts";
import { operations } from "../../src/wire/operations.ts";
import { roles } from "../../src/wire/role.ts";
import { conforms, operationAt } from "../support/document.ts";
import { adult, now, peselOf, table } from "../support/fixture.ts";
import { type HttpAnswer, isProblem, send } from "../support/http.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { maskVolatile } from "../support/volatile.ts";

/**
 * The answers to requests. Each case of requests.txt has people of its own: `<rich>` has 1000 PLN, `<empty>` nothing,
 * `<closed>` and `<blocked>` an account of that kind, `<new>` none yet and `<child>` never one. Requests with % prepare
 * the case, those with $ are shown, and of those with ? the status and the headers. `teller:` sends that token to a server
 * with tokens, `nobody:` none; `> ` begins a header. Headers that all answers have are not shown.
 * `! no rates` is for the rest of the case, or until `! rates`; `! logged` shows the log's lines of the requests since
 * the last time, and `! counted NAME` the metrics of such a name that grew in the case, by how much. `<id 1>` is the first
 * id of the case, `<id 1:8>` its first 8 characters. TRANSCRIPTS_WRITE=1 writes the file anew, to be read before it is kept.
 */
const file = new URL("requests.txt", import.meta.url);
const cases = readFileSync(file, "utf8").split(/^(?=# )/m);

const succeeded = new Set<string>();

let open: TestServer;
let guarded: TestServer;
before(async () => {
  const store = Object.assign(openSqlite(":memory:"), { close: async () => {} });
  open = await startServer({}, "", { store });
  const expires = { late: new Date(now.getTime() + 3_600_000), past: now };
  const callers = [...roles.map((role) => [role, { name: role, role, expires: undefined }] as const)];
  const known = new Map<string, object>(callers);
  for (const [name, end] of Object.entries(expires))
    known.set(name, { name, role: "operator", expires: end });
  const callerOf = (header: string) => known.get(header.replace("Bearer ", "")) as never;
  guarded = await startServer({}, "", { store, tokens: { callerOf } });
});
after(async () => {
  for (const server of [open, guarded]) await server.close();
});

/** The values of a server's metrics, by name and labels. */
async function metrics(): Promise<ReadonlyMap<string, number>> {
  const { text } = await send(open.url, "GET", "/metrics", { headers: { "x-request-id": preparing } });
  return new Map(
    [...text.matchAll(/^([a-z]\w+(?:\{.*\})?) (\S+)$/gm)].map(([, name = "", value]) => [
      name,
      Number(value),
    ]),
  );
}

/** The metrics that begin with this name, and by how much they grew. */
async function grown(name: string, before: ReadonlyMap<string, number>): Promise<string> {
  const by = (series: string, value: number) => Number((value - (before.get(series) ?? 0)).toFixed(2));
  const now = [...(await metrics())].filter(
    ([series]) => series.startsWith(name) && !series.includes("/metrics"),
  );
  return now
    .flatMap(([series, value]) => (by(series, value) === 0 ? [] : `${series} ${by(series, value)}\n`))
    .join("");
}

/** The lines of requests in both servers' logs, after these lengths of the logs. */
function linesSince(lengths: readonly number[]): object[] {
  const lines = [open, guarded].flatMap((server, nth) => server.log().slice(lengths[nth]).trim().split("\n"));
  return lines
    .filter((line) => line.includes('"route"') && !line.includes(`"id":"${preparing}"`))
    .map((line) => JSON.parse(line));
}

const logLengths = () => [open, guarded].map((server) => server.log().length);

/** A line of the log without what varies: its id is that of the request, if the case gives it one. */
function shownLine(line: object, recorded: string): string {
  const {
    time: _,
    pid: _pid,
    hostname: _host,
    level: _level,
    ms,
    id,
    msg: _msg,
    ...told
  } = line as Record<string, unknown>;
  assert.ok(Number(ms) > 0 && Number(ms) < 60_000, `${ms} ms`);
  return JSON.stringify({ ...(recorded.includes(`: ${id}`) && { id }), ...told });
}

let people = 0;
/** The id of the requests that are not the case's own. */
const preparing = "preparing";
/** A PESEL for a person of a case, whose account is opened. */
async function personFor(kind: string): Promise<string> {
  people += 1;
  if (kind === "child") return peselOf(`0926${String(people).padStart(6, "010000")}`);
  const pesel = adult(people);
  const done = async (path: string, body: object) => {
    const headers = { "content-type": "application/json", "x-request-id": preparing };
    const { status, text } = await send(open.url, "POST", `/api/user${path}`, { headers, body });
    assert.ok(status < 300, text);
  };
  if (kind === "new") return pesel;
  await done("", { name: "Jan", surname: "Kowalski", pesel, pln: /^(rich|blocked)$/.test(kind) ? 1000 : 0 });
  if (kind === "closed") await done(`/${pesel}/closing`, {});
  if (kind === "blocked") await done(`/${pesel}/block`, { reason: "freeze" });
  return pesel;
}

/** The case, played anew. */
async function played(recorded: string): Promise<string> {
  const persons = new Map<string, string>();
  const ids: string[] = [];
  const before = await metrics();
  let [logged, sent] = [logLengths(), 0];
  const filled = async (text: string) => {
    for (const [name, kind = ""] of text.matchAll(/<(rich|empty|closed|blocked|new|child)(?: \d)?>/g)) {
      if (!persons.has(name)) persons.set(name, await personFor(kind));
    }
    const named = [...persons].reduce((told, [name, pesel]) => told.replaceAll(name, pesel), text);
    return named
      .replaceAll(/<id (\d+)(?::(\d+))?>/g, (shown, nth, length = 36) => {
        return (ids[Number(nth) - 1] ?? assert.fail(shown)).slice(0, Number(length));
      })
      .replaceAll("<lf>", "\n")
      .replace("<checkpoint>", emptyCheckpoint);
  };
  const told = (text: string) => {
    const found = text.match(/\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}\b/g) ?? [];
    ids.push(...new Set(found.filter((id) => !ids.includes(id))));
    const numbered = ids.reduce((all, id, index) => all.replaceAll(id, `<id ${index + 1}>`), text);
    const named = [...persons].reduce((all, [name, pesel]) => all.replaceAll(pesel, name), numbered);
    return maskVolatile(named)
      .replaceAll(/"schemaVersion":\d+/g, '"schemaVersion":<number>')
      .replaceAll(/(?<=urn:fx:request:)[\w-]+/g, "<request>")
      .replaceAll(/(?<=Id>|Ref>)[0-9a-f]{32}/g, "<id>");
  };
  let transcript = recorded.slice(0, recorded.indexOf("\n") + 1);
  const steps =
    /^(?:! (no rates|rates|logged|counted \w+)|([$%?]) (?:(\w+): )?(\S+) ((?:<[^>]*>|\S)+)(?: (.*))?((?:\n> .*)*))$/gm;
  for (const [shown, special, how, token, method = "", path = "", body, more = ""] of recorded.matchAll(
    steps,
  )) {
    transcript += `${shown}\n`;
    if (special?.endsWith("rates")) await open.rates.use(special === "rates" ? table : undefined);
    if (special?.startsWith("counted")) transcript += await grown(special.slice("counted ".length), before);
    if (special === "logged") {
      await until(() => linesSince(logged).length >= sent);
      const lines = linesSince(logged);
      [logged, sent] = [logLengths(), 0];
      transcript += told(lines.map((line) => `${shownLine(line, recorded)}\n`).join(""));
    }
    if (special !== undefined) continue;
    const at = await filled(path);
    const isLines = /^\/api\/(bulk|audit\/comparison)/.test(at);
    const given = (await filled(more)).matchAll(/^> ([\w-]+): ?(.*)$/gm);
    const headers = {
      ...(body !== undefined && { "content-type": isLines ? bulkType : "application/json" }),
      ...(token !== undefined && token !== "nobody" && { authorization: `Bearer ${token}` }),
      ...Object.fromEntries([...given].map(([, name, value]) => [name, value])),
    };
    const { url } = token === undefined ? open : guarded;
    const text = body === undefined ? {} : { body: await filled(body) };
    const answer = await send(url, method, at, { headers, ...text });
    if (!at.startsWith("/health/")) sent += 1;
    checkForm(method, at, answer);
    if (how === "%") assert.ok(answer.status < 300, `${shown} ${answer.text}`);
    else transcript += told(shownOf(answer, how === "$"));
  }
  return `${transcript}\n`;
}

/** No browser guesses a type, frames an answer, or tells others where it comes from. */
const security = {
  "content-security-policy": "default-src 'none';frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "origin-agent-cluster": "?1",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-dns-prefetch-control": "off",
  "x-download-options": "noopen",
  "x-frame-options": "DENY",
  "x-permitted-cross-domain-policies": "none",
  "x-xss-protection": "0",
};
/** Headers that are not recorded. */
const common = [
  ...Object.keys(security),
  ..."content-length transfer-encoding date connection keep-alive".split(" "),
  ..."x-request-id cache-control etag last-modified".split(" "),
];

/** The part of an answer that is recorded. */
function shownOf({ status, headers, text, json }: HttpAnswer, isWhole: boolean): string {
  const { code, detail, errors } = Object(json) as Record<string, string> & {
    errors?: { pointer: string }[];
  };
  const isRefused = code !== undefined && detail !== undefined;
  const usual = isRefused ? "application/problem+json; charset=utf-8" : "application/json; charset=utf-8";
  const more = [...headers].filter(([name, value]) => !common.includes(name) && value !== usual);
  const at = errors?.map(({ pointer }) => ` ${pointer || "(withheld)"}`).join("") ?? "";
  return [
    isRefused ? `${status} ${code}${at}: ${detail}` : `${status}`,
    ...more.map(([name, value]) => `${name}: ${value}`),
    ...(isWhole && !isRefused && text !== "" ? [text.trimEnd()] : []),
    "",
  ].join("\n");
}

/** Checks what holds for every answer: its headers, the form of a problem, and what the document says of it. */
function checkForm(method: string, path: string, answer: HttpAnswer): void {
  const { status, headers } = answer;
  for (const [name, value] of Object.entries(security)) {
    const isPage = /^\/docs(\/static|\/json|$)/.test(path) && name === "content-security-policy";
    if (isPage) {
      assert.match(headers.get(name) ?? "", /^default-src 'none'; script-src 'self'; style-src 'self';/);
      assert.doesNotMatch(headers.get(name) ?? "", /unsafe|upgrade|https?:/);
    } else assert.equal(headers.get(name), value, `${name} of ${method} ${path}`);
  }
  // Only a server that speaks https itself may have browsers stay with it.
  assert.equal(headers.get("strict-transport-security"), null);
  assert.ok(headers.has("x-request-id"));
  if (path.startsWith("/api")) assert.equal(headers.get("cache-control"), "no-store");
  if (status >= 400 && method !== "HEAD") isProblem(answer);
  const id = operationAt(method === "HEAD" ? "GET" : method, path);
  if (id === undefined) return;
  conforms(id, answer, { isHead: method === "HEAD" });
  if (status < 300) succeeded.add(id);
}

describe("requests", () => {
  for (const recorded of cases) {
    test(recorded.slice(2, recorded.indexOf("\n")), async () => {
      const again = await played(recorded).finally(() => open.rates.use(table));
      if (process.env.TRANSCRIPTS_WRITE) {
        writeFileSync(
          file,
          readFileSync(file, "utf8").replace(recorded, () => again),
        );
      } else {
        assert.equal(again, recorded);
      }
    });
  }

  test("Every operation succeeds in a case of requests.txt", () => {
    assert.deepEqual([...succeeded].sort(), Object.keys(operations).sort());
  });
});
