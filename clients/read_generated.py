"""Reads every operation with the client that openapi-generator generates.

Usage: API_URL=… API_KEY=… PYTHONPATH=dist/openapi-generator python read_generated.py
"""

import os

from openapi_client import (
    AgentsApi,
    ApiClient,
    CheckName,
    ChecksApi,
    Configuration,
    DeletedRecord,
    DispatchesApi,
    EntriesApi,
    EntryCheck,
    EntryDispatch,
    EntryExpansion,
    FormsApi,
    HealthApi,
    KeyApi,
    Problem,
    ProjectsApi,
    SortDirection,
    SyncApi,
    UsersApi,
)
from openapi_client.exceptions import NotFoundException

api = ApiClient(Configuration(host=os.environ["API_URL"], access_token=os.environ["API_KEY"]))

assert HealthApi(api).get_live().data.status == "live"
assert HealthApi(api).get_ready().data.status == "ready"
assert KeyApi(api).get_me().data.limits.per_page == 1000

sync = SyncApi(api)
RESOURCES = {
    ("dispatch", "dispatches"): DispatchesApi(api),
    ("project", "projects"): ProjectsApi(api),
    ("entry", "entries"): EntriesApi(api),
    ("form", "forms"): FormsApi(api),
    ("agent", "agents"): AgentsApi(api),
    ("user", "users"): UsersApi(api),
}
for (one, many), records in RESOURCES.items():
    page = getattr(records, f"list_{many}")(per_page=10, sort_order=SortDirection.ASC)
    record = getattr(records, f"get_{one}")(page.data[0].id).data
    assert record.id == page.data[0].id
    assert getattr(sync, f"sync_{many}")(per_page=10).data
    assert getattr(sync, f"digest_{many}")().data[0].count > 0

dispatch = DispatchesApi(api).list_dispatches(per_page=1).data[0]
assert (dispatch.status, dispatch.dispatch_type) == ("paused", "voice"), "words that are not known are read"

entries_api = EntriesApi(api)
expand = [EntryExpansion.DISPATCH, EntryExpansion.FORM]
embedded = entries_api.list_entries(per_page=2, expand=expand).data[0].dispatch
assert isinstance(embedded.actual_instance, EntryDispatch), "a record that is embedded has its type"
assert entries_api.list_entries(bbox=[2, 4, 15, 14], per_page=1).data, "a box is numbers"

form = FormsApi(api).list_forms(per_page=1).data[0].id
question = FormsApi(api).get_form_questions(form).data[0]
choice = question.choices[0]
counted = {"by": ["status"], "form": form, "answered": [question.key, f"{question.key}={choice.answer}"]}
assert entries_api.summarize_entries(**counted).metadata.total == choice.count, "entries with an answer are counted"
assert entries_api.summarize_entries_as_csv(**counted).startswith(b'"status","count"'), "counts are a table"

checks_api = ChecksApi(api)
checks = [CheckName.SHORT, CheckName.PLACE]
flag = checks_api.check_entries(checks=checks).data[0].flags[0]
assert (flag.check, type(flag.value.actual_instance)) == (EntryCheck.SHORT, int), "a flagged entry is read"
assert checks_api.check_agents(checks=checks).data[0].flagged.low > 0, "an agent has its share"
for table in (checks_api.check_entries_as_csv(checks=checks), checks_api.check_agents_as_csv(checks=checks)):
    assert b',"place' in table, "checks are a table"

# A whole list, page after page.
entries = []
cursor = "*"
while cursor:
    page = entries_api.list_entries(cursor=cursor, per_page=500)
    entries += page.data
    cursor = page.metadata.next_cursor
assert len({entry.id for entry in entries}) > 1000, "a walk reads every entry"
assert entries[0].answers[0].type == "voiceNote", "an answer of an unknown type is read"

page = sync.sync_entries(per_page=1000)
changes = page.data
while page.metadata.has_more:
    page = sync.sync_entries(cursor=page.metadata.next_cursor, per_page=1000)
    changes += page.data
assert sum(isinstance(change.actual_instance, DeletedRecord) for change in changes) == 1, "a deletion is read"

try:
    entries_api.get_entry("none")
    raise AssertionError("an error is raised")
except NotFoundException as error:
    assert Problem.from_json(error.body).code == "not_found", error
