/** Runs the cluster of docs/OPERATIONS.md under load and faults: `npm run cluster -- --minutes N --seed S`. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Load } from "../load/clients.ts";
import { type Counts, History, readHistory } from "../load/history.ts";
import { judge } from "../load/judge.ts";
import { type Cluster, cannotStart, startCluster } from "./cluster.ts";
import { faults } from "./faults.ts";
import { readFinal } from "./final.ts";
import { wholeWithin } from "./members.ts";
import { Nemesis } from "./nemesis.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    /** Seed of faults and load; random by default. */
    seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
    /** Comma-separated names of the faults to use; all by default. */
    faults: { type: "string" },
    /** The least number of changes of the primary, and of those by a kill. */
    changes: { type: "string", default: "0" },
    "by-kill": { type: "string", default: "0" },
    /** Keeps history and logs even after success. */
    keep: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed);
const minutes = Number(values.minutes);

const refusal = cannotStart();
if (refusal !== false) {
  say(refusal);
  process.exit(3);
}
const folder = mkdtempSync(join(tmpdir(), "fx-cluster-"));
let isAsItShouldBe = false;
try {
  isAsItShouldBe = await startAndRun();
} finally {
  if (isAsItShouldBe && !values.keep) rmSync(folder, { recursive: true, force: true });
  else say(`history, report and logs: ${folder}`);
}
process.exitCode = isAsItShouldBe ? 0 : 1;

async function startAndRun(): Promise<boolean> {
  say(`seed ${seed}, ${minutes} minutes, in ${folder}`);
  const began = performance.now();
  const cluster = await startCluster(folder);
  // An interrupt ends the cluster and still reports.
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());
  try {
    say(`started in ${seconds(performance.now() - began)} s`);
    return await run(cluster, interrupted.signal);
  } finally {
    await cluster.stop();
  }
}

/** Returns whether the verdict is clean and nothing fell short. */
async function run(cluster: Cluster, interrupted: AbortSignal): Promise<boolean> {
  const history = new History(join(folder, "history.jsonl"));
  const nemesis = new Nemesis(cluster, chosen(), history);
  const load = await Load.start({ urls: [cluster.url], history, seed });
  const began = performance.now();
  const progress = setInterval(() => say(progressLine(nemesis, history.counts, began)), 10_000);
  await nemesis.run(seed, began + minutes * 60_000, interrupted);
  clearInterval(progress);

  say("all faults are undone; waiting for the cluster to be whole, and for the last answers");
  const missing = await wholeWithin(cluster, 60_000, say);
  const givenUp = await load.finish(30_000);
  const final = await readFinal(cluster);
  await history.close();
  const verdict = judge(readHistory(history.file), final);

  const byKill = nemesis.primaryChanges.filter((change) => change.byKill).length;
  const shortfalls = [
    ...(interrupted.aborted ? ["It was interrupted."] : []),
    ...(missing === undefined ? [] : [`The cluster did not become whole in 60 s: ${missing}.`]),
    ...(givenUp === 0 ? [] : [`${givenUp} orders were not settled 30 s after the last fault was undone.`]),
    ...(nemesis.primaryChanges.length < Number(values.changes)
      ? [`The primary changed less than ${values.changes} times: give it more minutes.`]
      : []),
    ...(byKill < Number(values["by-kill"])
      ? [`The primary changed less than ${values["by-kill"]} times by a kill: give it more minutes.`]
      : []),
  ];
  const { figures, faults: found, counts } = verdict;
  const report = {
    seed,
    minutes,
    ...figures,
    primaryChanges: nemesis.primaryChanges.length,
    primaryChangesByKill: byKill,
    faultsDone: Object.fromEntries([...nemesis.done].sort(([a], [b]) => a.localeCompare(b))),
    faultsNotDone: nemesis.notDone,
    shortfalls,
    verdict: verdict.isClean ? "nothing is lost, doubled or stale" : counts,
    /** Seconds since the load began. */
    foundAfterSeconds: found[0]?.at === undefined ? null : Math.round(found[0].at / 1000),
    found: found.map(({ kind, text }) => `${kind}: ${text}`),
  };
  writeFileSync(join(folder, "report.json"), `${JSON.stringify(report, null, 2)}\n`);
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  return verdict.isClean && shortfalls.length === 0;
}

function chosen(): typeof faults {
  const names = values.faults?.split(",").map((name) => name.trim());
  if (names === undefined) return faults;
  const unknown = names.filter((name) => faults[name] === undefined);
  if (unknown.length > 0) {
    throw new Error(`There is no fault ${unknown.join(", ")}. There are: ${Object.keys(faults).join(", ")}.`);
  }
  return Object.fromEntries(Object.entries(faults).filter(([name]) => names.includes(name)));
}

function progressLine(nemesis: Nemesis, counts: Counts, began: number): string {
  const { done = 0, unknown = 0, refused = 0 } = counts;
  const byKill = nemesis.primaryChanges.filter((change) => change.byKill).length;
  return [
    `${seconds(performance.now() - began)} s`,
    `${done} answers, ${unknown} without one, ${refused} refused`,
    `primary ${nemesis.primary}, changed ${nemesis.primaryChanges.length} times, ${byKill} by kill`,
    `now: ${[...nemesis.inForce].join("; ") || "nothing wrong"}`,
  ].join(" | ");
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(0);
}
