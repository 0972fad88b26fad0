/** Replaces values that vary between runs by the names of their kinds: ids, times, ages, ports and versions. */
export function maskVolatile(output: string): string {
  return output
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f-]{21}/g, "<id>")
    .replaceAll(/(?<![0-9a-f-])[0-9a-f]{8}-[0-9a-f]{4}(?![0-9a-f-])/g, "<id>")
    .replaceAll(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+Z| CES?T)?/g, "<time>")
    .replaceAll(/\b\d\d:\d\d:\d\d CES?T(?=, every)/g, "<time>")
    .replaceAll(/\b\d{4}-\d\d-\d\d(?= in Warsaw| \*)/g, "<date>")
    .replaceAll(/(?<=\bdate(": "| +))\d{4}-\d\d-\d\d/g, "<date>")
    .replaceAll(/\b[0-9a-f]{64}\b/g, "<digest>")
    .replaceAll(/\b[A-P]{20}\b/g, "<customer>")
    .replaceAll(/\b\d+ days old/g, "<age>")
    .replaceAll(/(?<=\btook +)\d+:\d\d/g, "<duration>")
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:<port>")
    .replaceAll(/\b\d+\.\d+\.\d+(?=, and fx needs)/g, "<version>")
    .replaceAll(/\bversion \d+(?=, which)/g, "version <number>");
}
