import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import { documented } from "./deploy/package.ts";
import { adult } from "./support/fixture.ts";
import { newFolder } from "./support/folder.ts";
import { runFx, type Served, startFx } from "./support/run-fx.ts";
import { openStandIn, problemAnswer, rawAnswer } from "./support/stand-in.ts";
import { openTcpProxy } from "./support/tcp-proxy.ts";
import { until } from "./support/until.ts";

// The programs of docs/clients as they stand there, against a server that asks for tokens, through a network that breaks.
const root = fileURLToPath(new URL("..", import.meta.url));
const clients = {
  "order.sh": ["sh"],
  "order.py": ["python3"],
} as const;

const programOf = (file: string) => readFileSync(join(root, "docs/clients", file), "utf8");

/** A network that gives only this part of the first answer to each path, or this text in its place. */
async function brokenNetwork(target: number, first: number | string) {
  const broken: string[] = [];
  const network = await openTcpProxy(
    () => target,
    ({ client, server }) => {
      let isCut = false;
      return {
        toServer: (bytes) => {
          const [, path] = /^POST (\S+) HTTP/.exec(bytes.toString("latin1")) ?? [];
          if (path !== undefined && !broken.includes(path)) {
            broken.push(path);
            isCut = true;
          }
          server.write(bytes);
        },
        toClient: (bytes) => {
          if (!isCut) client.write(bytes);
          else {
            const given = typeof first === "string" ? first : bytes.subarray(0, first * bytes.length);
            client.write(given, () => client.destroy());
          }
        },
      };
    },
  );
  return { ...network, broken };
}

const gateway = rawAnswer(404, '{"message":"no Route matched"}\n', "Content-Type: application/json");
const folder = newFolder();

describe("The programs of docs/clients", { concurrency: true }, () => {
  const env: Record<string, string> = { PATH: process.env.PATH ?? "", HOME: folder, LC_ALL: "C.UTF-8" };
  let server: Served;

  before(async () => {
    const tokens = join(folder, "tokens");
    const { stdout } = await runFx(["token", "create", "till-1", "--role", "teller", "--tokens", tokens]);
    env.FX_TOKEN = stdout.trim();
    server = await startFx(["--rates", "demo", "--tokens", tokens, "--log-level", "silent"]);
  });
  after(() => server?.stop());

  const fx = async (...args: string[]) => {
    const ran = await runFx(args, { env: { FX_URL: server.url, FX_TOKEN: env.FX_TOKEN ?? "" } });
    assert.equal(ran.exit, 0, ran.stderr);
    return ran.stdout;
  };

  /** Runs a client at this address. Resolves with its output, and its exit unless that is 0. */
  function runAt(
    url: string,
    file: keyof typeof clients,
    pesel: string,
    lines: readonly string[],
  ): Promise<string> {
    const cwd = mkdtempSync(join(folder, file));
    writeFileSync(join(cwd, file), programOf(file));
    writeFileSync(join(cwd, "lines.ndjson"), lines.map((line) => `${line}\n`).join(""));
    const [program = "", ...args] = [...clients[file], file, pesel, "order-1001", "lines.ndjson"];
    const options = { cwd, env: { ...env, FX_URL: url } };
    return new Promise((resolve) => {
      execFile(program, args, options, (error, stdout, stderr) =>
        resolve(stdout + stderr + (error === null ? "" : `exit ${error.code}`)),
      );
    });
  }

  /** Runs a client through a network of its own, which breaks the first answer to each of its two requests. */
  async function run(
    file: keyof typeof clients,
    first: number | string,
    pesel: string,
    lines: readonly string[],
  ) {
    const network = await brokenNetwork(Number(new URL(server.url).port), first);
    try {
      const told = await runAt(network.url, file, pesel, lines);
      assert.deepEqual(network.broken, [`/api/exchange/${pesel}`, "/api/bulk"], told);
      return told;
    } finally {
      network.close();
    }
  }

  test("docs/HTTP.md shows the part of order.sh that settles an order", () => {
    assert.ok(programOf("order.sh").includes(documented("sh", "client: order.sh", "docs/HTTP.md")));
  });

  for (const [index, file] of (Object.keys(clients) as (keyof typeof clients)[]).entries()) {
    const [rich, poor] = [adult(2 * index), adult(2 * index + 1)];
    const skip = spawnSync(clients[file][0], ["--version"]).error && `${clients[file][0]} is not installed`;
    const deposits = (pesel: string) =>
      Array.from({ length: 40 }, (_, nth) =>
        JSON.stringify({ kind: "deposit", pesel, amount: 0.01, currency: "PLN", key: `in-${nth}` }),
      );

    test(`${file} does each order once, although answers are cut off, and tells a refusal`, {
      skip,
    }, async () => {
      for (const [pesel, pln] of [
        [rich, "900"],
        [poor, "1"],
      ] as const) {
        await fx("account", "create", pesel, "--name", "Jan", "--surname", "K", "--pln", pln);
      }
      const told = await run(file, 0.5, rich, [...deposits(rich), '{"kind":"deposit"}']);
      assert.match(told, /^settled \/api\/receipts\/\S{36}\ndone 40, answered 41 of 41\n$/);
      const entries = JSON.parse(await fx("account", "history", rich, "--json")).entries as {
        kind: string;
      }[];
      assert.deepEqual(
        [entries.length, entries.filter(({ kind }) => kind === "exchange").length],
        [1 + 1 + 40, 1],
      );
      const refused = await run(file, 0.99, poor, deposits(poor));
      assert.equal(refused, "refused insufficient-funds\ndone 40, answered 40 of 40\n");
    });

    test(`${file} takes no JSON of a gateway for an answer of fx, and sends again`, { skip }, async () => {
      const pesel = adult(10 + index);
      await fx("account", "create", pesel, "--name", "Jan", "--surname", "K", "--pln", "900");
      const told = await run(file, gateway, pesel, deposits(pesel));
      assert.match(told, /^settled \/api\/receipts\/\S{36}\ndone 40, answered 40 of 40\n$/);
    });

    test(`${file} exits with 8 where only a gateway answers the lines`, { skip }, async () => {
      const { url } = await openStandIn(problemAnswer(422, "insufficient-funds"), gateway);
      const told = await runAt(url, file, poor, deposits(poor).slice(0, 1));
      assert.equal(told, "refused insufficient-funds\ndone 0, answered 0 of 1\nexit 8");
    });
  }

  test("outbox.py writes every entry once, although it is killed and its connections are cut", {
    skip: spawnSync("python3", ["--version"]).error && "python3 is not installed",
  }, async (t) => {
    const file = "outbox.py";
    writeFileSync(join(folder, file), programOf(file));
    const path = join(folder, `${file}.db`);
    const token = (
      await runFx(["token", "create", file, "--role", "operator", "--tokens", join(folder, "tokens")])
    ).stdout.trim();
    const network = await openTcpProxy(() => Number(new URL(server.url).port));
    t.after(network.close);
    const start = () =>
      spawn("python3", [file, path], {
        ...{ cwd: folder, stdio: "ignore", env: { ...env, FX_TOKEN: token, FX_URL: network.url } },
      });
    const pesel = adult(20);
    await fx("account", "create", pesel, "--name", "Jan", "--surname", "K", "--pln", "900");
    const ids = () => idsIn(path);
    for (let round = 0; round < 4; round += 1) {
      const outbox = start();
      t.after(() => outbox.kill("SIGKILL"));
      const lines = Array.from({ length: 30 }, (_, nth) =>
        JSON.stringify({
          kind: "deposit",
          pesel,
          amount: 1,
          currency: "PLN",
          key: `outbox-${round}-${nth}`,
        }),
      );
      const before = ids().length;
      const depositing = runFx(["batch", "-", "--yes"], {
        ...{ stdin: lines.join("\n"), env: { FX_URL: server.url, FX_TOKEN: env.FX_TOKEN ?? "" } },
      });
      await until(() => ids().length > before);
      network.cut();
      await depositing;
      outbox.kill("SIGKILL");
      await once(outbox, "close");
    }
    const last = start();
    t.after(() => last.kill("SIGKILL"));
    const journal = async () => {
      const answer = await runFx(["entries", "--json"], { env: { FX_URL: server.url, FX_TOKEN: token } });
      const lines = answer.stdout.trim().split("\n");
      return lines.map((line) => JSON.parse(line) as { id: string; pesel: string });
    };
    const done = (await journal()).filter((entry) => entry.pesel === pesel);
    assert.equal(done.length, 1 + 4 * 30);
    await until(() => ids().includes(done.at(-1)?.id ?? ""));
    const seen = ids();
    const all = (await journal()).map(({ id }) => id);
    assert.deepEqual(seen, all.slice(0, seen.length));
  });
});

/** The ids of the entries in an outbox, in the order in which they were written. */
function idsIn(path: string): string[] {
  if (!existsSync(path)) return [];
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return database
      .prepare("select id from outbox order by position")
      .all()
      .map((row) => String(Object(row).id));
  } catch {
    // Its table is not made yet.
    return [];
  } finally {
    database.close();
  }
}
