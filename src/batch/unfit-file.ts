/** A fault of a file as a whole. */
export type FileFault = "workbook" | "encoding" | "ends" | "header" | "column";

/** A file that holds no batch that fx can read. Nothing of it is begun. */
export class UnfitFile extends Error {
  override readonly name = "UnfitFile";
  readonly fault: FileFault;
  /** The names of an unknown column and of the field that it seems to be. */
  readonly names: readonly string[];

  constructor(fault: FileFault, message: string, names: readonly string[] = []) {
    super(message);
    this.fault = fault;
    this.names = names;
  }
}
