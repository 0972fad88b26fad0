/** HAProxy's log format, with the header of the load's attempts as the first captured one. */
export const proxyLogFormat = "attempt %[capture.req.hdr(0)] retries %rc";

/** The attempts that HAProxy's log shows as repeated. `+` marks another fx. */
export function repeatedIn(log: string): ReadonlySet<number> {
  return new Set([...log.matchAll(/attempt (\d+) retries \+?[1-9]/g)].map(([, attempt]) => Number(attempt)));
}
