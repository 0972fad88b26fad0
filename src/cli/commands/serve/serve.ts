import { Option } from "commander";
import type { ExchangeService } from "../../../core/service.ts";
import type { FxCommand } from "../../command.ts";
import type { CommandOptions, Context } from "../../context.ts";
import { type SettingName, type Settings, settingNames } from "../../settings.ts";
import { withoutSecrets } from "../../target.ts";
import { type Pairs, writeRecord } from "../../terminal/output.ts";
import { write } from "../../terminal/terminal.ts";
import type { RunningServer } from "./server.ts";
import { obeySignals } from "./signals.ts";

interface ServeOptions extends CommandOptions {
  readonly demo?: boolean;
}

const serverSettings = settingNames.filter((name) => !["url", "token", "allowPlainHttp"].includes(name));
const details: Partial<Record<SettingName, string>> = {
  tokens: "; without it, requests need no token",
  logLevel: "; default: info, or warn at a terminal",
};

export function defineServe(program: FxCommand, context: Context): void {
  const serve = program.add("serve", "Run the server", [
    "fx serve --demo",
    "fx serve --db sqlite:fx.db",
    "FX_DB=postgres://fx:secret@db/fx fx serve --host 0.0.0.0 --tokens /etc/fx/tokens",
  ]);
  serve.addOption(
    new Option("--demo", "in memory, at recorded rates, with accounts to try").conflicts([
      "db",
      "rates",
      "maxTableAge",
      "acceptTable",
      "changeSource",
    ]),
  );
  for (const name of serverSettings) serve.setting(name, details[name]);
  serve.action(async (options: ServeOptions) => {
    const { stdout, stderr } = context.terminal;
    const isDemo = options.demo === true;
    // The demo says in its own words that it is gone when it ends.
    const logLevel = context.terminal.isQuiet ? "error" : stderr.rich ? (isDemo ? "error" : "warn") : "info";
    const readSettings = (): Settings => {
      const { settings } = context.config();
      const db = { kind: "memory", address: "memory:" } as const;
      const own = { ...settings, logLevel: settings.logLevel ?? logLevel };
      return isDemo ? { ...own, db, rates: "demo" } : own;
    };
    const settings = readSettings();
    const demo = isDemo ? await import("./demo.ts") : undefined;
    const { startServer } = await import("./server.ts");
    const starting = startServer(settings, {
      version: context.version,
      prepare: async (service: ExchangeService) => demo?.openDemoAccounts(service),
    });
    obeySignals(starting, readSettings, stdout);
    const server = await starting;
    writeRecord(stdout, serverPairs(server, settings, stdout.rich));
    if (demo !== undefined) write(stdout, `\n${demo.describeDemo(server.url, context.terminal.env)}`);
  });
}

function serverPairs(server: RunningServer, settings: Settings, isRich: boolean): Pairs {
  const { source, recorded, table, notTraded, problem, clock } = server.rates();
  const inForce = table === undefined ? "no table yet" : `table ${table.number} of ${table.effectiveDate}`;
  const notes = [notTraded === undefined ? problem : `No order is settled. ${notTraded.reason}`, clock];
  const state = [inForce, ...notes.filter((note) => note !== undefined)].join(". ").replace(/\.\. /g, ". ");
  const tokens: Pairs =
    settings.tokens === undefined ? [] : [["tokens", `${server.tokenCount}, of ${settings.tokens}`]];
  const anonymously = settings.tokens === undefined ? ", without tokens" : "";
  const hint = isRich ? " (open it in a browser)" : "";
  const page: Pairs = server.page === undefined ? [] : [["page", `${server.page}${hint}`]];
  return [
    ...page,
    ["listening", server.url],
    [
      "open to",
      server.isExposed ? `other machines too, on ${settings.host}${anonymously}` : "this machine only",
    ],
    ...tokens,
    [
      "store",
      `${withoutSecrets(settings.db.address)}${settings.db.kind === "memory" ? " (gone when fx stops)" : ""}`,
    ],
    ["rates", `${source}${recorded ? " (recorded)" : ""}, ${state}`],
    ...(server.adminUrl === undefined ? [] : ([["metrics", `${server.adminUrl}/metrics`]] as const)),
    ["docs", `${server.url}/docs`],
  ];
}
