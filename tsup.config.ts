import { defineConfig } from "tsup";
import { writeClientTypes } from "./build/client-types.ts";
import { noteBundled, writeLicences } from "./build/licences.ts";
import { writeManual } from "./build/manual.ts";
import { buildPage } from "./build/page.ts";
import { putInPlace } from "./build/place.ts";

/** The folders of the packages whose code is in the bundles of the command and of the page. */
const bundled = new Set<string>();
const staging = `dist-${process.pid}`;

// The dependencies have native parts or files beside their code, and stay in node_modules. Everything else loads faster
// from one file than from hundreds: it is bundled, and a devDependency.
export default defineConfig({
  entry: { main: "src/cli/main.ts", client: "src/client/main.ts" },
  outDir: staging,
  format: "esm",
  platform: "node",
  target: "node20",
  // Chunks are read only by the commands that import them.
  splitting: true,
  removeNodeProtocol: false,
  // CommonJS packages in the bundle call require.
  banner: {
    js: 'import { createRequire as createRequireOf } from "node:module"; const require = createRequireOf(import.meta.url);',
  },
  esbuildPlugins: [noteBundled(bundled)],
  silent: true,
  esbuildOptions: (options) => {
    options.logLevel = "warning";
  },
  onSuccess: async () => {
    await writeManual(`${staging}/man`);
    await writeClientTypes(`${staging}/types`);
    await buildPage(`${staging}/web`, [noteBundled(bundled)]);
    await writeLicences(`${staging}/LICENSES.txt`, bundled);
    await putInPlace(staging, "dist");
  },
});
