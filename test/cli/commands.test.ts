import assert from "node:assert/strict";
import { chmodSync, copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { newFolder } from "../support/folder.ts";
import { runHere, serveHere } from "../support/run-here.ts";
import { openStandIn, problemAnswer, rawAnswer, type StandIn } from "../support/stand-in.ts";
import { maskVolatile } from "../support/volatile.ts";

/**
 * The output of commands. Each file of test/cli/cases has cases, each in a new folder: a command after % prepares, one
 * after $ is shown with its output, where "! " begins the lines of stderr. They are written as in a shell:
 *
 * - `NAME=value fx …` sets variables, and `COLUMNS=80 fx …` is at a terminal of that width, shown without colours;
 * - `echo TEXT | fx …` is standard input, or typed at a terminal; `fx … < FILE` is a file as standard input; `> FILE` is
 *   where stdout goes, `2> /dev/null` leaves stderr out, `| sort` orders the lines of stdout, and `| grep WORD` selects some;
 * - `cat > FILE` is followed by the file's lines after "| "; `cp NAME` brings one of test/fixtures; `sed s/A/B/ FILE > OTHER`
 *   replaces the first A of the whole file, a regular expression of JavaScript, and `sed $d` leaves its last line out;
 * - `serve NAME=value` starts a server with these settings, where the commands after it work;
 * - `answers WORD…` starts one that is no fx and that answers so in turn: `die` drops the connection, `404` is a page of
 *   that status, and `500:internal` a problem; `asked` shows the requests that it got since.
 *
 * `<elsewhere>` is the server's address as that of another machine. `<id 1>` is the first id that is shown, `<id 1:8>` its first 8 characters and `<ID 1:8>` those in capitals; `<token 1>`
 * is the first token, `<folder>` the folder and `<url>` where commands work. TRANSCRIPTS_WRITE=1 writes the files anew,
 * to be read before they are kept.
 */
const folder = new URL("cases/", import.meta.url);
const inFile = { FX_URL: "sqlite:fx.db", FX_RATES: "demo" };
const atServer = { FX_RATES: "demo" };
/** Where the commands of a file work, if its cases do not say it: in this process, at a server, or nowhere. */
const places: Readonly<Record<string, readonly Readonly<Record<string, string>>[]>> = {
  ledger: [inFile, atServer],
  batch: [inFile, atServer],
  tokens: [{}],
  settings: [{}],
  terminal: [inFile],
  failures: [{}],
};
/** The days that an export has beside the times, and that of a till. */
const days = /(?<=<time>,|"date":")\d{4}-\d\d-\d\d/g;

/** Ids of entries, and tokens. */
const varying = /\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}\b|\bfxt_\w{49}\b/g;

/** The text that a terminal shows in the end, without colours and what was overwritten. */
const shownText = (screen: string) =>
  stripVTControlCharacters(screen).replaceAll(/\r+\n/g, "\n").replaceAll(/^.*\r/gm, "");

/** The files of a folder, but for the ledger. */
const namesIn = (path: string) =>
  readdirSync(path)
    .filter((name) => !name.startsWith("fx.db"))
    .sort();

/** An answer of a server that is no fx. */
function answerOf(word: string): string {
  const [, status, code] = /^(\d+)(?::(.*))?$/.exec(word) ?? [];
  if (status === undefined) return word;
  return code === undefined ? rawAnswer(Number(status)) : problemAnswer(Number(status), code);
}

/** A text after `s/A/B/` or `$d`. */
function edited(text: string, command: string): string {
  const [, part = "", other = ""] = /^s\/(.*)\/(.*)\/$/.exec(command) ?? [];
  if (command === "$d") return text.replace(/.*\n$/, "");
  return text.replace(new RegExp(part, "s"), () => other);
}

/** The first line of a request, its key and its token. */
function requestShown(request: string): string {
  const lines = request.match(/^\w+ \S+(?= HTTP)|^(idempotency-key|authorization): [^\r]*/gim) ?? [];
  return `${lines.join(" ")}\n`;
}

async function play(
  t: TestContext,
  env: Readonly<Record<string, string>>,
  recorded: string,
): Promise<string> {
  const cwd = newFolder(t);
  let url = env.FX_URL ?? "";
  const serve = async (settings: Readonly<Record<string, string>>) => {
    const server = await serveHere({ FX_RATES: "demo", ...settings });
    t.after(() => server.stop());
    url = server.url;
  };
  if (env === atServer) await serve({});

  let answering: StandIn | undefined;
  let shownRequests = 0;
  const elsewhere = () => url.replace("127.0.0.1", "0.0.0.0");

  const [ids, tokens]: [string[], string[]] = [[], []];
  const masked = (text: string) => {
    for (const [value] of text.matchAll(varying)) {
      const known = value.startsWith("fxt_") ? tokens : ids;
      if (!known.includes(value)) known.push(value);
    }
    const named = text
      .replaceAll(varying, (value) =>
        ids.includes(value) ? `<id ${ids.indexOf(value) + 1}>` : `<token ${tokens.indexOf(value) + 1}>`,
      )
      .replaceAll(cwd, "<folder>")
      .replaceAll(/\b0\.0\.0\.0:\d\d+/g, "0.0.0.0:<port>");
    return maskVolatile(named)
      .replaceAll(days, "<date>")
      .replaceAll(/(?<=\bfx \(?|"version":")\d+\.\d+\.\d+/g, "<version>")
      .replaceAll(/(?<=\btook\s+)\d+:\d\d/g, "<duration>");
  };
  const given = (line: string) =>
    line
      .replaceAll("<folder>", cwd)
      .replaceAll("<url>", url)
      .replaceAll("<elsewhere>", elsewhere())
      .replaceAll(/<(id|token) (\d+)(?::(\d+))?>/gi, (name, kind: string, nth: string, length?: string) => {
        const value =
          (kind === "token" ? tokens : ids)[Number(nth) - 1] ?? assert.fail(`there is no ${name}`);
        const part = value.slice(0, length === undefined ? value.length : Number(length));
        return kind === "ID" ? part.toUpperCase() : part;
      });

  /** Runs a line; gives its output and its exit. */
  async function run(
    line: string,
    input: string,
  ): Promise<{ stdout: string; stderr?: string; exit?: unknown }> {
    const form =
      /^(?:echo ?(?<typed>.*?) ?\| )?(?<set>(?:\w+=\S* )*)(?<what>\w+)(?<rest>.*?)(?: < (?<from>\S+))?(?<silent> 2> \/dev\/null)?(?: > (?<to>\S+))?(?: \| (?<filter>sort|grep \S+))?$/;
    const {
      typed,
      set = "",
      what,
      rest = "",
      from,
      silent,
      to,
      filter = "",
    } = form.exec(given(line))?.groups ?? {};
    const words = (text: string) =>
      (text.match(/(?:'[^']*'|[^\s'])+/g) ?? []).map((word) => word.replaceAll("'", ""));
    const [first = "", second = ""] = words(rest);
    const settings = (text: string) => Object.fromEntries(words(text).map((word) => word.split(/=(.*)/s)));
    const path = (name: string) => resolve(cwd, name);
    if (what === "ls")
      return {
        stdout: namesIn(cwd)
          .map((name) => `${name}\n`)
          .join(""),
      };
    if (what === "chmod") chmodSync(path(second), Number.parseInt(first, 8));
    else if (what === "cp")
      copyFileSync(new URL(`../fixtures/${first}`, import.meta.url), path(second || "."));
    else if (what === "serve") await serve(settings(rest));
    else if (what === "answers") {
      answering = await openStandIn(...words(rest).map(answerOf));
      [url, shownRequests] = [answering.url, 0];
    } else if (what === "asked") {
      const requests = answering?.requests.slice(shownRequests) ?? [];
      shownRequests += requests.length;
      return { stdout: requests.map(requestShown).join("") };
    } else if (what === "cat" && to !== undefined) writeFileSync(path(to), input, { mode: 0o600 });
    else if (what === "sed" && to !== undefined) {
      writeFileSync(path(to), edited(readFileSync(path(second), "utf8"), first));
    } else if (what === "cat") return { stdout: readFileSync(path(first), "utf8") };
    else {
      const { COLUMNS, ...own } = settings(set);
      const columns = COLUMNS === undefined ? {} : { columns: Number(COLUMNS) };
      const stdin = from ? readFileSync(path(from), "utf8") : typed === undefined ? "" : `${typed}\n`;
      const ran = await runHere(words(rest), {
        env: { ...env, ...(url && { FX_URL: url }), ...own },
        cwd,
        stdin,
        ...columns,
      });
      let lines = shownText(ran.stdout).split(/(?<=\n)/);
      if (filter === "sort") lines.sort();
      else if (filter !== "") lines = lines.filter((text) => text.includes(filter.slice("grep ".length)));
      if (to !== undefined) writeFileSync(path(to), lines.splice(0).join(""));
      return { exit: ran.exit, stdout: lines.join(""), stderr: silent === undefined ? ran.stderr : "" };
    }
    return { stdout: "" };
  }

  let transcript = recorded.slice(0, recorded.indexOf("\n") + 1);
  for (const [shown, how, line = "", input = ""] of recorded.matchAll(/^([$%]) (.*)\n((?:\|.*\n)*)/gm)) {
    const { stdout, stderr = "", exit = 0 } = await run(line, input.replaceAll(/^\| ?/gm, ""));
    transcript += shown;
    if (how === "%") {
      assert.equal(exit, 0, stderr);
      masked(stdout.match(/fxt_\w{49}/)?.[0] ?? "");
    } else {
      const ending = /(?<=^|\s)fx /.test(line) ? `[exit ${exit}]\n` : "";
      const told = masked(stdout + stderr.replaceAll(/^(?=.)/gm, "! "));
      transcript += `${told}${told === "" || told.endsWith("\n") ? "" : "\n"}${ending}`;
    }
  }
  return `${transcript}\n`;
}

for (const [name, surroundings] of Object.entries(places)) {
  const file = new URL(`${name}.txt`, folder);
  const cases = readFileSync(file, "utf8").split(/^(?=# \S)/m);
  for (const env of surroundings) {
    const where = env === atServer ? ", at a server" : "";
    describe(`commands of ${name}${where}`, () => {
      for (const recorded of cases) {
        const title = recorded.slice(2, recorded.indexOf("\n"));
        test(`${title}${where}`, async (t) => {
          const now = await play(t, env, recorded);
          if (!process.env.TRANSCRIPTS_WRITE) assert.equal(now, recorded);
          else {
            const text = readFileSync(file, "utf8");
            writeFileSync(
              file,
              text.replace(recorded, () => now),
            );
          }
        });
      }
    });
  }
}
