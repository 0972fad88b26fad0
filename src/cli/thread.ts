import { Worker } from "node:worker_threads";

/** Runs the file of this name beside this one: as it is built, or as source, which needs tsx in each thread of Node 20. */
export function startThread(name: string, workerData: unknown): Worker {
  const beside = (file: string) => new URL(file, import.meta.url);
  if (!import.meta.url.endsWith(".ts")) return new Worker(beside(`${name}.js`), { workerData });
  const tsx = import.meta.resolve("tsx/esm/api");
  const code = `import("${tsx}").then(({ register }) => register()).then(() => import("${beside(`${name}.ts`)}"))`;
  return new Worker(code, { eval: true, workerData });
}
