"""Checks the proof of a receipt against a checkpoint, without fx, and prints the entry.

python3 verify.py PROOF CHECKPOINT
"""
import hashlib, json, re, sys

not_proof = "PROOF is not a proof"
not_checkpoint = "CHECKPOINT is not a whole checkpoint"

def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()

def require(holds, fault):
    if not holds:
        sys.exit(fault)

def read(path, parse, fault):
    try:
        with open(path, encoding="utf-8-sig") as file:
            return parse(file)
    except (KeyError, TypeError, ValueError):
        sys.exit(fault)

def once(members):
    if len(dict(members)) < len(members):
        raise ValueError("a member is given twice")
    return dict(members)

def proof_in(file):
    proof = json.load(file, object_pairs_hook=once)
    require(proof["proof"] == 1, not_proof)
    return proof["entry"], json.loads(proof["entry"]), proof["before"], proof["after"], proof["head"]

def heads_in(file):
    start, *lines, end = filter(str.strip, file)
    start, end = json.loads(start), json.loads(end)
    form = r'{"customer":"[A-P]{20}","entries":[1-9]\d{0,13},"hash":"[\da-f]{64}"}\n'
    heads = [json.loads(re.fullmatch(form, line, re.ASCII)[0]) for line in lines]
    claimed = end["ok"], end["findingsTotal"], end["accounts"], end["entries"], end["digest"]
    counted = True, 0, len(heads), sum(head["entries"] for head in heads), sha256("".join(lines))
    require(start["checkpoint"] == 1 and claimed == counted, not_checkpoint)
    return heads

text, entry, before, after, head = read(sys.argv[1], proof_in, not_proof)
heads = read(sys.argv[2], heads_in, not_checkpoint)
hashes = [before]
for line in [sha256(text), *after]:
    hashes.append(sha256(hashes[-1] + line))
require((head["entries"], head["hash"]) == (entry["sequence"] + len(after), hashes[-1]), "the proof does not match its own hashes")
seen = [each for each in heads if each["customer"] == head["customer"]]
require(len(seen) < 2, not_checkpoint)
place = seen[0]["entries"] - entry["sequence"] + 1 if seen else 0
require(0 < place < len(hashes) and hashes[place] == seen[0]["hash"], "CHECKPOINT does not contain this entry")
print(entry)
