import type { AccountHead } from "../core/service.ts";

/** Plain arrays, which can be given to a thread. */
export interface HeadTableData {
  readonly count: number;
  readonly records: Uint8Array;
  readonly index: Uint32Array;
}

const idSize = 20;
const entriesSize = 6;
const hashAt = idSize + entriesSize;
/** Half of it tells any two apart. */
const hashSize = 16;
const recordSize = hashAt + hashSize;

/**
 * The heads of a checkpoint, found by customer: some 60 bytes each, where objects would take 300. They are numbered from
 * 0, in the order in which they were added.
 */
export class HeadTable {
  #count = 0;
  #records: Buffer = Buffer.alloc(256 * recordSize);
  /** A head's number plus 1, at the place that its id's first letters lead to, or at the next free one. */
  #index: Uint32Array = new Uint32Array(512);

  static of({ count, records, index }: HeadTableData): HeadTable {
    const table = new HeadTable();
    table.#count = count;
    table.#records = Buffer.from(records.buffer, records.byteOffset, records.length);
    table.#index = index;
    return table;
  }

  get data(): HeadTableData {
    return { count: this.#count, records: this.#records, index: this.#index };
  }

  get count(): number {
    return this.#count;
  }

  add({ customer, entries, hash }: AccountHead): void {
    if (this.#records.length < (this.#count + 1) * recordSize) this.#grow();
    const record = this.#record(this.#count);
    record.write(customer, "latin1");
    record.writeUIntBE(entries, idSize, entriesSize);
    record.write(hash.slice(0, 2 * hashSize), hashAt, "hex");
    this.#enter(this.#count);
    this.#count += 1;
  }

  find(customer: string): number | undefined {
    const number = this.#index[this.#placeOf(Buffer.from(customer, "latin1"))] ?? 0;
    return number === 0 ? undefined : number - 1;
  }

  customer(number: number): string {
    return this.#record(number).toString("latin1", 0, idSize);
  }

  entries(number: number): number {
    return this.#record(number).readUIntBE(idSize, entriesSize);
  }

  hasHash(number: number, hash: string): boolean {
    return this.#record(number).toString("hex", hashAt) === hash.slice(0, 2 * hashSize);
  }

  #record(number: number): Buffer {
    return this.#records.subarray(number * recordSize, (number + 1) * recordSize);
  }

  #enter(number: number): void {
    this.#index[this.#placeOf(this.#record(number))] = number + 1;
  }

  #placeOf(id: Buffer): number {
    let place = 0;
    // Each letter stands for four random bits.
    for (let at = 0; at < 8; at += 1) place = (place << 4) | ((id[at] ?? 0) & 15);
    for (const mask = this.#index.length - 1; ; place += 1) {
      place &= mask;
      const number = this.#index[place] ?? 0;
      if (number === 0 || this.#record(number - 1).compare(id, 0, idSize, 0, idSize) === 0) return place;
    }
  }

  #grow(): void {
    this.#records = Buffer.concat([this.#records], 2 * this.#records.length);
    this.#index = new Uint32Array(2 * this.#index.length);
    for (let number = 0; number < this.#count; number += 1) this.#enter(number);
  }
}
