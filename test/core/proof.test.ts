import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { entryText } from "../../src/core/journal.ts";
import { chainedHash, provenBy } from "../../src/core/proof.ts";
import type { AccountHead, ReceiptProof } from "../../src/core/service.ts";
import { receiptProof } from "../../src/wire/proof.ts";
import { appending, emptyAccount, nextEntry } from "../support/entries.ts";
import { adult } from "../support/fixture.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const customer = "ABCDEFGHIJKLMNOPABCD";

/** An account's chain: the text of each entry, and the head after it. */
function chainOf(length: number) {
  const texts: string[] = [];
  const heads: AccountHead[] = [];
  let account = emptyAccount(adult(0));
  for (let entries = 1; entries <= length; entries += 1) {
    const entry = nextEntry(account, "renaming");
    texts.push(entryText(entry));
    account = appending([entry], account).answer;
    heads.push({ customer, entries, hash: account.hash });
  }
  return { texts, heads };
}

/** The proof of an entry, by its number, up to another one. */
function proofFrom(
  { texts, heads }: ReturnType<typeof chainOf>,
  sequence: number,
  end: number,
): ReceiptProof {
  return {
    entry: texts[sequence - 1] as string,
    before: heads[sequence - 2]?.hash ?? "",
    after: texts.slice(sequence, end).map(sha256),
    head: heads[end - 1] as AccountHead,
  };
}

/** The proof in a file; undefined if it is none. */
function readProof(text: string): ReceiptProof | undefined {
  try {
    return receiptProof.decode(JSON.parse(text));
  } catch {
    return undefined;
  }
}

const longest = 9;
const chain = chainOf(longest);
const other = chainOf(longest);

test("A proof verifies against every checkpoint from its entry to its head, and no other", () => {
  for (let sequence = 1; sequence <= longest; sequence += 1) {
    for (let end = sequence; end <= longest; end += 1) {
      const proof = proofFrom(chain, sequence, end);
      for (let seen = 1; seen <= longest; seen += 1) {
        const proven = provenBy(proof, chain.heads[seen - 1], sha256);
        if (seen < sequence) assert.match(String(proven), /is from before the entry/);
        else if (seen > end)
          assert.match(String(proven), /^The proof ends at entry \d, .* Have a new proof made\.$/);
        else assert.deepEqual(proven, proofFrom(chain, sequence, seen));
        assert.equal(typeof provenBy(proof, other.heads[seen - 1], sha256), "string");
      }
      assert.match(String(provenBy(proof, undefined, sha256)), /has no customer ABCD/);
    }
  }
});

test("A proof with any character changed proves nothing", () => {
  const text = JSON.stringify(receiptProof.encode(proofFrom(chain, 2, 4)));
  for (let at = 0; at < text.length; at += 1) {
    for (const other of '0135abA,"') {
      const changed =
        text[at] === other ? undefined : readProof(text.slice(0, at) + other + text.slice(at + 1));
      if (changed === undefined) continue;
      for (const head of chain.heads) {
        const seen: AccountHead | undefined = head.customer === changed.head.customer ? head : undefined;
        assert.equal(typeof provenBy(changed, seen, sha256), "string", `character ${at} as ${other}`);
      }
    }
  }
});

test("A later entry's hash is checked from the digest of its text alone", () => {
  const [first, second] = chain.heads;
  assert.equal(chainedHash(sha256(chain.texts[1] as string), first?.hash ?? "", sha256), second?.hash);
});
