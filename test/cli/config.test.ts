import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fullName } from "../../src/cli/command.ts";
import { flagOf, type SettingName, settingNames, settingOf, variableOf } from "../../src/cli/settings.ts";
import { parseTarget, withoutSecrets } from "../../src/cli/target.ts";
import { commands } from "../support/commands.ts";
import { newFolder } from "../support/folder.ts";
import { runHere } from "../support/run-here.ts";
import { configOf } from "../support/settings.ts";

const folder = newFolder();

/** A new file with this text. */
function file(text: string): string {
  const path = join(mkdtempSync(join(folder, "file-")), "text");
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

/** The environment in which the config file holds this. */
function withFile(content: unknown, env: Record<string, string> = {}): Record<string, string> {
  const home = mkdtempSync(join(folder, "xdg-"));
  mkdirSync(join(home, "fx"));
  const text = typeof content === "string" ? content : JSON.stringify(content);
  writeFileSync(join(home, "fx", "config.json"), text, { mode: 0o600 });
  return { XDG_CONFIG_HOME: home, ...env };
}

/** Why these settings are refused. */
function refusal(flags: readonly string[], env: Record<string, string> = {}): string {
  try {
    configOf(flags, env);
  } catch (error) {
    assert.equal((error as Error).name, "UsageError", String(error));
    return (error as Error).message;
  }
  return assert.fail("the settings were accepted");
}

/** A setting that is refused, by each way it can be given: what its value is called there, and why it is refused. */
function* refusals(name: SettingName, value: string): Generator<[place: string, message: string]> {
  const [flag, variable] = [flagOf(name), variableOf(name)];
  const inFile = withFile({ [name]: value });
  const { isSecret, placeholder, choices } = settingOf(name);
  if (!isSecret && placeholder && !choices) yield [flag, refusal([flag, value])];
  yield [variable, refusal([], { [variable]: value })];
  if (value.trim() !== "" && value.trim() === value) {
    yield [`${variable}_FILE`, refusal([], { [`${variable}_FILE`]: file(value) })];
  }
  yield [`"${name}" in ${inFile.XDG_CONFIG_HOME}/fx/config.json`, refusal([], inFile)];
}

describe("a setting is taken from", () => {
  const content = { port: 1111, rates: "demo" };
  const env = { FX_PORT: "2222" };
  const cases: readonly [where: string, flags: string[], env: Record<string, string>, number, string][] = [
    ["the default, where nothing sets it", [], {}, 8080, "default"],
    ["the config file before the default", [], withFile(content), 1111, "config"],
    ["the environment before the config file", [], withFile(content, env), 2222, "env"],
    ["the flag before the environment", ["--port", "3333"], withFile(content, env), 3333, "cli"],
    ["the file of --config", ["--config", file('{"port": 4444}')], withFile(content), 4444, "config"],
    ["the file of FX_CONFIG", [], { FX_CONFIG: file('{"port": 4444}') }, 4444, "config"],
    ["the file that FX_PORT_FILE names", [], withFile(content, { FX_PORT_FILE: file("5\n") }), 5, "env"],
    ["a config file with a byte order mark", [], withFile('\ufeff{"port": 6}'), 6, "config"],
  ];
  for (const [where, flags, env, port, source] of cases) {
    test(where, () => {
      const { settings, sources } = configOf(flags, env);
      assert.deepEqual([settings.port, sources.port], [port, source]);
    });
  }

  test("A setting is taken from ~/.config/fx/config.json where XDG_CONFIG_HOME is not set", () => {
    assert.equal(configOf([], { HOME: "/home/jan" }).file, "/home/jan/.config/fx/config.json");
  });

  test("the default where the home cannot be read or is not set", () => {
    const closed = mkdtempSync(join(folder, "closed-"));
    mkdirSync(join(closed, ".config"));
    for (const HOME of ["/nonexistent", "/dev/null", closed, "", undefined]) {
      chmodSync(closed, 0o000);
      const { settings } = configOf([], { HOME });
      chmodSync(closed, 0o700);
      assert.equal(settings.port, 8080);
    }
  });
});

describe("a list can be given as", () => {
  const cases: readonly [form: string, flags: string[], env: Record<string, string>][] = [
    ["two flags", ["--cors", "https://a.example", "--cors", "https://b.example"], {}],
    ["one flag with a comma", ["--cors", "https://a.example,https://b.example"], {}],
    ["a variable with a comma", [], { FX_CORS: "https://a.example, https://b.example" }],
    ["an array in the config file", [], withFile({ cors: ["https://a.example", "https://b.example"] })],
    [
      "a string with a comma in the config file",
      [],
      withFile({ cors: "https://a.example,https://b.example" }),
    ],
  ];
  for (const [form, flags, env] of cases) {
    test(form, () => {
      assert.deepEqual(configOf(flags, env).settings.cors, ["https://a.example", "https://b.example"]);
    });
  }

  test("an empty array, which is the default", () => {
    assert.deepEqual(configOf([], withFile({ cors: [] })).settings.cors, configOf([]).settings.cors);
  });
});

describe("a setting of the wrong form is refused, with its place and the form:", () => {
  for (const [name, value] of [
    ["port", "65536"],
    ["port", "80a"],
    ["db", "mysql://x"],
    ["db", "sqlite:"],
    ["url", "localhost:8080"],
    ["maxTableAge", "0"],
    ["stopTimeout", "3601"],
    ["maxConnections", "0"],
    ["acceptTable", "108"],
    ["host", "a b"],
    ["prefix", "fx"],
    ["prefix", "/f x"],
    ["prefix", "//"],
    ["prefix", "/fx/../x"],
    ["allowAnonymous", "yes"],
    ["tlsKey", "-----BEGIN\nhidden"],
    ["cors", "https://a.example/"],
    ...[",", " , ", "localhost,", ",localhost", "localhost,,::1"].map(
      (list) => ["allowedHost", list] as const,
    ),
  ] as const) {
    test(`The setting ${name} ${JSON.stringify(value)} is refused, with its place and its form`, () => {
      for (const [place, message] of refusals(name, value)) {
        assert.equal(message, `${place} must be ${settingOf(name).form}.`);
      }
    });
  }

  test("a list in the config file with an item of another type", () => {
    for (const item of [null, {}, ["https://a.example"], ""])
      assert.match(
        refusal([], withFile({ cors: ["https://b.example", item] })),
        /"cors" in .* must be an origin/,
      );
    assert.match(refusal([], withFile({ port: [1] })), /"port" in .* must be a whole number/);
  });
});

describe("a value with a character at an end that cannot be seen is refused, except in a list:", () => {
  for (const name of settingNames.filter((name) => !settingOf(name).isList)) {
    test(name, () => {
      for (const padded of ["demo\r", " memory:", "1\n", "http://fx.example\u00a0", "\ufefftrue"]) {
        for (const [place, message] of refusals(name, padded)) {
          assert.ok(message.startsWith(`${place} begins or ends with a space, a line end`), message);
        }
      }
    });
  }
});

describe("a blank value is refused wherever it is set:", () => {
  for (const name of settingNames) {
    test(name, () => {
      const variable = variableOf(name);
      for (const blank of ["", " ", "\t\n", "\u00a0"]) {
        const told = "is blank. Give it a value, or remove it.";
        const path = file(blank);
        for (const [place, message] of refusals(name, blank)) assert.equal(message, `${place} ${told}`);
        assert.equal(refusal([], { [`${variable}_FILE`]: blank }), `${variable}_FILE ${told}`);
        const named = `The file ${path} that ${variable}_FILE names ${told}`;
        assert.equal(refusal([], { [`${variable}_FILE`]: path }), named);
      }
    });
  }

  for (const command of commands) {
    const options = command.options.filter(({ required }) => required);
    if (options.length === 0) continue;
    test(`the options of ${fullName(command)}, with exit 2`, async () => {
      for (const { long } of options) {
        const words = [...fullName(command).split(" ").slice(1), long as string, " "];
        const { stdout, stderr, exit } = await runHere(words);
        assert.match(stderr, new RegExp(`^fx: ${long} is blank\\. Give it a value, or `));
        assert.deepEqual([stdout, exit], ["", 2]);
      }
    });
  }
});

describe("a variable", () => {
  for (const [variable, meant] of [
    ["FX_BD", "FX_DB"],
    ["FX_D", "FX_DB"],
    ["FX_DBS", "FX_DB"],
    ["FX_BD_FILE", "FX_DB_FILE"],
    ["FX_RATE", "FX_RATES"],
    ["FX_LOGLEVEL", "FX_LOG_LEVEL"],
    ["FX_MAXTABLEAGE", "FX_MAX_TABLE_AGE"],
    ["FX_CONFG", "FX_CONFIG"],
  ] as const) {
    test(`the variable ${variable} is refused, also blank, with ${meant} as the right name`, () => {
      const told = `${variable} is not a setting of fx. If you mean ${meant}, rename it; otherwise unset it.`;
      for (const value of ["x", ""]) assert.equal(refusal([], { [variable]: value }), told);
    });
  }

  test("an FX_ variable that resembles no setting is left alone", () => {
    const others = ["FX_THEME", "FX_SHOW_SIZE", "FX_SERVICE_PORT", "FX_PORT_8080_TCP", "FX_HOME", "FXDB"];
    for (const value of ["x", ""]) configOf([], Object.fromEntries(others.map((name) => [name, value])));
  });

  for (const name of ["port", "adminPort"] as const) {
    test(`the variable of ${name} that Kubernetes sets for a Service is ignored`, () => {
      const env = { [variableOf(name)]: "tcp://10.96.0.12:8080" };
      const { settings, sources, ignored } = configOf([], env);
      assert.deepEqual([settings[name], sources[name]], [configOf([]).settings[name], "default"]);
      assert.deepEqual(ignored, [name]);
      assert.equal(configOf([], withFile({ [name]: 1111 }, env)).settings[name], 1111);
      assert.match(refusal([], { [variableOf(name)]: "tcp://" }), /must be a whole number/);
      assert.match(refusal([flagOf(name), "tcp://10.96.0.12:8080"]), /must be a whole number/);
    });
  }
});

describe("a password in an address", () => {
  test("a password is not shown when the address is wrong", () => {
    for (const [, message] of refusals("rates", "https://jan:hidden@["))
      assert.ok(!message.includes("hidden"));
  });

  for (const [address, shown] of [
    ["postgres://fx:s:e/c@db/fx", "postgres://fx:***@db/fx"],
    ["postgres://db/fx?user=fx&password=secret", "postgres://db/fx?user=fx&password=***"],
    ["postgres://fx@db/fx", "postgres://fx@db/fx"],
  ] as const) {
    test(`a password is left out of ${shown}`, () => assert.equal(withoutSecrets(address), shown));
  }
});

test("a prefix loses the slash at its end", () => {
  const prefixes = ["/", "/fx", "/fx/", "/bank/fx", "/.fx"];
  assert.deepEqual(
    prefixes.map((prefix) => configOf(["--prefix", prefix]).settings.prefix),
    ["/", "/fx", "/fx", "/bank/fx", "/.fx"],
  );
});

test("an address that another program takes for one of SQLite is refused", () => {
  const addresses = ["sqlite://rel.db", "sqlite:////var/lib/fx.db", "sqlite::memory:", "sqlite://:memory:"];
  for (const address of [...addresses, "sqlite:q.db?mode=memory", "sqlite:file:q.db", "sqlite:?"]) {
    for (const name of ["db", "url"] as const)
      for (const [, message] of refusals(name, address)) assert.match(message, /sqlite:PATH/);
  }
});

test("a target is a server or a store by the form of its address", () => {
  for (const [address, target] of [
    ["https://fx.example/api", { kind: "server" }],
    ["memory:", { kind: "memory" }],
    ["sqlite:/var/lib/fx.db", { kind: "sqlite", path: "/var/lib/fx.db" }],
    ["postgresql://fx@a,b/fx", { kind: "postgres" }],
  ] as const)
    assert.deepEqual(parseTarget(address), { ...target, address });
  for (const address of ["", "fx.db", "sqlite:", "postgres://", "memory:x", "http://", "ftp://x", "SQLITE:x"])
    assert.equal(parseTarget(address), undefined, address);
});
