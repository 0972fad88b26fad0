/** Of a slot: the digest's 16 characters, 4 in each word, and how often it was counted. */
const words = 5;

/** Counts digests, in 27 to 53 bytes each. A batch may have millions of lines, and a `Map` takes some 200 bytes. */
export class DigestCounts {
  /** Slots with the count 0 are empty. As many as a power of two. */
  #table = new Int32Array(1024 * words);
  #used = 0;

  /**
   * How often `digest` was counted, this time included.
   * @param digest 16 characters of base64url
   */
  count(digest: string): number {
    const at = this.#take(wordAt(digest, 0), wordAt(digest, 4), wordAt(digest, 8), wordAt(digest, 12));
    const count = (this.#table[at + 4] as number) + 1;
    this.#table[at + 4] = count;
    if (count === 1) {
      this.#used += 1;
      if (this.#used * words > this.#table.length * 0.75) this.#grow();
    }
    return count;
  }

  /** Where the slot of a digest begins. */
  #take(a: number, b: number, c: number, d: number): number {
    const table = this.#table;
    const slots = table.length / words;
    const mixed = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b);
    for (let slot = mixed ^ (mixed >>> 15); ; slot += 1) {
      const at = (slot & (slots - 1)) * words;
      if (table[at + 4] === 0) {
        table[at] = a;
        table[at + 1] = b;
        table[at + 2] = c;
        table[at + 3] = d;
        return at;
      }
      if (table[at] === a && table[at + 1] === b && table[at + 2] === c && table[at + 3] === d) return at;
    }
  }

  #grow(): void {
    const before = this.#table;
    this.#table = new Int32Array(before.length * 2);
    for (let at = 0; at < before.length; at += words) {
      const count = before[at + 4] as number;
      if (count === 0) continue;
      const word = (index: number) => before[at + index] as number;
      this.#table[this.#take(word(0), word(1), word(2), word(3)) + 4] = count;
    }
  }
}

function wordAt(text: string, at: number): number {
  let word = 0;
  for (let index = 0; index < 4; index += 1) word |= text.charCodeAt(at + index) << (8 * index);
  return word;
}
