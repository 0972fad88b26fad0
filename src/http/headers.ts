import type { IncomingMessage, ServerResponse } from "node:http";
import helmet from "helmet";

/** Whether a request has a header more than once: of most names, Node takes the first and drops the others. */
export function isRepeated({ rawHeaders }: IncomingMessage, name: string): boolean {
  const isNamed = (text: string, index: number) =>
    index % 2 === 0 && text.length === name.length && text.toLowerCase() === name;
  return rawHeaders.filter(isNamed).length > 1;
}

/** What every answer tells browsers beside its own headers. Helmet is asked once, not at each request. */
export function securityHeaders(isTls: boolean): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  const response = {
    setHeader: (name: string, value: string) => {
      headers[name.toLowerCase()] = value;
    },
    removeHeader: () => {},
  };
  const ask = helmet({
    // Of data, of which nothing is to be run or framed. The pages under /docs have a policy of their own.
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    xFrameOptions: { action: "deny" },
    // Behind a proxy, the host and its other paths and ports are not fx's to decide on.
    strictTransportSecurity: isTls && { includeSubDomains: false },
  });
  ask({} as IncomingMessage, response as unknown as ServerResponse, () => {});
  return headers;
}
