const token = /fxt_\w+/;
/** The id of a receipt or of a request. */
const uuid = /\b[\da-f]{8}-[\da-f]{4}-[47][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}\b/;
/** A hash: 32 hexadecimal digits or more, with a letter among them. */
const hash = /\b(?=\d*[a-f])[\da-f]{32,}\b/;
const digits = /\d{11,}/;
const maskable = new RegExp([token, uuid, hash, digits].map(({ source }) => source).join("|"), "g");

/**
 * Hides all but the first six digits of every run of 11 or more, and the secret part of tokens. No amount has such a run:
 * see `formatMoney`. Ids and hashes may have one, and stay whole.
 */
export function maskPesels(text: string): string {
  return text.replace(maskable, (run) => {
    if (run.startsWith("fxt_")) return "fxt_*****";
    return /^\d+$/.test(run) ? `${run.slice(0, 6)}*****` : run;
  });
}

/**
 * An unexpected error for the log, with its causes: where it was thrown, and what it says without the data that it
 * quotes. Its other properties are left out: those of a driver or an HTTP client hold whole requests.
 */
export function describeError(error: Error): { type: string; message: string; stack: string } {
  const { name: type, stack = "" } = error;
  const message = withoutQuotes(error);
  const cause = error.cause instanceof Error ? `\ncaused by: ${describeError(error.cause).stack}` : "";
  const frames = stack.slice(stack.search(/\n {4}at |$/));
  return { type, message, stack: `${type}: ${message}${maskPesels(frames)}${cause}` };
}

/** Messages of JSON.parse, BigInt and databases quote the data that they could not read. Names of columns may stay. */
function withoutQuotes({ name, message }: Error): string {
  if (name === "FxError") return message;
  if (name === "SyntaxError") return "the message is left out, because it quotes what was read";
  return maskPesels(
    message.replace(/"([a-z_]+"|[\s\S]*")/g, (quoted) => (/^"[a-z_]+"$/.test(quoted) ? quoted : '"…"')),
  );
}
