import { Worker } from "node:worker_threads";

/** Runs the built file of this name: beside this one or, where this one is source, in `dist` and without tsx. */
export function startThread(name: string, workerData: unknown): Worker {
  const at = (folder: string) => new URL(`${folder}/${name}.js`, import.meta.url);
  if (!import.meta.url.endsWith(".ts")) return new Worker(at("."), { workerData });
  return new Worker(at("../../dist"), { workerData, execArgv: [] });
}
