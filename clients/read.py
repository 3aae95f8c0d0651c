"""Reads every operation with the client that openapi-python-client generates.

Usage: API_URL=… API_KEY=… PYTHONPATH=dist python read.py
"""

import os

from field_data import AuthenticatedClient
from field_data.api.agents import get_agent, list_agents
from field_data.api.checks import check_agents, check_entries
from field_data.api.dispatches import get_dispatch, list_dispatches
from field_data.api.entries import get_entry, list_entries, summarize_entries
from field_data.api.forms import get_form, get_form_questions, list_forms
from field_data.api.health import get_live, get_ready
from field_data.api.key import get_me
from field_data.api.projects import get_project, list_projects
from field_data.api.sync import (
    digest_agents,
    digest_dispatches,
    digest_entries,
    digest_forms,
    digest_projects,
    digest_users,
    sync_agents,
    sync_dispatches,
    sync_entries,
    sync_forms,
    sync_projects,
    sync_users,
)
from field_data.api.users import get_user, list_users
from field_data.models import (
    CheckName,
    DeletedRecord,
    EntryCheck,
    EntryDispatch,
    EntryExpansion,
    FormField,
    Problem,
    SortDirection,
)

api = AuthenticatedClient(
    base_url=os.environ["API_URL"], token=os.environ["API_KEY"], raise_on_unexpected_status=True
)


def read(operation, *args, **parameters):
    """Returns the body of a successful response."""
    body = operation.sync(*args, client=api, **parameters)
    assert body is not None and not isinstance(body, Problem), body
    return body


assert read(get_live).data.status == "live"
assert read(get_ready).data.status == "ready"
assert read(get_me).data.limits.per_page == 1000

RESOURCES = [
    (list_dispatches, get_dispatch, sync_dispatches, digest_dispatches),
    (list_projects, get_project, sync_projects, digest_projects),
    (list_entries, get_entry, sync_entries, digest_entries),
    (list_forms, get_form, sync_forms, digest_forms),
    (list_agents, get_agent, sync_agents, digest_agents),
    (list_users, get_user, sync_users, digest_users),
]
for list_records, get_record, sync, digest in RESOURCES:
    page = read(list_records, per_page=10, sort_order=SortDirection.ASC)
    record = read(get_record, page.data[0].id).data
    assert record.id == page.data[0].id
    assert read(sync, per_page=10).data
    assert read(digest).data[0].count > 0

dispatch = read(list_dispatches, per_page=1).data[0]
assert (dispatch.status, dispatch.dispatch_type) == ("paused", "voice"), "words that are not known are read"

# The client takes required fields for granted, so a record without them is read as JSON.
chosen = api.get_httpx_client().get("/v1/forms", params={"fields": FormField.NAME}).json()["data"][0]
assert chosen.keys() == {"id", "name"}, "a record has its chosen fields alone"

several = read(list_dispatches, ids=["0-unknown-words", "65850cb40000050000000000"]).data
assert len(several) == 2, "a parameter takes several values"
embedded = read(list_entries, per_page=2, expand=[EntryExpansion.DISPATCH, EntryExpansion.FORM]).data
assert isinstance(embedded[0].dispatch, EntryDispatch), "a record that is embedded has its type"
assert read(list_entries, bbox=[2, 4, 15, 14], per_page=1).data, "a box is numbers"

form = read(list_forms, per_page=1).data[0]
question = read(get_form_questions, form.id).data[0]
counted = {"by": ["status"], "form": form.id, "answered": [question.key, f"{question.key}={question.choices[0].answer}"]}
counts = read(summarize_entries, **counted)
assert counts.field_metadata.total == question.choices[0].count, "the entries with an answer are counted"
# The client takes a table for bytes that are none, so it is read as text.
table = api.get_httpx_client().get("/v1/summaries/entries.csv", params=counted).text
assert table.startswith('"status","count"'), "counts are a table"

checks = [CheckName.SHORT, CheckName.PLACE]
flag = read(check_entries, checks=checks).data[0].flags[0]
assert (flag.check, type(flag.value)) == (EntryCheck.SHORT, int), "a flagged entry is read"
assert read(check_agents, checks=checks).data[0].flagged.low > 0, "an agent has its share"
for name in ("entries", "agents"):
    table = api.get_httpx_client().get(f"/v1/checks/{name}.csv", params={"checks": "short,place"}).text
    assert ',"place' in table, "checks are a table"

# A whole list, page after page.
entries = []
cursor = "*"
while cursor:
    page = read(list_entries, cursor=cursor, per_page=500)
    entries += page.data
    cursor = page.field_metadata.next_cursor
assert len({entry.id for entry in entries}) > 1000, "a walk reads every entry"
assert entries[0].answers[0].type_ == "voiceNote", "an answer of an unknown type is read"

etag = list_users.sync_detailed(client=api).headers["etag"]
assert list_users.sync_detailed(client=api, if_none_match=etag).status_code == 304

changes = []
cursor = "*"
while True:
    page = read(sync_entries, cursor=cursor, per_page=1000)
    changes += page.data
    cursor = page.field_metadata.next_cursor
    if not page.field_metadata.has_more:
        break
assert sum(isinstance(change, DeletedRecord) for change in changes) == 1, "a deletion is read"

problem = get_entry.sync("none", client=api)
assert isinstance(problem, Problem) and problem.code == "not_found", problem
