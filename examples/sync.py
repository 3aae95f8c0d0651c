"""Keeps a copy of an organisation's entries in an SQLite file, with Python 3.9 or newer.

    API_URL=http://127.0.0.1:3000 API_KEY=... python3 sync.py copy.sqlite

Or a copy of some projects, some forms, or both: python3 sync.py copy.sqlite project=ID,ID form=ID
"""

import http.client
import json
import os
import sqlite3
import sys
import time
from datetime import datetime
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

TABLES = """
    CREATE TABLE IF NOT EXISTS entries (id TEXT PRIMARY KEY, updated INTEGER, entry TEXT, copy INTEGER);
    CREATE TABLE IF NOT EXISTS state (cursor TEXT, copy INTEGER);
    CREATE TABLE IF NOT EXISTS owner (organisation TEXT);
    INSERT INTO state SELECT '*', 1 WHERE NOT EXISTS (SELECT * FROM state);
"""
PART = dict(argument.partition("=")[::2] for argument in sys.argv[2:])


def get(path, **parameters):
    """The body of a response, or None if the cursor is no longer valid. Tries again while the service is away or busy."""
    headers = {"Authorization": f"Bearer {os.environ['API_KEY']}"}
    request = Request(f"{os.environ['API_URL']}/v1/{path}?{urlencode(parameters)}", headers=headers)
    delay = 0.5
    while True:
        wait = delay = min(2 * delay, 60)
        try:
            with urlopen(request, timeout=90) as response:
                return json.load(response)
        except HTTPError as error:
            problem = error.read().decode(errors="replace")
            if '"cursor_expired"' in problem or '"invalid_cursor"' in problem:
                return None
            if error.code not in (429, 502, 503, 504):
                sys.exit(problem)
            after = error.headers.get("Retry-After", "")  # a proxy may send a date
            wait = max(wait, int(after) if after.isdecimal() else 0)
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            pass  # refused, reset or cut short
        time.sleep(wait)


def pages(**parameters):
    """The pages of the list, in the order of ids, with what is in the part. After a change of the service, it begins again."""
    cursor = "*"
    while cursor is not None:
        page = get("entries", cursor=cursor, sortBy="id", sortOrder="asc", embed="false", unreadable="skip", **parameters)
        if page:
            page["data"] = [entry for entry in page["data"] if is_in_part(entry)]
            yield page
        cursor = page["_metadata"].get("nextCursor") if page else "*"


def is_in_part(entry):
    """The filters of the list take one id each, so what it shows is looked at here."""
    return all(entry.get(name) in ids.split(",") for name, ids in PART.items())


def store(db, items, copy):
    for item in items:
        if item.get("deleted"):
            db.execute("DELETE FROM entries WHERE id = ?", (item["id"],))
        elif item.get("unreadable"):  # the service cannot show this record: what the copy has of it stays
            print(item["id"], item["message"], file=sys.stderr)
            db.execute("UPDATE entries SET copy = ? WHERE id = ?", (copy, item["id"]))
        else:
            updated = datetime.fromisoformat(item["updatedAt"].replace("Z", "+00:00"))
            row = (item["id"], round(updated.timestamp() * 1000), json.dumps(item), copy)
            db.execute("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)", row)


def sync(db):
    """Brings the copy up to date, and returns how many items of the feed it has stored."""
    me = get("me")["data"]
    owner = required_owner(db, me)
    stored, more, most = 0, True, me["limits"]["perPage"]
    while more:
        cursor, copy = db.execute("SELECT cursor, copy FROM state").fetchone()
        page = get("sync/entries", cursor=cursor, perPage=most, **PART)
        with db:  # the page and its cursor in one transaction: a run continues where the last one ended, however it ended
            if page is None:  # deletions may be missing: copy everything again, and look for what does not come again
                db.execute("UPDATE state SET cursor = '*', copy = copy + 1")
                continue
            store(db, page["data"], copy)
            stored += len(page["data"])
            more = page["_metadata"]["hasMore"]
            db.execute("UPDATE state SET cursor = ?", (page["_metadata"]["nextCursor"],))
            db.execute("INSERT INTO owner SELECT ? WHERE NOT EXISTS (SELECT * FROM owner)", (owner,))
    drop_gone(db, copy, most)
    if PART and not db.execute("SELECT * FROM entries").fetchone():
        print("No entry is in this part: an id may be wrong", file=sys.stderr)
    return stored


def required_owner(db, me):
    """What a run copies: an organisation, or the part of it that the key and the arguments allow. A copy stays that of one."""
    organisation = me["organisation"]["id"]
    parts = [*me["key"].get("only", {}).items(), *((name, ids.split(",")) for name, ids in PART.items())]
    wanted = " ".join([organisation, *sorted({f"{name}={','.join(sorted(ids))}" for name, ids in parts})])
    # Entries without an owner are from before this program copied parts.
    stored = "SELECT coalesce((SELECT organisation FROM owner), (SELECT ? FROM entries), ?)"
    (owner,) = db.execute(stored, (organisation, wanted)).fetchone()
    if owner != wanted:
        sys.exit(f"The copy is of organisation {owner}, and this run of {wanted}: name another file")
    return wanted


def drop_gone(db, copy, most):
    """Drops what did not come again, unless the service has it: a record may have been changed meanwhile."""
    old = {id for (id,) in db.execute("SELECT id FROM entries WHERE copy < ?", (copy,))}
    if not old:
        return
    listed = pages(fields=",".join(["id", *PART]), perPage=most)
    gone = old.difference(entry["id"] for page in listed for entry in page["data"])
    with db:
        db.executemany("DELETE FROM entries WHERE id = ?", [(id,) for id in gone])
        db.execute("UPDATE entries SET copy = ?", (copy,))


def open_copy(usage):
    """The file that the first argument names. It is made only if nothing is missing."""
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(usage)
    for name in ("API_URL", "API_KEY"):
        if not os.environ.get(name):
            sys.exit(f"The environment variable {name} is missing")
    db = sqlite3.connect(sys.argv[1])
    db.executescript(TABLES)
    return db


if __name__ == "__main__":
    database = open_copy(__doc__)
    changes = sync(database)
    (entries,) = database.execute("SELECT count(*) FROM entries").fetchone()
    print(f"{changes} changes were fetched; the copy has {entries} entries")
