import { existsSync } from "node:fs";
import { isClean } from "../../core/checkpoint.ts";
import type { AuditProgress, AuditReport } from "../../core/service.ts";
import type { FxCommand } from "../command.ts";
import type { Config } from "../config.ts";
import type { CommandOptions, Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import { ResultFile } from "../result-file.ts";
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
    .argument("<file>", "new file for the copy, kept only if its audit has no findings")
    .addOption(settingOption("db").conflicts("url"))
    .setting("url")
    .json()
    .action(async (file: string, options: CommandOptions) => {
      const source = sourceOf(context.config(), file);
      const copy = new ResultFile(file);
      try {
        const report = await copyAndAudit(context, source, copy);
        if (isClean(report)) copy.keep();
        await tellReport(context, report, options.json, ["copy", file]);
      } finally {
        copy.close();
      }
    });
}

async function copyAndAudit(context: Context, source: string, { paths }: ResultFile): Promise<AuditReport> {
  const taken = ["-wal", "-shm", "-journal"].map((ending) => paths.path + ending).find(existsSync);
  if (taken !== undefined) {
    throw new UsageError(
      `${taken} exists, and SQLite would take it for a part of the copy. Name a new file.`,
    );
  }
  context.signals.watch();
  const { backUpSqlite } = await import("../../sqlite/backup.ts");
  const progress = new ProgressLine(context.terminal.stderr);
  const onProgress = (done: AuditProgress) => progress.show(auditProgress(done));
  return backUpSqlite(source, paths.draft, onProgress).finally(() => progress.clear());
}

function sourceOf({ settings, sources }: Config, file: string): string {
  const place = sources.db === "cli" || (sources.db !== "default" && sources.url !== "cli") ? "db" : "url";
  const source = settings[place];
  if (source.kind === "sqlite") return source.path;
  if (source.kind === "postgres") {
    throw new UsageError(
      `Back up PostgreSQL with its own command: pg_dump --format=custom --file=${file} '${withoutSecrets(source.address)}'. ` +
        "It is consistent while fx runs.",
    );
  }
  throw new UsageError(
    source.kind === "memory"
      ? "Each process has its own database in memory, so there is nothing to copy."
      : "A backup is made where the database is, not over HTTP. Name it with --db sqlite:PATH; it may be in use.",
  );
}
