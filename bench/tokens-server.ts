import { TokensInForce } from "../src/cli/tokens/in-force.ts";
import { buildServer } from "../src/http/server.ts";
import { openInstance } from "../test/support/server.ts";

/**
 * Two servers of one process over one ledger in memory: without tokens, and with those of the file that is named. It
 * prints their addresses.
 */
const [file = ""] = process.argv.slice(2);
const { service, store, rates, clock } = await openInstance();
for (const tokens of [undefined, await TokensInForce.open(file)]) {
  const app = buildServer({
    service,
    probes: {
      version: "0.0.0",
      store: "memory",
      schemaVersion: store.schemaVersion,
      ping: () => store.ping(),
      rates: () => rates.status(),
      commits: () => service.commits,
    },
    now: () => clock.now,
    tokens,
  });
  process.stdout.write(`${await app.listen({ port: 0, host: "127.0.0.1" })}\n`);
}
process.once("SIGTERM", () => process.exit());
