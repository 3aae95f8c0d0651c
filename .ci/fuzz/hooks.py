"""What Schemathesis cannot know from the OpenAPI document of the service, and a check of its bodies. .ci/fuzz/run loads it."""

import atexit
import io
import json
import re
import zipfile
from collections import Counter

import schemathesis
from hypothesis import strategies

statuses = Counter()
cursors = {}

atexit.register(lambda: print("responses by status:", dict(sorted(statuses.items()))))

times = strategies.datetimes().map(lambda time: time.isoformat(timespec="milliseconds") + "Z")


schemathesis.openapi.format("time-zone", strategies.sampled_from(["UTC", "Africa/Lagos", "America/New_York"]))
keys = strategies.text("0123456789abcdef", min_size=12, max_size=12)
schemathesis.openapi.format("answered", keys | strategies.builds("{}={}".format, keys, strategies.text()))
schemathesis.openapi.format("interval", times | times.map("{}/..".format) | times.map("../{}".format))


def on_earth(box):
    """A box of numbers of any size, in degrees. The document cannot say how its numbers go together."""
    degrees = lambda number, most: round(number % (2 * most) - most, 3)
    half = len(box) // 2
    south, north = sorted((degrees(box[1], 90), degrees(box[1 + half], 90)))
    return [degrees(box[0], 180), south, *box[2:half], degrees(box[half], 180), north, *box[2 + half :]]


@schemathesis.hook
def before_call(context, case, kwargs):
    """Shortens the time that a feed is told to wait, and gives boxes on earth and cursors of the service in place of invented
    ones."""
    query = case.query or {}
    bbox = query.get("bbox")
    if isinstance(bbox, list) and len(bbox) in (4, 6) and all(type(each) in (int, float) for each in bbox):
        query["bbox"] = on_earth(bbox)
    if re.fullmatch("[1-5]?[0-9]|60", str(query.get("wait"))):
        query["wait"] = min(1, int(query["wait"]))
    cursor = query.get("cursor")
    if isinstance(cursor, str) and cursor != "" and len(cursor) % 3 > 0:
        query["cursor"] = "*" if len(cursor) % 3 == 1 else cursors.get(case.path, "*")


@schemathesis.hook
def after_call(context, case, response):
    statuses[response.status_code] += 1
    found = re.search(rb'"nextCursor":"([^"]+)"', response.content)
    if found:
        cursors[case.path] = found[1].decode()


@schemathesis.check
def bodies_have_their_type(ctx, response, case):
    """A body is JSON, or for an export a file of its format."""
    type = response.headers.get("content-type", [""])[0].split(";")[0]
    if type == "application/x-ndjson":
        for line in response.content.splitlines():
            json.loads(line)
    elif response.content == b"":
        assert case.method == "HEAD" or response.status_code in (204, 304), "there is no body"
    elif type == "text/csv":
        response.content.decode()
    elif type == "application/vnd.apache.parquet":
        assert response.content[:4] == response.content[-4:] == b"PAR1", "the file has not its first and last bytes"
    elif type.endswith(".sheet"):
        assert zipfile.ZipFile(io.BytesIO(response.content)).testzip() is None, "the archive is damaged"
    else:
        assert re.fullmatch(r"application/([\w.-]+\+)?json", type), f"the type of the body is {type}"
        json.loads(response.content)


# What a request must keep to and OpenAPI has no words for: how parameters go together, and which cursors there are.
RULES = re.compile(
    "must not be given with|must be left out: only|, the organisation of the key$|is not a cursor that this operation gave"
    "|must be ids in ascending order|^must be greater than from$"
    # Schemathesis does not check these formats, so it takes wrong boxes and intervals for right ones.
    # A key of a question must be one of the form.
    "|it must be given with form|must have the key of a question of the form|must be the key of a question, 12"
    "|must be the name of a time zone"
    "|must be minLongitude,minLatitude|or two of them with / between them"
)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Whether a failure is one. It is none where the document cannot say what the service does."""
    if failure.code in ("ST201", "ST202") and response.status_code == 414:
        return False  # the document cannot limit the length of the URL
    if failure.code == "ST202":  # a request that fits the document was refused
        refused = json.loads(response.content)
        faults = [fault["message"] for fault in refused.get("errors", [])]
        allowed = refused["code"] == "cursor_expired" or (faults and all(map(RULES.search, faults)))
        return not allowed
    if failure.code == "ST201":  # a request that does not fit the document was served
        # OGC API - Features wants a maximum in the document, and a larger number served as the maximum.
        return not ("/ogc/" in case.path and "parameter `limit` in query" in failure.message)
    if failure.code == "ST108":  # a response does not fit the document
        # The document shows files as bytes, and the fields of a list as they are without these parameters.
        lacks = "is a required property" in failure.message
        chosen = "fields" in (case.query or {}) or (case.query or {}).get("embed") == "false"
        return not (response.status_code == 200 and ("/exports/" in case.path or (lacks and chosen)))
    return True
