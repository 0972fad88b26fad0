import type { Command } from "commander";
import { isClean, isOther } from "../../../core/checkpoint.ts";
import { maskPesels } from "../../../core/mask.ts";
import type { AuditOptions, AuditProgress, AuditReport, Comparison } from "../../../core/service.ts";
import type { CommandOptions, Context } from "../../context.ts";
import { command, serviceCommand } from "../../options.ts";
import { withoutSecrets } from "../../target.ts";
import { type Pairs, writeRecord, writeTable, writeText } from "../../terminal/output.ts";
import { type Progress, ProgressLine } from "../../terminal/progress.ts";
import { type Screen, write } from "../../terminal/terminal.ts";

const needs = { rates: false, access: "read" } as const;

interface Options extends CommandOptions {
  readonly checkpoint?: string;
  readonly against?: string;
}

export function defineAudit(program: Command, context: Context): void {
  serviceCommand(
    command(program, "audit", "recompute every balance and exchange; exit 1 if anything does not agree", [
      "fx audit",
      "fx audit --url sqlite:fx.db --json",
      "fx audit --checkpoint 2026-11-22.checkpoint",
      "fx audit --against 2026-11-22.checkpoint --url sqlite:restored.db",
    ])
      .option(
        "--checkpoint <file>",
        "write how far the chain of each account goes to a new file, to keep elsewhere",
      )
      .option(
        "--against <file>",
        "name the accounts that lack what an earlier checkpoint saw, as in an older copy",
      ),
    needs,
  ).action(async (options: Options) => {
    const progress = new ProgressLine(context.terminal.stderr);
    const onProgress = (done: AuditProgress) => progress.show(auditProgress(done));
    const report = await (options.checkpoint === undefined && options.against === undefined
      ? context.service(options, needs).then((service) => service.audit({ onProgress }))
      : auditWithFiles(context, options, onProgress)
    ).finally(() => progress.clear());
    if (!isClean(report)) context.exit = 1;
    const { checkpoint } = options;
    const file = checkpoint && (isClean(report) ? checkpoint : null);
    if (options.json) {
      const { encodeAudit } = await import("../../../wire/audit.ts");
      return context.document({ ...(file !== undefined && { file }), ...encodeAudit(report) });
    }
    const { stdout, stderr } = context.terminal;
    await tellReport(stdout, report, file === undefined ? [] : [["checkpoint", file ?? "none: see above"]]);
    if (report.against !== undefined) tellLoss(stderr, report.against);
  });
}

/** Audits with a checkpoint to write, or to compare with, or both. */
async function auditWithFiles(
  context: Context,
  options: Options,
  onProgress: (done: AuditProgress) => void,
): Promise<AuditReport> {
  const { CheckpointFile, openCheckpoint } = await import("./checkpoint.ts");
  const earlier = options.against === undefined ? undefined : await openCheckpoint(options.against);
  const source = withoutSecrets(context.config(options).settings.url.address);
  const file =
    options.checkpoint === undefined
      ? undefined
      : new CheckpointFile(options.checkpoint, { fx: context.version, source });
  try {
    const service = await context.service(options, needs);
    const report = await service.audit({
      onProgress,
      against: earlier?.heads(),
      ...(file !== undefined && {
        onStart: (ledger) => file.start(ledger),
        onHeads: async (heads) => file.add(heads),
      }),
    } satisfies AuditOptions);
    if (isClean(report)) file?.keep(report);
    return report;
  } finally {
    file?.close();
  }
}

/** @param facts further lines to print */
export async function tellReport(stdout: Screen, report: AuditReport, facts: Pairs = []): Promise<void> {
  const { accounts, entries, findings, findingsTotal, digest, against } = report;
  await tellRows(
    stdout,
    [
      { title: "Account" },
      { title: "Entry", align: "right" },
      { title: "Problem", wraps: true },
      { title: "Recorded" },
      { title: "Recomputed" },
      { title: "Id", optional: true },
      { title: "By", optional: true, sparse: true },
    ],
    findings.map(({ account, entry, id, by, problem, recorded, recomputed }) => [
      maskPesels(account),
      entry === undefined ? "" : String(entry),
      problem,
      maskText(recorded),
      maskText(recomputed),
      id ?? "",
      by ?? "",
    ]),
  );
  await tellRows(
    stdout,
    [
      { title: "Customer" },
      { title: "Account" },
      { title: "Entries then", align: "right" },
      { title: "Entries now", align: "right" },
      { title: "Problem" },
    ],
    (against?.lost ?? []).map(({ customer, account = "", entries, entriesNow }) => [
      customer,
      maskPesels(account),
      String(entries),
      String(entriesNow),
      entriesNow === 0 ? "missing account" : entriesNow < entries ? "missing entries" : "another entry",
    ]),
  );
  writeRecord(stdout, [
    ...facts,
    ["accounts", String(accounts)],
    ["entries", String(entries)],
    ["findings", String(findingsTotal)],
    ...(against === undefined ? [] : comparisonFacts(against)),
    ["digest", digest],
  ]);
}

async function tellRows(
  stdout: Screen,
  columns: Parameters<typeof writeTable>[1],
  rows: readonly (readonly string[])[],
): Promise<void> {
  await writeTable(stdout, columns, rows);
  if (rows.length > 0 && stdout.rich) write(stdout, "");
}

function comparisonFacts({ accounts, found, lost }: Comparison): Pairs {
  const entries = lost.reduce((sum, head) => sum + Math.max(0, head.entries - head.entriesNow), 0);
  return [
    ["compared", String(accounts)],
    ["found", String(found)],
    ["lost", String(lost.length)],
    ["lost entries", String(entries)],
  ];
}

/** Says what to do about what is lost. */
function tellLoss(stderr: Screen, against: Comparison): void {
  const { accounts, lost } = against;
  if (isOther(against)) {
    const text =
      `fx: The ledger has none of the ${accounts} accounts of the checkpoint. One of them is of another ledger: name the ` +
      "right one. A ledger restored from a copy of an fx without checkpoints has new customers' ids: make a new one.";
    writeText(stderr, text, stderr.paint.red);
  } else if (lost.length > 0) {
    const text =
      "fx: The ledger lacks what the checkpoint saw. It is an older copy, or it was changed. Let nobody write to it: stop " +
      "the servers, and look for a newer copy. The restore drill in docs/OPERATIONS.md says how to go on.";
    writeText(stderr, text, stderr.paint.red);
  }
}

/** Amounts in minor units, which may have as many digits as a PESEL. */
const figures = /^(?:-?\d+ minor units|\{(?:"[A-Z]{3}":-?\d+,?)*\})$/;

function maskText(text: string): string {
  return figures.test(text) ? text : maskPesels(text);
}

export function auditProgress({ entries, totalEntries }: AuditProgress): Progress {
  return { done: entries, total: totalEntries, unit: "entries" };
}
