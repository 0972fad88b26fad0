import type { Command } from "commander";
import type { Money } from "../../core/money.ts";
import type { AuditProgress, AuditReport } from "../../core/service.ts";
import { asking, command } from "../command.ts";
import type { CommandOptions, Context } from "../context.ts";
import { receiptPairs } from "../figures.ts";
import { amountText, moneyText, type Pairs, writeRecord, writeTable } from "../output.ts";
import { type Progress, ProgressLine } from "../progress.ts";
import { type Screen, write } from "../terminal.ts";

const needs = { rates: false };

export function defineReceipt(program: Command, context: Context): void {
  const { stdout } = context.terminal;
  asking(
    command(program, "receipt", "show one exchange", [
      "fx receipt 019e9a70-3c5e-7000-8000-5d1f0c2b7a11 --json",
    ]),
    needs,
  )
    .argument("<id>", "as fx exchange prints it, and fx account history in a pipe or with --json")
    .action(async (id: string, options: CommandOptions) => {
      const service = await context.service(options, needs);
      const entry = await service.receipt(id);
      if (!options.json) return writeRecord(stdout, receiptPairs(stdout, entry));
      const { encodeEntry } = await import("../../wire/codecs.ts");
      context.document(encodeEntry(entry));
    });
}

export function definePosition(program: Command, context: Context): void {
  const { stdout } = context.terminal;
  asking(
    command(program, "position", "show what customers hold and where the house stands", ["fx position"]),
    needs,
  ).action(async (options: CommandOptions) => {
    const service = await context.service(options, needs);
    const position = await service.position();
    if (options.json) {
      const { encodePosition } = await import("../../wire/codecs.ts");
      return context.document(encodePosition(position));
    }
    const columns = [
      { title: "Currency" },
      { title: "Customers", align: "right" },
      { title: "House", align: "right" },
    ] as const;
    const amount = (money: Money) => amountText(stdout, money);
    const rows = position.currencies.map(({ currency, customers, house }) => [
      currency,
      amount({ currency, minor: customers }),
      amount({ currency, minor: house }),
    ]);
    await writeTable(stdout, columns, rows);
    if (stdout.rich) write(stdout, "");
    writeRecord(stdout, [["spread earned", moneyText(stdout, position.spreadEarned)]]);
  });
}

export function defineAudit(program: Command, context: Context): void {
  asking(
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
    if (report.findingsTotal > 0) process.exitCode = 1;
    if (options.json) {
      const { encodeAudit } = await import("../../wire/codecs.ts");
      return context.document(encodeAudit(report));
    }
    await tellReport(stdout, report);
  });
}

/** @param facts what else there is to tell */
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
    account,
    entry === undefined ? "" : String(entry),
    problem,
    recorded,
    recomputed,
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

export function auditProgress({ entries, totalEntries }: AuditProgress): Progress {
  return { done: entries, total: totalEntries, unit: "entries" };
}
