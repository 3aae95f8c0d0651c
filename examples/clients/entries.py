"""Prints the accepted entries of an organisation, one a line, with the client that openapi-python-client generates.

    pip install openapi-python-client attrs httpx python-dateutil
    openapi-python-client generate --url "$API_URL/openapi.yaml" --meta none --output-path field_data
    API_URL=http://127.0.0.1:3000 API_KEY=... python entries.py
"""

import os

from field_data import AuthenticatedClient
from field_data.api.entries import list_entries
from field_data.models import Problem

api = AuthenticatedClient(base_url=os.environ["API_URL"], token=os.environ["API_KEY"])

cursor = "*"
while cursor:
    page = list_entries.sync(client=api, cursor=cursor, status="accepted")
    if page is None or isinstance(page, Problem):
        raise SystemExit(f"{page.code}: {page.detail}" if page else "the response has an unknown status")
    for entry in page.data:
        print(entry.id, entry.created_at, len(entry.answers))
    cursor = page.field_metadata.next_cursor
