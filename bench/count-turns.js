// Loaded into a server (node --import): on SIGUSR2 it writes what its event loop has done so far to the file that
// FX_BENCH_TURNS names.
import { renameSync, writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";

process.on("SIGUSR2", () => {
  const { loopCount, events } = performance.nodeTiming.uvMetricsInfo;
  const { idle, active } = performance.eventLoopUtilization();
  const path = process.env.FX_BENCH_TURNS;
  writeFileSync(`${path}.part`, JSON.stringify({ turns: loopCount, events, idleMs: idle, activeMs: active }));
  renameSync(`${path}.part`, path);
});
