import { type Command, Option } from "commander";
import type { ExchangeService } from "../../../core/service.ts";
import { type Settings, withoutPassword } from "../../config.ts";
import { type CommandOptions, type Context, sameSignalMs } from "../../context.ts";
import { command, setting } from "../../options.ts";
import { type Pairs, writeRecord } from "../../terminal/output.ts";
import { type Screen, write } from "../../terminal/terminal.ts";
import type { RunningServer } from "./server.ts";

interface ServeOptions extends CommandOptions {
  readonly demo?: boolean;
}

export function defineServe(program: Command, context: Context): void {
  command(program, "serve", "run the server", [
    "fx serve --demo",
    "fx serve --db sqlite:fx.db",
    "FX_DB=postgres://fx:secret@db/fx fx serve --host 0.0.0.0",
  ])
    .addOption(setting("host"))
    .addOption(setting("port"))
    .addOption(setting("prefix"))
    .addOption(setting("db"))
    .addOption(setting("rates"))
    .addOption(
      new Option("--demo", "in memory, at recorded rates, with accounts to try").conflicts(["db", "rates"]),
    )
    .addOption(setting("maxTableAge"))
    .addOption(setting("acceptTable"))
    .addOption(setting("changeSource"))
    .addOption(setting("logLevel", "; info unless set, and warn at a terminal"))
    .action(async (options: ServeOptions) => {
      const { stdout, stderr } = context.terminal;
      const { settings } = context.config(options);
      const isDemo = options.demo === true;
      const db = { kind: "memory", address: "memory:" } as const;
      const place = isDemo ? { ...settings, db, rates: "demo" } : settings;
      const demo = isDemo ? await import("./demo.ts") : undefined;
      const { startServer } = await import("./server.ts");
      const server = await startServer(place, {
        logLevel: settings.logLevel ?? (stderr.rich ? "warn" : "info"),
        version: context.version,
        prepare: async (service: ExchangeService) => demo?.openDemoAccounts(service),
      });
      stopOnSignal(server, stdout);
      writeRecord(stdout, serverPairs(server, place));
      if (demo !== undefined) write(stdout, `\n${demo.describeDemo(server.url, context.terminal.env)}`);
    });
}

/** The first signal stops gracefully, and a second one at once. */
function stopOnSignal(server: RunningServer, stdout: Screen): void {
  let stoppingSince: number | undefined;
  for (const [signal, exit] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    process.on(signal, () => {
      if (stoppingSince !== undefined) {
        // At once means without waiting for anything, output included.
        if (performance.now() - stoppingSince > sameSignalMs) process.exit(exit);
        return;
      }
      stoppingSince = performance.now();
      write(stdout, "Stopping when what is under way is answered. A second signal stops at once.");
      void server.stop();
    });
  }
}

function serverPairs(server: RunningServer, settings: Settings): Pairs {
  const { source, recorded, table, problem } = server.rates();
  const state =
    table === undefined
      ? `no table yet. ${problem ?? "The first is being fetched."}`
      : `table ${table.number} of ${table.effectiveDate}${problem === undefined ? "" : `. ${problem}`}`;
  return [
    ["listening", server.url],
    ["open to", server.isOpen ? `other machines too, on ${settings.host}` : "this machine only"],
    [
      "store",
      `${withoutPassword(settings.db.address)}${settings.db.kind === "memory" ? " (gone when fx stops)" : ""}`,
    ],
    ["rates", `${source}${recorded ? " (recorded)" : ""}, ${state}`],
    ["docs", `${server.url}/docs`],
  ];
}
