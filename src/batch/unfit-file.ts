/** What is wrong with a file as a whole. */
export type FileFault = "workbook" | "encoding" | "ends" | "header" | "changed";

/** A file that holds no batch that fx can read. Nothing of it is begun, or nothing more. */
export class UnfitFile extends Error {
  override readonly name = "UnfitFile";
  readonly fault: FileFault;

  constructor(fault: FileFault, message: string) {
    super(message);
    this.fault = fault;
  }
}
