import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { encodings } from "../../../batch/encoding.ts";
import { type BatchFile, readFile } from "../../../batch/file.ts";
import { batchIdOf } from "../../../batch/keys.ts";
import { UnfitFile } from "../../../batch/unfit-file.ts";
import { reasonOf, UsageError } from "../../errors.ts";

export interface Batch extends BatchFile {
  readonly id: string;
  /** Whether lines that cannot be read are missing from an id that was made of the lines. */
  readonly hasUnread: boolean;
}

/** The digest that keys are made of. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest().subarray(0, 12).toString("base64url");
}

/** The largest file: a batch is read as a whole before it begins. */
const largestMiB = 256;

/**
 * Reads a batch.
 * @param path of the file; "-" is standard input
 * @param id by default made of what the lines ask for
 * @param encoding of its text: UTF-8 by default, or what its byte-order mark says
 * @throws UsageError if the file cannot be read, is no batch, or is written to meanwhile
 */
export async function openBatch(
  path: string,
  stdin: Readable,
  id?: string,
  encoding?: string,
): Promise<Batch> {
  const name = encoding === undefined ? undefined : encodingNamed(encoding);
  try {
    const bytes = path === "-" ? await bytesOf(stdin) : await unchangedBytes(path);
    const file = readFile(bytes, name);
    return { ...file, ...(id === undefined ? batchIdOf(file.lines(), digestOf) : { id, hasUnread: false }) };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (error instanceof UnfitFile) throw new UsageError(error.message);
    throw new UsageError(`${path} cannot be read (${reasonOf(error)}).`);
  }
}

/**
 * The standard name of an encoding: "windows-1250" for "CP1250".
 * @throws UsageError if fx does not read it
 */
function encodingNamed(label: string): string {
  const name = standardName(label);
  if (name !== undefined && encodings.includes(name)) return name;
  throw new UsageError(
    `"${label}" is not an encoding that fx reads (${encodings.join(", ")}). Save the file as CSV UTF-8.`,
  );
}

function standardName(label: string): string | undefined {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}

async function bytesOf(source: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > largestMiB * 1024 * 1024) {
      source.destroy();
      throw new UsageError(`A batch has at most ${largestMiB} MiB. Split the file, and run its parts.`);
    }
  }
  return Buffer.concat(chunks);
}

/** @throws UsageError if the file is still written: its id would be another when it is complete */
async function unchangedBytes(path: string): Promise<Buffer> {
  const version = async () => {
    const facts = await stat(path, { bigint: true });
    return facts.isFile() ? `${facts.ino} ${facts.size} ${facts.mtimeNs}` : "a pipe";
  };
  const before = await version();
  const bytes = await bytesOf(createReadStream(path));
  if ((await version()) === before) return bytes;
  throw new UsageError(`${path} was written to while it was read. Run it when it is complete.`);
}
