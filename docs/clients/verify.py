"""Checks the proof of a receipt against a checkpoint, without fx, and prints the entry.

python3 verify.py PROOF CHECKPOINT
"""
import hashlib, json, sys

def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()

def require(holds, fault):
    if not holds:
        sys.exit(fault)

proof, (_, *lines, end) = json.load(open(sys.argv[1])), filter(str.strip, open(sys.argv[2]))
end = json.loads(end)
require(end.get("ok") and sha256("".join(lines)) == end["digest"], "no whole checkpoint")
entry, head, hashes = json.loads(proof["entry"]), proof["head"], [proof["before"]]
for line in [sha256(proof["entry"]), *proof["after"]]:
    hashes.append(sha256(hashes[-1] + line))
require((head["entries"], head["hash"]) == (entry["sequence"] + len(proof["after"]), hashes[-1]), "changed")
seen = [head for head in map(json.loads, lines) if head["customer"] == proof["head"]["customer"]]
place = seen[0]["entries"] - entry["sequence"] + 1 if seen else 0
require(0 < place < len(hashes) and hashes[place] == seen[0]["hash"], "not in this checkpoint")
print(entry)
