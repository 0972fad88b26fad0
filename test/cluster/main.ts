/** The cluster of docs/OPERATIONS.md for real, and what goes wrong in one: `npm run cluster -- --minutes N --seed S`. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Break, breaks, withFault } from "./breaks.ts";
import { type Cluster, type ClusterOptions, missingPackages, startCluster } from "./cluster.ts";
import { faults } from "./faults.ts";
import { readFinal } from "./final.ts";
import { type Counts, History, readHistory } from "./history.ts";
import { judge } from "./judge.ts";
import { startLoad } from "./load.ts";
import { wholeWithin } from "./members.ts";
import { Nemesis } from "./nemesis.ts";
import { showCluster } from "./show.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    /** Of faults and load. Another each time unless given. */
    seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
    /** Only these, by name, with commas between them. */
    faults: { type: "string" },
    /** How often the primary has to change, and of that by a kill. */
    changes: { type: "string", default: "0" },
    "by-kill": { type: "string", default: "0" },
    /** Patroni's synchronous_mode_strict. */
    strict: { type: "boolean", default: false },
    /** A fault in fx or in the setting, which the judge has to find. */
    break: { type: "string" },
    /** On loopback, as where namespaces cannot be made. */
    loopback: { type: "boolean", default: false },
    /** Starts it, to look at it by hand. */
    "only-start": { type: "boolean", default: false },
    /** Keeps history and logs, as a failure does. */
    keep: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed);
const minutes = Number(values.minutes);

const missing = missingPackages();
if (missing !== undefined) {
  say(missing);
  process.exit(2);
}
const { break: broken } = values;
if (broken !== undefined && !(broken in breaks)) {
  say(`There is no --break ${broken}. There are: ${Object.keys(breaks).join(", ")}.`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "fx-cluster-"));
const deployment: ClusterOptions = {
  folder,
  synchronousModeStrict: values.strict,
  namespaces: !values.loopback,
  dataMegabytes: 2048,
  clocks: true,
};
let isAsItShouldBe = false;
try {
  if (values["only-start"]) {
    await showCluster(deployment);
    isAsItShouldBe = true;
  } else if (broken === undefined) {
    isAsItShouldBe = await startAndRun(deployment);
  } else {
    const { options, remove } = await withFault(broken as Break);
    try {
      isAsItShouldBe = !(await startAndRun({ ...deployment, ...options }));
      say(isAsItShouldBe ? `the judge has found ${broken}` : `the judge has not found ${broken}`);
    } finally {
      remove();
    }
  }
} finally {
  if (isAsItShouldBe && !values.keep) rmSync(folder, { recursive: true, force: true });
  else say(`history, report and logs: ${folder}`);
}
process.exitCode = isAsItShouldBe ? 0 : 1;

/** Resolves to whether all is as it should be. */
async function startAndRun(options: ClusterOptions): Promise<boolean> {
  say(`seed ${seed}, ${minutes} minutes, in ${folder}`);
  const began = performance.now();
  const cluster = await startCluster(options);
  // Interrupted, it ends what it has started, and says what there is so far.
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());
  try {
    say(`started in ${seconds(performance.now() - began)} s`);
    if (!cluster.hasNetwork) say("no namespaces here: the hosts are on loopback, and no network is cut");
    return await run(cluster, interrupted.signal);
  } finally {
    await cluster.stop();
  }
}

async function run(cluster: Cluster, interrupted: AbortSignal): Promise<boolean> {
  const history = new History(join(folder, "history.jsonl"));
  const nemesis = new Nemesis(cluster, chosen(), history);
  const load = await startLoad({ url: cluster.url, history, seed });
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
    /** Into the load. */
    foundAfterSeconds: found[0]?.at === undefined ? null : Math.round(found[0].at / 1000),
    found: found.map(({ kind, text }) => `${kind}: ${text}`),
  };
  writeFileSync(join(folder, "report.json"), `${JSON.stringify(report, null, 2)}\n`);
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  if (broken === undefined) return verdict.isClean && shortfalls.length === 0;
  // A fault that is there on purpose has to show in what clients saw, not in a host that is late at the end.
  return Object.keys(counts).every((kind) => kind === "readers");
}

function chosen(): typeof faults {
  const shown = broken === undefined ? undefined : breaks[broken as Break].faults;
  const names = values.faults?.split(",").map((name) => name.trim()) ?? shown;
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
