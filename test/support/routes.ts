import type { FastifyInstance } from "fastify";

/** Every route of a server, such as "GET /api/user/{pesel}", without HEAD. */
export function routesOf(app: FastifyInstance): string[] {
  const parents: string[] = [];
  return app
    .printRoutes({ commonPrefix: false })
    .split("\n")
    .flatMap((line) => {
      const [, indent = "", part = "", methods = ""] =
        /^([│ ]*)(?:├|└)── (\S+)(?: \((.*)\))?/.exec(line) ?? [];
      const depth = indent.length / 4;
      parents.length = depth;
      parents[depth] = part;
      const path = parents.join("").replaceAll(/:(\w+)/g, "{$1}");
      return methods
        .split(", ")
        .filter((method) => method !== "" && method !== "HEAD")
        .map((method) => `${method} ${path}`);
    });
}
