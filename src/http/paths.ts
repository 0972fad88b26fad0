import { operations } from "../wire/operations.ts";

/** The paths that fx answers, except the pages of the documentation, and the methods of each. */
const paths = [
  ...Object.values(operations),
  { method: "GET", path: "/" },
  { method: "GET", path: "/docs" },
  { method: "GET", path: "/assets" },
].map(({ method, path }) => ({
  path,
  methods: method === "GET" ? ["GET", "HEAD"] : [method],
  pattern: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/?]+")}(?:\\?|$)`),
}));

/** The path of `url`, as in the OpenAPI document, and its methods. */
export function knownPath(url: string) {
  return paths.find(({ pattern }) => pattern.test(url));
}

/** A path of fx that cannot be distinguished from one under this prefix. */
export function pathHiddenBy(prefix: string): string | undefined {
  if (prefix === "") return undefined;
  return paths.map(({ path }) => path).find((path) => `${path}/`.startsWith(`${prefix}/`));
}

/** The URL without the prefix, if it has the prefix. */
export function withoutPrefix(url: string, prefix: string): string {
  // A request may name the whole URL (RFC 9112, 3.2.2).
  const path = url.replace(/^https?:\/\/[^/?]*/i, "");
  if (!path.startsWith(prefix)) return url;
  const rest = path.slice(prefix.length);
  if (rest.startsWith("/")) return rest;
  return rest === "" || rest.startsWith("?") ? `/${rest}` : url;
}
