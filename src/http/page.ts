import { readFileSync } from "node:fs";
import { join } from "node:path";
import files from "@fastify/static";
import type { FastifyInstance } from "fastify";

/** A Content-Security-Policy: nothing from elsewhere, nothing inline, in nobody's frame. */
export function pagePolicy(images = "img-src 'self'"): string {
  return (
    `default-src 'none'; script-src 'self'; style-src 'self'; ${images}; connect-src 'self'; ` +
    "base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
  );
}

/**
 * The page for tellers, under /.
 * @param folder where the build put it. Without it, / leads to the documentation.
 */
export function registerPage(app: FastifyInstance, folder: string | undefined, prefix: string): void {
  if (folder === undefined) {
    app.get("/", async (_request, reply) => reply.redirect(`${prefix}/docs`));
    return;
  }
  const html = readFileSync(join(folder, "index.html"), "utf8").replace(
    '<base href="/">',
    `<base href="${prefix}/">`,
  );
  app.get("/", async (_request, reply) =>
    reply.type("text/html; charset=utf-8").header("content-security-policy", pagePolicy()).send(html),
  );
  app.register(files, {
    root: join(folder, "assets"),
    prefix: "/assets/",
    decorateReply: false,
    preCompressed: true,
    index: false,
    // A page and its parts are of one build, whenever a server was upgraded.
    cacheControl: false,
    setHeaders: (reply) => {
      reply.header("cache-control", "no-cache");
    },
  });
}
