import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Command } from "commander";
import { definitions, flagOf, loadConfig, settingNames } from "../../src/cli/config.ts";
import { ConfigError } from "../../src/cli/config-file.ts";
import { Context } from "../../src/cli/context.ts";
import { buildProgram, fullName } from "../../src/cli/program.ts";
import { parseTarget, withoutSecrets } from "../../src/cli/target.ts";
import { openTerminal } from "../../src/cli/terminal/terminal.ts";
import { runHere } from "../support/run-here.ts";

const home = mkdtempSync(join(tmpdir(), "fx-config-"));
after(() => rmSync(home, { recursive: true }));

/** An environment whose config file holds `content`. */
function withFile(content: string, env: Record<string, string> = {}): Record<string, string> {
  const folder = mkdtempSync(join(home, "xdg-"));
  mkdirSync(join(folder, "fx"));
  writeFileSync(join(folder, "fx", "config.json"), content, { mode: 0o600 });
  return { XDG_CONFIG_HOME: folder, ...env };
}

function refusal(flags: Record<string, unknown>, env: Record<string, string>): string {
  try {
    loadConfig(flags, env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message;
  }
  return assert.fail("it was taken");
}

describe("settings", () => {
  const nowhere = { XDG_CONFIG_HOME: join(home, "missing") };
  const file = '{"port": 1111, "rates": "demo"}';

  test("without anything given, each has its default", () => {
    const { settings, origins } = loadConfig({}, nowhere);
    assert.equal(settings.url.address, "http://127.0.0.1:8080");
    assert.equal(settings.port, 8080);
    assert.equal(settings.db.address, "memory:");
    assert.equal(settings.rates, "nbp");
    assert.equal(settings.maxTableAge, 7);
    assert.ok(Object.values(origins).every((origin) => origin === "default"));
  });

  test("the file beats the default", () => {
    const { settings, origins } = loadConfig({}, withFile(file));
    assert.deepEqual([settings.port, origins.port], [1111, "file"]);
  });

  test("the environment beats the file", () => {
    const { settings, origins } = loadConfig({}, withFile(file, { FX_PORT: "2222" }));
    assert.deepEqual([settings.port, origins.port], [2222, "environment"]);
    assert.deepEqual([settings.rates, origins.rates], ["demo", "file"]);
  });

  test("a flag beats the environment", () => {
    const { settings, origins } = loadConfig({ port: "3333" }, withFile(file, { FX_PORT: "2222" }));
    assert.deepEqual([settings.port, origins.port], [3333, "flag"]);
  });

  for (const name of settingNames) {
    test(`a blank ${name} is refused by name, wherever it stands`, () => {
      const { env, isSecret } = definitions[name];
      for (const blank of ["", " ", "\t\n", "\u00a0"]) {
        const told = "is blank. Give it a value, or remove it.";
        const file = join(mkdtempSync(join(home, "blank-")), "value");
        writeFileSync(file, blank, { mode: 0o600 });
        assert.equal(refusal({}, { ...nowhere, [env]: blank }), `${env} ${told}`);
        assert.equal(refusal({}, { ...nowhere, [`${env}_FILE`]: blank }), `${env}_FILE ${told}`);
        assert.equal(
          refusal({}, { ...nowhere, [`${env}_FILE`]: file }),
          `The file ${file} that ${env}_FILE names ${told}`,
        );
        const config = withFile(JSON.stringify({ [name]: blank }));
        assert.equal(refusal({}, config), `"${name}" in ${config.XDG_CONFIG_HOME}/fx/config.json ${told}`);
        if (!isSecret) assert.equal(refusal({ [name]: blank }, nowhere), `${flagOf(name)} ${told}`);
      }
    });
  }

  test("a list is refused if one of its items is blank", () => {
    for (const name of settingNames.filter((each) => definitions[each].repeats)) {
      for (const list of [",", " , ", "localhost,", ",loopback", "localhost,,::1"])
        assert.match(refusal({ [name]: list }, nowhere), / must be /, `${name} ${list}`);
    }
  });

  for (const name of ["port", "adminPort"] as const) {
    test(`the ${name} that Kubernetes sets for a Service is ignored, and told`, () => {
      const { env } = definitions[name];
      const variables = { [env]: "tcp://10.96.0.12:8080" };
      const { settings, origins, ignored } = loadConfig({}, { ...nowhere, ...variables });
      assert.deepEqual([settings[name], origins[name]], [loadConfig({}, nowhere).settings[name], "default"]);
      assert.deepEqual(ignored, [name]);
      assert.equal(loadConfig({}, withFile(`{"${name}": 1111}`, variables)).settings[name], 1111);
      assert.match(refusal({}, { ...nowhere, [env]: "tcp://" }), /must be a whole number/);
      assert.match(refusal({ [name]: "tcp://10.96.0.12:8080" }, nowhere), /must be a whole number/);
    });
  }

  test("a file with a byte order mark is read", () => {
    assert.equal(loadConfig({}, withFile(`\ufeff${file}`)).settings.port, 1111);
  });

  test("a home that cannot be read, or none, is one without a config file", async () => {
    const closed = mkdtempSync(join(home, "closed-"));
    mkdirSync(join(closed, ".config"));
    for (const HOME of ["/nonexistent", "/dev/null", closed, "", undefined]) {
      chmodSync(closed, 0o000);
      const { settings } = loadConfig({}, { HOME });
      chmodSync(closed, 0o700);
      assert.equal(settings.port, 8080);
    }
  });

  test("the file stands in ~/.config where XDG_CONFIG_HOME is not set", () => {
    assert.equal(loadConfig({}, { HOME: "/home/jan" }).file, "/home/jan/.config/fx/config.json");
  });

  for (const [name, text] of [
    ["port", "65536"],
    ["port", "80a"],
    ["db", "mysql://x"],
    ["db", "sqlite:"],
    ["url", "localhost:8080"],
    ["maxTableAge", "0"],
    ["stopTimeout", "3601"],
    ["maxConnections", "0"],
    ["acceptTable", "108"],
    ["logLevel", "loud"],
    ["host", "a b"],
    ["prefix", "fx"],
    ["prefix", "/f x"],
    ["prefix", "//"],
    ["prefix", "/fx/../x"],
  ] as const) {
    test(`${name} ${text} is refused with the place and the form`, () => {
      const { env, form } = definitions[name];
      assert.equal(refusal({ [name]: text }, nowhere), `${flagOf(name)} must be ${form}.`);
      assert.equal(refusal({}, { ...nowhere, [env]: text }), `${env} must be ${form}.`);
      assert.match(
        refusal({}, withFile(JSON.stringify({ [name]: text }))),
        /^"\w+" in .*config\.json must be /,
      );
    });
  }

  test("a prefix has no slash at its end", () => {
    const prefixes = ["/", "/fx", "/fx/", "/bank/fx", "/.fx"].map((prefix) =>
      loadConfig({ prefix }, nowhere),
    );
    assert.deepEqual(
      prefixes.map(({ settings }) => settings.prefix),
      ["/", "/fx", "/fx", "/bank/fx", "/.fx"],
    );
  });

  test("an unknown key in the file is refused by name", () => {
    assert.match(refusal({}, withFile('{"prot": 1}')), /config\.json sets "prot", which fx does not know/);
  });

  test("a file that is no JSON object is refused", () => {
    assert.match(refusal({}, withFile("{port: 1}")), /is not JSON\.$/);
    assert.match(refusal({}, withFile("[]")), /must hold one JSON object\.$/);
  });

  test("a password is taken from the environment and the file, and refused in a flag", () => {
    const address = "postgres://fx:secret@db/fx";
    assert.equal(loadConfig({}, { ...nowhere, FX_DB: address }).settings.db.address, address);
    assert.equal(loadConfig({}, withFile(JSON.stringify({ db: address }))).settings.db.address, address);
    assert.match(
      refusal({ db: address }, nowhere),
      /password, key or token .* Put the address of --db into FX_DB/,
    );
    assert.ok(!refusal({ db: address }, nowhere).includes("secret"));
  });

  test("a variable's value may stand in a file that its _FILE names, as of a container's secrets", () => {
    const secret = join(mkdtempSync(join(home, "secret-")), "db");
    writeFileSync(secret, "postgres://fx:secret@db/fx\n");
    const { settings, origins } = loadConfig({}, { ...nowhere, FX_DB_FILE: secret });
    assert.deepEqual([settings.db.address, origins.db], ["postgres://fx:secret@db/fx", "environment"]);
    assert.equal(
      refusal({}, { ...nowhere, FX_DB_FILE: secret, FX_DB: "memory:" }),
      "Set FX_DB or FX_DB_FILE, not both.",
    );
    assert.match(
      refusal({}, { ...nowhere, FX_DB_FILE: "/no/such/file" }),
      /^The file \/no\/such\/file that FX_DB_FILE names cannot be read \(no such file or directory\)\.$/,
    );
    writeFileSync(secret, "hidden");
    assert.ok(!refusal({}, { ...nowhere, FX_DB_FILE: secret }).includes("hidden"));
  });

  test("an address is shown without its password", () => {
    assert.equal(withoutSecrets("postgres://fx:s:e/c@db/fx"), "postgres://fx:***@db/fx");
    assert.equal(
      withoutSecrets("postgres://db/fx?user=fx&password=secret"),
      "postgres://db/fx?user=fx&password=***",
    );
    assert.equal(withoutSecrets("postgres://fx@db/fx"), "postgres://fx@db/fx");
  });

  for (const [variable, meant] of [
    ["FX_BD", "FX_DB"],
    ["FX_D", "FX_DB"],
    ["FX_DBS", "FX_DB"],
    ["FX_BD_FILE", "FX_DB_FILE"],
    ["FX_RATE", "FX_RATES"],
    ["FX_LOGLEVEL", "FX_LOG_LEVEL"],
    ["FX_MAXTABLEAGE", "FX_MAX_TABLE_AGE"],
  ] as const) {
    test(`${variable} is refused, with ${meant} as the right name`, () => {
      assert.equal(
        refusal({}, { ...nowhere, [variable]: "x" }),
        `${variable} is not a setting of fx. If you mean ${meant}, rename it; otherwise unset it.`,
      );
    });
  }

  test("a misspelt variable is refused, too, where it is blank", () => {
    assert.match(refusal({}, { ...nowhere, FX_BD: "" }), /^FX_BD is not a setting of fx/);
  });

  test("a variable that is like no setting is left alone", () => {
    const others = ["FX_THEME", "FX_SHOW_SIZE", "FX_SERVICE_PORT", "FX_PORT_8080_TCP", "FX_HOME", "FXDB"];
    for (const value of ["x", ""])
      loadConfig({}, { ...nowhere, ...Object.fromEntries(others.map((name) => [name, value])) });
  });

  test("every setting has a variable of its own", () => {
    assert.equal(new Set(settingNames.map((name) => definitions[name].env)).size, settingNames.length);
  });
});

test("a server whose FX_DB is misspelt does not start, with exit 2", async () => {
  const { stderr, exit } = await runHere(["serve"], { env: { FX_BD: "sqlite:fx.db" } });
  assert.match(stderr, /^fx: FX_BD is not a setting of fx\. If you mean FX_DB, /);
  assert.equal(exit, 2);
});

test("a blank setting ends a server and a command with exit 2 before anything is opened", async () => {
  for (const [args, env, name] of [
    [["serve"], { FX_TOKENS: "" }, "FX_TOKENS"],
    [["serve"], { FX_DB: "" }, "FX_DB"],
    [["serve"], { FX_DB_FILE: "" }, "FX_DB_FILE"],
    [["serve"], withFile('{"tokens": " "}'), '"tokens" in .*'],
    [["rates"], { FX_URL: "" }, "FX_URL"],
    [["rates"], { FX_TOKEN: "  " }, "FX_TOKEN"],
  ] as const) {
    const { stdout, stderr, exit } = await runHere(args, { env });
    assert.match(stderr, new RegExp(`^fx: ${name} is blank\\. `));
    assert.deepEqual([stdout, exit], ["", 2]);
  }
});

describe("a blank value is refused with exit 2 for every option of", () => {
  const listed = (command: Command): Command[] => [command, ...command.commands.flatMap(listed)];
  const program = buildProgram(new Context(openTerminal(process, {}, true), "0.0.0"));
  for (const command of listed(program)) {
    const options = command.options.filter(({ required }) => required);
    if (options.length === 0) continue;
    test(fullName(command), async () => {
      for (const { long } of options) {
        const words = [...fullName(command).split(" ").slice(1), long as string, " "];
        const { stdout, stderr, exit } = await runHere(words);
        assert.match(stderr, new RegExp(`^fx: ${long} is blank\\. Give it a value, or leave it out\\.`));
        assert.deepEqual([stdout, exit], ["", 2]);
      }
    });
  }
});

test("--rates at a server, where it has no effect, is refused with exit 2", async () => {
  const terms = ["--from", "PLN", "--to", "USD", "--to-buy", "1"];
  for (const args of [
    ["rates"],
    ["rates", "history", "USD"],
    ["quote", ...terms],
    ["exchange", "44051401359", ...terms, "--yes"],
    ["batch", "-"],
    ["doctor"],
  ]) {
    for (const rates of ["/nonexistent", "demo", "nbp"]) {
      const at = ["--url", "http://127.0.0.1:1", "--rates", rates];
      const { stdout, stderr, exit } = await runHere([...args, ...at]);
      assert.match(
        stderr,
        /^fx: --rates is for a store in this process\. The server at http:\/\/127\.0\.0\.1:1 /,
      );
      assert.deepEqual([stdout, exit], ["", 2]);
    }
    const { exit } = await runHere([...args, "--url", "http://127.0.0.1:1"], { env: { FX_RATES: "demo" } });
    assert.notEqual(exit, 2, "a variable may be for other commands");
  }
});

test("fx doctor says that it ignores the port that Kubernetes sets for a Service", async () => {
  const env = { FX_PORT: "tcp://10.96.0.12:8080", FX_URL: "memory:", FX_RATES: "demo" };
  const { stdout, exit } = await runHere(["doctor"], { env });
  assert.match(stdout, /^check\tenvironment\tok\tFX_PORT is ignored: Kubernetes has set it for a Service/m);
  assert.equal(exit, 0);
});

test("a command follows flag, environment and file, in this order", async () => {
  const inFile = withFile('{"url": "http://127.0.0.1:1", "rates": "demo"}');
  const quote = ["quote", "--from", "PLN", "--to", "USD", "--to-buy", "1"];
  assert.match((await runHere(quote, { env: inFile })).stderr, /http:\/\/127\.0\.0\.1:1 /);
  assert.equal((await runHere(quote, { env: { ...inFile, FX_URL: "memory:" } })).exit, 0);
  const env = { ...inFile, FX_URL: "http://127.0.0.1:2" };
  assert.match((await runHere(quote, { env })).stderr, /http:\/\/127\.0\.0\.1:2 /);
  assert.equal((await runHere([...quote, "--url", "memory:"], { env })).exit, 0);
});

describe("an address that another program takes for one of SQLite", () => {
  for (const [address, advice] of [
    ["sqlite://rel.db", /without \/\/: sqlite:rel\.db, or sqlite:\/rel\.db from the root folder\.$/],
    ["sqlite:///rel.db", /without \/\/: sqlite:rel\.db, or sqlite:\/rel\.db from the root folder\.$/],
    ["sqlite:////var/lib/fx.db", /sqlite:\/var\/lib\/fx\.db from the root folder\.$/],
    ["sqlite:q.db?mode=memory", /A ledger in memory is memory:\.$/],
    ["sqlite::memory:", /A ledger in memory is memory:\.$/],
    ["sqlite://:memory:", /A ledger in memory is memory:\.$/],
    ["sqlite:q.db?mode=ro&cache=shared", /A path without parameters follows sqlite:, as in sqlite:q\.db\.$/],
    ["sqlite:file:q.db", /A path without parameters follows sqlite:, as in sqlite:q\.db\.$/],
    ["sqlite:?", /as in sqlite:fx\.db\.$/],
  ] as const) {
    for (const setting of ["db", "url"] as const) {
      test(`is refused as --${setting}, with the form that is meant: ${address}`, () => {
        const load = () => loadConfig({ [setting]: address }, { HOME: "/nonexistent" });
        assert.throws(load, { name: "ConfigError", message: advice });
      });
    }
  }
});

describe("a place", () => {
  for (const [address, place] of [
    ["https://fx.example/api", { kind: "server" }],
    ["memory:", { kind: "memory" }],
    ["sqlite:/var/lib/fx.db", { kind: "sqlite", path: "/var/lib/fx.db" }],
    ["postgresql://fx@a,b/fx", { kind: "postgres" }],
  ] as const) {
    test(`${address} is a ${place.kind}`, () => {
      assert.deepEqual(parseTarget(address), { ...place, address });
    });
  }

  for (const address of [
    "",
    "fx.db",
    "sqlite:",
    "postgres://",
    "memory:x",
    "http://",
    "ftp://x",
    "SQLITE:x",
  ]) {
    test(`"${address}" is none`, () => {
      assert.equal(parseTarget(address), undefined);
    });
  }
});
