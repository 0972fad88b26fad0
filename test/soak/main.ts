/** Runs a server at half its capacity with disturbances: `npm run soak -- --minutes N`. */
import { parseArgs } from "node:util";
import { soak } from "./soak.ts";

const { values } = parseArgs({ options: { minutes: { type: "string", default: "30" } } });
const report = await soak(Number(values.minutes) * 60);
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
process.exitCode = report.isFlat ? 0 : 1;
