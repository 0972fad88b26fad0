/** A fault of a file as a whole. */
export type FileFault = "workbook" | "encoding" | "ends" | "header" | "column";

/** A file that holds no batch that fx can read. Nothing of it is begun. */
export class UnfitFile extends Error {
  override readonly name = "UnfitFile";
  readonly fault: FileFault;
  /** The encoding in which the file may be read instead. */
  readonly encoding: string | undefined;
  /** The names of an unknown column and of the field that it seems to be. */
  readonly names: readonly string[];

  constructor(
    fault: FileFault,
    message: string,
    { encoding, names = [] }: { readonly encoding?: string; readonly names?: readonly string[] } = {},
  ) {
    super(message);
    this.fault = fault;
    this.encoding = encoding;
    this.names = names;
  }
}
