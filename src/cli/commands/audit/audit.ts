import { isClean, isOther } from "../../../core/checkpoint.ts";
import { maskPesels } from "../../../core/mask.ts";
import type {
  AuditFinding,
  AuditOptions,
  AuditProgress,
  AuditReport,
  Comparison,
  LostHead,
} from "../../../core/service.ts";
import type { FxCommand } from "../../command.ts";
import type { CommandOptions, Context } from "../../context.ts";
import { tellWarning } from "../../errors.ts";
import { findingsExit } from "../../exits.ts";
import { ResultFile } from "../../result-file.ts";
import { withoutSecrets } from "../../target.ts";
import { optional } from "../../terminal/figures.ts";
import { type Column, type Pairs, recordText, tableText, writeSections } from "../../terminal/output.ts";
import { type Progress, ProgressLine } from "../../terminal/progress.ts";
import type { Screen, Terminal } from "../../terminal/terminal.ts";

interface Options extends CommandOptions {
  readonly checkpoint?: string;
  readonly against?: string;
}

export function defineAudit(program: FxCommand, context: Context): void {
  program
    .add("audit", "Recompute every balance and exchange; exit 11 if there are findings", [
      "fx audit",
      "fx audit --url sqlite:fx.db --json",
      "fx audit --checkpoint 2026-11-22.checkpoint",
      "fx audit --against 2026-11-22.checkpoint --url sqlite:restored.db",
    ])
    .option("--checkpoint <file>", "write a checkpoint of every account's chain to this new file")
    .option("--against <file>", "report accounts that miss entries of an earlier checkpoint")
    .target()
    .action(async (options: Options) => {
      const progress = new ProgressLine(context.terminal.stderr);
      const onProgress = (done: AuditProgress) => progress.show(auditProgress(done));
      const report = await audit(context, options, onProgress).finally(() => progress.clear());
      const { checkpoint, json } = options;
      await tellReport(
        context,
        report,
        json,
        checkpoint === undefined ? undefined : ["checkpoint", checkpoint],
      );
    });
}

async function audit(
  context: Context,
  { checkpoint, against, url }: Options,
  onProgress: (done: AuditProgress) => void,
): Promise<AuditReport> {
  if (checkpoint === undefined && against === undefined) {
    return (await context.service()).audit({ onProgress });
  }
  const { checkpointEnd, checkpointHeads, checkpointStart } = await import("../../../wire/checkpoint.ts");
  const { openCheckpoint } = await import("./checkpoint.ts");
  const earlier = against === undefined ? undefined : await openCheckpoint(against);
  const about = { fx: context.version, source: withoutSecrets(url.address) };
  const file = checkpoint === undefined ? undefined : new ResultFile(checkpoint);
  try {
    const service = await context.service();
    const report = await service.audit({
      onProgress,
      against: earlier,
      ...(file !== undefined && {
        onStart: (ledger) => {
          file.write(checkpointStart({ time: new Date().toISOString(), ...about, ...ledger }));
        },
        onHeads: async (heads) => file.write(checkpointHeads(heads)),
      }),
    } satisfies AuditOptions);
    if (isClean(report)) {
      file?.write(checkpointEnd(report));
      file?.keep();
    }
    return report;
  } finally {
    file?.close();
  }
}

/**
 * Prints a report, and what to do about it on stderr.
 * @param file the name and the path of a file that is kept only if the report is clean
 */
export async function tellReport(
  context: Context,
  report: AuditReport,
  json = false,
  file?: readonly [name: string, path: string],
): Promise<void> {
  const clean = isClean(report);
  if (!clean) context.exit = findingsExit;
  const [name, path] = file ?? [];
  if (json) {
    const { audit } = await import("../../../wire/audit.ts");
    context.document({ ...(path !== undefined && { file: clean ? path : null }), ...audit.encode(report) });
  } else {
    const written = clean ? path : "not written, because of the findings";
    writeReport(context.terminal.stdout, report, name === undefined ? [] : optional(name, written));
  }
  tellAdvice(context.terminal, report, json);
}

function writeReport(stdout: Screen, report: AuditReport, facts: Pairs): void {
  const { accounts, entries, findings, findingsTotal, digest, against } = report;
  const text = recordText(stdout, [
    ...facts,
    ["accounts", String(accounts)],
    ["entries", String(entries)],
    ["findings", String(findingsTotal)],
    ...(against === undefined ? [] : comparisonFacts(against)),
    ["digest", digest],
  ]);
  const lost = tableText(stdout, lostColumns, against?.lost ?? []);
  writeSections(stdout, tableText(stdout, findingColumns, findings), lost, text);
}

const findingColumns: readonly Column<AuditFinding>[] = [
  { title: "Account", cell: ({ account }) => maskPesels(account) },
  { title: "Entry", align: "right", cell: ({ entry = "" }) => String(entry) },
  { title: "Problem", wraps: true, cell: ({ problem }) => problem },
  { title: "Recorded", cell: ({ recorded }) => maskText(recorded) },
  { title: "Recomputed", wraps: true, cell: ({ recomputed }) => maskText(recomputed) },
  { title: "Id", optional: true, cell: ({ id = "" }) => id },
  { title: "By", optional: true, sparse: true, cell: ({ by = "" }) => by },
];
const lostColumns: readonly Column<LostHead>[] = [
  { title: "Customer", cell: ({ customer }) => customer },
  { title: "Account", cell: ({ account = "" }) => maskPesels(account) },
  { title: "Entries then", align: "right", cell: ({ entries }) => String(entries) },
  { title: "Entries now", align: "right", cell: ({ entriesNow }) => String(entriesNow) },
  { title: "Problem", cell: lossOf },
];

function lossOf({ entries, entriesNow }: LostHead): string {
  if (entriesNow === 0) return "missing account";
  return entriesNow < entries ? "missing entries" : "another entry";
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

function tellAdvice(terminal: Terminal, { findingsTotal, against }: AuditReport, json: boolean): void {
  const stop = "Let nobody write to it: stop the servers";
  const guide = "docs/OPERATIONS.md says how to go on when something is lost.";
  const warnings: string[] = [];
  if (findingsTotal > 0) {
    warnings.push(
      `If all findings are of times later than now, a clock is or was wrong: set it right. Otherwise the ledger differs from what its journal gives. ${stop}, keep a copy of it as it is, and compare it with a backup. ${guide}`,
    );
  }
  if (against !== undefined && isOther(against)) {
    warnings.push(
      `The ledger has none of the ${against.accounts} accounts of the checkpoint. The checkpoint, or the ledger, is not the one you mean. Name the right one.`,
    );
  } else if (against !== undefined && against.lost.length > 0) {
    warnings.push(
      `The ledger misses entries of the checkpoint. It is an older copy, or it was changed. ${stop}, and look for a newer copy. ${guide}`,
    );
  }
  for (const warning of warnings) tellWarning(terminal, warning, json);
}

/** Balances in minor units. They are no PESELs, even with eleven digits. */
const figures = /^\{(?:"[A-Z]{3}":-?\d+,?)*\}$/;

function maskText(text: string): string {
  return figures.test(text) ? text : maskPesels(text);
}

export function auditProgress({ entries, totalEntries }: AuditProgress): Progress {
  return { done: entries, total: totalEntries, unit: "entries" };
}
