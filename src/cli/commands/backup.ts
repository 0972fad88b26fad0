import { existsSync } from "node:fs";
import type { FxCommand } from "../command.ts";
import type { Config } from "../config.ts";
import type { CommandOptions, Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import { settingOption } from "../settings.ts";
import { withoutSecrets } from "../target.ts";
import { ProgressLine } from "../terminal/progress.ts";
import { auditProgress, tellReport } from "./audit/audit.ts";

export function defineBackup(program: FxCommand, context: Context): void {
  program
    .add("backup", "Copy a SQLite database, which may be in use, and audit the copy", [
      "fx backup fx-2026-11-21.db --db sqlite:fx.db",
      "FX_DB=sqlite:fx.db fx backup copy.db --json",
    ])
    .argument("<file>", "the copy: a new file, which is there only if all went well")
    .addOption(settingOption("db").conflicts("url"))
    .setting("url")
    .json()
    .action(async (file: string, options: CommandOptions) => {
      const source = sourceOf(context.config(), file);
      if (existsSync(file))
        throw new UsageError(`${file} exists. Name a new file: a backup replaces nothing.`);
      context.signals.watch();
      const { backUpSqlite } = await import("../../sqlite/backup.ts");
      const progress = new ProgressLine(context.terminal.stderr);
      const report = await backUpSqlite(source, file, (done) => progress.show(auditProgress(done))).finally(
        () => progress.clear(),
      );
      await tellReport(context, report, options.json, ["copy", file]);
    });
}

function sourceOf({ settings, sources }: Config, file: string): string {
  const place = sources.db === "cli" || (sources.db !== "default" && sources.url !== "cli") ? "db" : "url";
  const source = settings[place];
  if (source.kind === "sqlite") return source.path;
  if (source.kind === "postgres") {
    throw new UsageError(
      `PostgreSQL has its own: pg_dump --format=custom --file=${file} '${withoutSecrets(source.address)}'. ` +
        "It is consistent while fx runs.",
    );
  }
  throw new UsageError(
    source.kind === "memory"
      ? "Each process has its own database in memory, so there is nothing to copy."
      : "A backup is made where the database is, not over HTTP. Name it with --db sqlite:PATH; it may be in use.",
  );
}
