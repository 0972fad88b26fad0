import type { Command } from "commander";
import { maskPesels } from "../../core/mask.ts";
import type { AuditProgress, AuditReport } from "../../core/service.ts";
import type { CommandOptions, Context } from "../context.ts";
import { command, serviceCommand } from "../options.ts";
import { type Pairs, writeRecord, writeTable } from "../terminal/output.ts";
import { type Progress, ProgressLine } from "../terminal/progress.ts";
import { type Screen, write } from "../terminal/terminal.ts";

const needs = { rates: false, access: "read" } as const;

export function defineAudit(program: Command, context: Context): void {
  serviceCommand(
    command(program, "audit", "recompute every balance and exchange; exit 1 if anything does not agree", [
      "fx audit",
      "fx audit --url sqlite:fx.db --json",
    ]),
    needs,
  ).action(async (options: CommandOptions) => {
    const { stdout, stderr } = context.terminal;
    const service = await context.service(options, needs);
    const progress = new ProgressLine(stderr);
    const report = await service
      .audit((done) => progress.show(auditProgress(done)))
      .finally(() => progress.clear());
    if (report.findingsTotal > 0) context.exit = 1;
    if (options.json) {
      const { encodeAudit } = await import("../../wire/codecs.ts");
      return context.document(encodeAudit(report));
    }
    await tellReport(stdout, report);
  });
}

/** @param facts further lines to print */
export async function tellReport(stdout: Screen, report: AuditReport, facts: Pairs = []): Promise<void> {
  const { accounts, entries, findings, findingsTotal } = report;
  const columns = [
    { title: "Account" },
    { title: "Entry", align: "right" },
    { title: "Problem", wraps: true },
    { title: "Recorded" },
    { title: "Recomputed" },
    { title: "Id", optional: true },
  ] as const;
  const rows = findings.map(({ account, entry, id, problem, recorded, recomputed }) => [
    maskPesels(account),
    entry === undefined ? "" : String(entry),
    problem,
    maskText(recorded),
    maskText(recomputed),
    id ?? "",
  ]);
  await writeTable(stdout, columns, rows);
  if (findings.length > 0 && stdout.rich) write(stdout, "");
  writeRecord(stdout, [
    ...facts,
    ["accounts", String(accounts)],
    ["entries", String(entries)],
    ["findings", String(findingsTotal)],
  ]);
}

/** Amounts in minor units, which may have as many digits as a PESEL. */
const figures = /^(?:-?\d+ minor units|\{(?:"[A-Z]{3}":-?\d+,?)*\})$/;

function maskText(text: string): string {
  return figures.test(text) ? text : maskPesels(text);
}

export function auditProgress({ entries, totalEntries }: AuditProgress): Progress {
  return { done: entries, total: totalEntries, unit: "entries" };
}
