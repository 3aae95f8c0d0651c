# dlt keeps a copy of all records in DuckDB: each run fetches what has changed since the last one and drops what was deleted.
#   pip install 'dlt[duckdb]'
#   API_URL=https://… API_KEY=fda_… python dlt_pipeline.py
# PROJECT and FORM have ids, separated by commas, for a copy of their entries and dispatches alone.
# The copy is field_data.duckdb, with a table for each resource in the schema `records`. What dlt remembers stands beside it.
import dlt
from dlt.sources.helpers import requests
from dlt.sources.rest_api import rest_api_source

part = {name: dlt.config.get(name, str) for name in ("project", "form") if dlt.config.get(name, str)}
source = rest_api_source({
    "client": {
        "base_url": dlt.config["api_url"] + "/v1/sync/",
        "auth": {"type": "bearer", "token": dlt.secrets["api_key"]},
        "paginator": {"type": "cursor", "cursor_path": "_metadata.nextCursor", "has_more_path": "_metadata.hasMore"},
    },
    "resource_defaults": {
        "primary_key": "id",
        "write_disposition": "merge",
        "columns": {
            "deleted": {"data_type": "bool", "hard_delete": True},
            "changedAt": {"data_type": "timestamp", "dedup_sort": "desc"},
        },
        "max_table_nesting": 0,  # lists and objects are JSON in a column
        "endpoint": {
            "params": {"perPage": 1000, "unreadable": "skip"},
            "data_selector": "data",
            "response_actions": [{"content": "not_in_scope", "action": "ignore"}],  # a key of a part has no such records
            "incremental": {
                "cursor_path": "changedAt",
                "start_param": "changedSince",
                "initial_value": "1970-01-01T00:00:00Z",
            },
        },
    },
    "resources": [
        "agents",
        {"name": "dispatches", "endpoint": {"params": part}, "columns": {"totalExpectedEntries": {"data_type": "double"}}},
        {"name": "entries", "endpoint": {"params": part}, "columns": {"duration": {"data_type": "double"}}},
        "forms",
        "projects",
        "users",
    ],
}, name="field_data")

pipeline = dlt.pipeline(
    "field_data",
    destination="duckdb",  # or "postgres", whose address is in DESTINATION__POSTGRES__CREDENTIALS
    dataset_name="records",
    pipelines_dir="field_data.state",
)
response = requests.get(dlt.config["api_url"] + "/v1/me", headers={"Authorization": "Bearer " + dlt.secrets["api_key"]})
me = response.json()["data"]
only = {name: ",".join(ids) for name, ids in me["key"].get("only", {}).items()}
wanted = " ".join([me["organisation"]["id"], *map("=".join, [*only.items(), *part.items()])])
pipeline.sync_destination()  # dlt keeps its state in the destination too, and in it what the copy is of
with pipeline.managed_state() as state:
    owner = state.setdefault("sources", {}).setdefault("field_data", {}).setdefault("organisation", wanted)
if owner != wanted:
    raise SystemExit(f"The copy is of organisation {owner}, and this run of {wanted}: use another destination")
print(pipeline.run(source))
