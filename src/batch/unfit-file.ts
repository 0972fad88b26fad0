/** A fault of a file as a whole. */
export type FileFault = "workbook" | "encoding" | "ends" | "header";

/** A file that holds no batch that fx can read. Nothing of it is begun. */
export class UnfitFile extends Error {
  override readonly name = "UnfitFile";
  readonly fault: FileFault;
  /** The encoding in which the file may be read instead. */
  readonly encoding: string | undefined;

  constructor(fault: FileFault, message: string, { encoding }: { readonly encoding?: string } = {}) {
    super(message);
    this.fault = fault;
    this.encoding = encoding;
  }
}
