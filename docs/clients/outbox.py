"""Writes every entry of a ledger to an outbox once, as they come.

python3 outbox.py outbox.db; FX_URL and FX_TOKEN name the server and an operator's token.
"""
import json
import os
import sqlite3
import sys
import time
from http.client import HTTPException
from urllib.request import Request, urlopen

database = sqlite3.connect(sys.argv[1])
database.execute("create table if not exists outbox (position integer primary key, id text unique, receipt text)")
pause = 1
while True:
    try:
        headers = {"Authorization": f"Bearer {os.environ['FX_TOKEN']}", "Accept": "text/event-stream"}
        # The newest row is the cursor, so that both are written at once.
        for (last,) in database.execute("select id from outbox order by position desc limit 1").fetchall():
            headers["Last-Event-ID"] = last
        # Longer than between two comments.
        with urlopen(Request(f"{os.environ['FX_URL']}/api/entries", headers=headers), timeout=45) as stream:
            for line in stream:
                # A line without its end was cut off.
                if line.startswith(b"data:") and line.endswith(b"\n"):
                    receipt = json.loads(line[5:])
                    with database:
                        row = (receipt["id"], json.dumps(receipt))
                        database.execute("insert into outbox (id, receipt) values (?, ?)", row)
                    pause = 1
    except (OSError, HTTPException) as fault:
        print(f"again in {pause} s: {fault}", file=sys.stderr)
    time.sleep(pause)
    pause = min(2 * pause, 60)
