"""Compares the copy that sync.py keeps with the service, and mends what differs.

    API_URL=http://127.0.0.1:3000 API_KEY=... python3 check.py copy.sqlite

The arguments are those of sync.py.

It compares the number of entries and the sum of their updatedAt for ranges of ids, and narrows down those that differ.
SQLite sorts ids by their UTF-8 bytes, as the service does.
"""

from itertools import product
from urllib.parse import quote

from sync import PART, get, open_copy, pages, store, sync

BETWEEN = "FROM entries WHERE id >= :from AND (:to IS NULL OR id < :to)"


def check(db, **ends):
    """Compares a range of ids, {from, to}, and returns how many entries were mended."""
    place = {"from": "", "to": None, **ends}
    # A bound must not contain a comma, and all of them must fit into a URL of 8,000 bytes.
    ids = [id for (id,) in db.execute(f"SELECT id {BETWEEN} ORDER BY id", place) if "," not in id]
    free = 7000 - sum(len(quote(end)) for end in ends.values())
    most = min(50, free // max([len(quote(id)) + 3 for id in ids], default=1))
    bounds = ids[:: len(ids) // (most + 1) + 1][1:] if most > 0 else []
    mended = 0
    within = {**PART, **ends, **({"bounds": ",".join(bounds)} if bounds else {})}
    for part in get("sync/entries/digest", **within)["data"]:
        ends = {end: part[end] for end in ("from", "to") if end in part}
        count, total = db.execute(f"SELECT count(*), coalesce(sum(updated), 0) {BETWEEN}", {**place, **ends}).fetchone()
        if (count, str(total)) != (part["count"], part["updatedAtSum"]):
            mended += check(db, **ends) if bounds and count > 100 else fetch(db, **ends)
    return mended


def fetch(db, **ends):
    """Replaces a range of the copy by what the service has, and returns how many entries differed."""
    place = {"from": "", "to": None, **ends}
    before = dict(db.execute(f"SELECT id, updated {BETWEEN}", place))
    (copy,) = db.execute("SELECT copy FROM state").fetchone()
    names = {"from": "idFrom", "to": "idTo"}
    within = {names[end]: id for end, id in ends.items()}
    gone = set(before)
    # The list takes one project and one form. Asked without them, it would name unreadable records of others.
    for one in product(*([(name, id) for id in ids.split(",")] for name, ids in PART.items())):
        for page in pages(**within, **dict(one)):
            items = page["data"] + [{**each, "unreadable": True} for each in page["_metadata"]["unreadable"]]
            with db:
                store(db, items, copy)
            gone.difference_update(item["id"] for item in items)
    with db:
        db.executemany("DELETE FROM entries WHERE id = ?", [(id,) for id in gone])
    after = dict(db.execute(f"SELECT id, updated {BETWEEN}", place))
    return sum(before.get(id) != after.get(id) for id in {**before, **after})


if __name__ == "__main__":
    database = open_copy(__doc__)
    print(f"{sync(database)} changes were fetched; {check(database)} entries were brought up to date")
