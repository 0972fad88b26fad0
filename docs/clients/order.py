"""Buys 10 USD for an account under a key, then carries out a file of lines that have keys.

python3 order.py PESEL KEY LINES; FX_URL and FX_TOKEN name the server and a teller's token. Exits with a failure if an
outcome is unknown: run it again.
"""
import json
import os
import sys
import time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen

REFUSED = (400, 404, 409, 422)
# Raised by reading an answer that is not fx's.
NOT_FX = (ValueError, LookupError, TypeError, AttributeError)


def send(path, content_type, body, **headers):
    """One attempt: the status, the headers and the text of the answer."""
    headers = {"Authorization": f"Bearer {os.environ['FX_TOKEN']}", "Content-Type": content_type, **headers}
    try:
        answer = urlopen(Request(os.environ["FX_URL"] + path, body.encode(), headers), timeout=30)
    except HTTPError as refusal:
        answer = refusal
    with answer:
        return answer.status, answer.headers, answer.read().decode()


def exchange(pesel, key, **terms):
    """(code, receipt): one of them is None. None alone if the outcome is unknown: then send it again with its key."""
    body = json.dumps({"pesel": pesel, **terms})
    for attempt in range(5):
        pause = 2**attempt
        try:
            path = f"/api/exchange/{pesel}"
            status, headers, text = send(path, "application/json", body, **{"Idempotency-Key": key})
            answer = json.loads(text)
            if status == 200 and "Fx-Receipt" in headers:
                return None, headers["Fx-Receipt"]
            # A gateway answers with such a status and JSON, too.
            if status in REFUSED and answer["type"].startswith("urn:fx:error:"):
                return answer["code"], None
            pause = int(headers.get("Retry-After", pause))
        except (OSError, HTTPException, *NOT_FX):
            pass  # No answer, a part of one, or one that is not fx's.
        time.sleep(pause)
    return None


def carry_out(lines):
    """The answers to lines that have keys, by their index. It sends those without an answer again."""
    answers = {}
    for attempt in range(5 + len(lines) // 1000):
        left = [index for index in range(len(lines)) if index not in answers][:1000]
        if not left:
            break
        try:
            status, _, text = send("/api/bulk", "application/x-ndjson", "\n".join(lines[index] for index in left))
            if status != 200:
                raise ValueError(f"status {status}")
            for answer in map(json.loads, text.splitlines()):
                if answer["line"] is not None:
                    answers[left[answer["line"] - 1]] = answer
        except (OSError, HTTPException, *NOT_FX):
            time.sleep(2)
    return answers


pesel, key, file = sys.argv[1:]
answer = exchange(pesel, key, **{"from": "PLN", "to": "USD", "toBuy": 10})
if answer is None:
    sys.exit(f"unknown: send it again with the key {key}")
code, receipt = answer
print(f"settled {receipt}" if code is None else f"refused {code}")
lines = [line for line in open(file, encoding="utf-8").read().splitlines() if line]
answers = carry_out(lines)
done = sum(answer["status"] < 300 for answer in answers.values())
print(f"done {done}, answered {len(answers)} of {len(lines)}")
if len(answers) < len(lines):
    sys.exit(8)
