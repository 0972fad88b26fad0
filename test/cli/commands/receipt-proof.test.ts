import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { adult } from "../../support/fixture.ts";
import { newFolder } from "../../support/folder.ts";
import { documentOf, places, result } from "../../support/places.ts";

const pesel = adult(0);

for (const [place, openLedger] of Object.entries(places)) {
  describe(`fx receipt proof and verify, ${place}`, () => {
    /** An account with an exchange and a deposit after it, and checkpoints from before, between and after them. */
    async function proven(t: TestContext) {
      const folder = newFolder(t);
      const fx = await openLedger(t);
      const path = (name: string) => join(folder, name);
      const checkpoint = (name: string) => result(fx(`audit --checkpoint ${path(name)}`));
      await result(fx(`account create ${pesel} --name Jan --surname Kowalski --pln 1000`));
      await checkpoint("before");
      await result(fx(`exchange ${pesel} --from PLN --to USD --to-buy 100 --key buy-1`));
      await checkpoint("between");
      await result(fx(`account deposit ${pesel} --amount 1 --currency PLN --key in-1`));
      const { id } = await documentOf(fx(`receipt --pesel ${pesel} --key buy-1 --json`));
      const proof = await result(fx(`receipt proof ${id}`));
      writeFileSync(path("proof"), proof);
      await checkpoint("after");
      const verify = (file = "proof", against = "after", more = "") =>
        fx(`receipt verify ${path(file)} --checkpoint ${path(against)}${more}`);
      return { fx, path, checkpoint, id, proof, verify };
    }

    test("A proof is verified with a checkpoint from after its entry, and says what the ledger had", async (t) => {
      const { fx, path, id, proof, verify } = await proven(t);
      const { customer } = JSON.parse(proof).head;
      const shown = await result(verify());
      assert.match(
        shown,
        new RegExp(
          `^proven\tby the checkpoint of .*\ncustomer\t${customer}\nentries then\t3\nreceipt\t${id}\n`,
        ),
      );
      assert.match(shown, /\nbought\t100\.00 USD\n/);
      const { ok, receipt, entries } = await documentOf(verify("proof", "between", " --json"));
      assert.deepEqual([ok, receipt.id, "reversedBy" in receipt, entries], [true, id, false, 2]);
      const cut = await documentOf(fx(`receipt proof ${id} --checkpoint ${path("between")}`));
      assert.deepEqual([cut.after, cut.head.entries], [[], 2]);
    });

    test("A proof that does not fit is exit 11, with what does not fit", async (t) => {
      const { fx, path, checkpoint, id, proof, verify } = await proven(t);
      writeFileSync(path("changed"), proof.replace("42963", "42964"));
      writeFileSync(path("renamed"), proof.replace(/"customer":"[A-P]{9}/, '"customer":"ABCDEFGHI'));
      await result(fx(`account deposit ${pesel} --amount 1 --currency PLN`));
      await checkpoint("later");
      const other = await openLedger(t);
      await result(other(`account create ${adult(1)} --name Ewa --surname Nowak --pln 5`));
      await result(other(`audit --checkpoint ${path("other")}`));
      for (const [ran, told] of [
        [verify("changed"), /The proof was changed/],
        [verify("renamed"), /The checkpoint has no customer ABCDEFGHI/],
        [verify("proof", "before"), /The checkpoint is from before the entry/],
        [verify("proof", "later"), /The proof ends at entry 3, .* Have a new proof made/],
        [verify("proof", "other"), /The checkpoint has no customer/],
        [fx(`receipt proof ${id} --checkpoint ${path("before")}`), /The checkpoint is from before the entry/],
      ] as const) {
        const { stdout, stderr, exit } = await ran;
        assert.match(stderr.replaceAll("\n", " "), told);
        assert.deepEqual([stdout, exit], ["", 11]);
      }
      const json = await verify("changed", "after", " --json");
      const { ok, fault } = JSON.parse(json.stdout);
      assert.deepEqual([ok, json.exit, json.stderr], [false, 11, ""]);
      assert.match(fault, /The proof was changed/);
    });

    test("A file that is no proof, or no whole checkpoint, is exit 2", async (t) => {
      const { path, proof, verify } = await proven(t);
      const whole = readFileSync(path("after"), "utf8");
      writeFileSync(path("cut"), proof.slice(0, -9));
      writeFileSync(path("none"), "[]");
      writeFileSync(path("twice"), proof.replace("{", `{"entry":"42964 PLN",`));
      writeFileSync(path("spelt-twice"), proof.replace("{", `{"entr\\u0079" : "42964 PLN",`));
      writeFileSync(path("twice-in-head"), proof.replace('"head":{', '"head":{"entries":9,'));
      writeFileSync(path("cut-checkpoint"), whole.slice(0, whole.trimEnd().lastIndexOf("\n") + 1));
      writeFileSync(path("edited"), whole.replace('"entries":3,"hash"', '"entries":4,"hash"'));
      for (const [file, against, told] of [
        ["cut", "after", /The file is not valid JSON/],
        ["none", "after", /is not a proof of fx, or was changed/],
        ["twice", "after", /given more than once/],
        ["spelt-twice", "after", /given more than once/],
        ["twice-in-head", "after", /given more than once/],
        ["missing", "after", /cannot be read \(no such file or directory\)/],
        ["proof", "cut-checkpoint", /This is not a whole checkpoint: its end is missing/],
        ["proof", "edited", /This is not a whole checkpoint: its digest is not that of its lines/],
        ["proof", "missing", /The checkpoint .* cannot be read/],
      ] as const) {
        const { stdout, stderr, exit } = await verify(file, against);
        assert.match(stderr.replaceAll("\n", " "), told);
        assert.deepEqual([stdout, exit], ["", 2]);
      }
    });
  });
}
