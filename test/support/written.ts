import { Writable } from "node:stream";

/** A stream that keeps what is written to it, and the text since it was last asked for. */
export function keptText(): { readonly stream: Writable; readonly text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks.splice(0)).toString() };
}
