"""Reads the exports in this folder with programs, as their manuals say. Prints a line of JSON for each: the file, the reader
and the rows. Missing values are left out of rows."""

import csv
import datetime
import json
import math
import subprocess
import tempfile
from glob import glob

import duckdb
import geopandas
import openpyxl
import pandas
import polars
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

database = duckdb.connect()
database.execute("SET TimeZone = 'UTC'")


def by_duckdb(sql):
    rows = database.execute(sql)
    names = [name for name, *_ in rows.description]
    return [dict(zip(names, row)) for row in rows.fetchall()]


def by_pandas(frame):
    return frame.to_dict("records")


def layer(read, name, **options):
    frame = read(name, **options)
    assert frame.crs.to_string() in ("EPSG:4326", "OGC:CRS84"), frame.crs
    return by_pandas(frame)


# Every column of CSV is text here. An empty text is in quotes, a missing value is not.
TEXTS = "all_varchar = true, allow_quoted_nulls = false"


def csv_by_duckdb(name):
    rows = by_duckdb(f"FROM read_csv('{name}', {TEXTS})")
    # Without options DuckDB may guess other values, but it finds the columns and the rows.
    assert [list(row) for row in by_duckdb(f"FROM '{name}'")] == [list(row) for row in rows]
    return rows


# By default pandas rounds numbers, and makes times and numbers of texts.
AS_WRITTEN = {"lines": True, "dtype": False, "precise_float": True}

# In a cell of a type that pandas chose, an id of digits is a number, and NA is no text.
CELLS = {"dtype": object, "keep_default_na": False, "na_values": [""]}


def by_csv(name):
    with open(name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def csv_by_pyarrow(name):
    with open(name, encoding="utf-8", newline="") as file:
        columns = next(csv.reader(file))
    return pyarrow.csv.read_csv(
        name,
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={column: pyarrow.string() for column in columns},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    ).to_pylist()


def csv_by_polars(name):
    # polars leaves quotes in names doubled.
    frame = polars.read_csv(name, infer_schema=False)
    return frame.rename(lambda column: column.replace('""', '"')).to_dicts()


def by_calamine(name):
    return by_pandas(pandas.read_excel(name, engine="calamine", **CELLS))


def by_openpyxl(name):
    names, *rows = openpyxl.load_workbook(name, read_only=True).active.values
    return [dict(zip(names, row)) for row in rows]


def by_another(*command, suffix=""):
    """A reader of what a program has in its cells, which it writes to another file."""

    def read(name):
        with tempfile.TemporaryDirectory() as folder:
            filled = [word.format(folder=folder, name=name) for word in command]
            subprocess.run(filled, check=True, capture_output=True)
            return by_calamine(f"{folder}/{name}{suffix}")

    return read


SOFFICE = ["soffice", "-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", "xlsx"]


READERS = {
    "csv": {
        "csv": by_csv,
        "duckdb": csv_by_duckdb,
        "geopandas": lambda name: by_pandas(geopandas.read_file(name)),
        "pandas": lambda name: by_pandas(pandas.read_csv(name, dtype=str, keep_default_na=False)),
        "polars": csv_by_polars,
        "pyarrow": csv_by_pyarrow,
    },
    # Otherwise GDAL makes times of texts that look like some.
    "geojson": {"geopandas": lambda name: layer(geopandas.read_file, name, DATE_AS_STRING="YES")},
    # Without the sizes, types are those of the first rows.
    "ndjson": {
        "duckdb": lambda name: by_duckdb(f"FROM read_json('{name}', sample_size = -1)"),
        "pandas": lambda name: by_pandas(pandas.read_json(name, **AS_WRITTEN)),
        "polars": lambda name: polars.read_ndjson(name, infer_schema_length=None).to_dicts(),
        "pyarrow": lambda name: pyarrow.json.read_json(name).to_pylist(),
    },
    "parquet": {
        "duckdb": lambda name: by_duckdb(f"FROM '{name}'"),
        "geopandas": lambda name: layer(geopandas.read_parquet, name),
        "pandas": lambda name: by_pandas(pandas.read_parquet(name)),
        "polars": lambda name: polars.read_parquet(name).to_dicts(),
        "pyarrow": lambda name: pyarrow.parquet.read_table(name).to_pylist(),
    },
    "xlsx": {
        "calamine": by_calamine,
        "geopandas": lambda name: by_pandas(geopandas.read_file(name, HEADERS="FORCE")),
        "gnumeric": by_another("ssconvert", "{name}", "{folder}/{name}.xls", suffix=".xls"),
        "libreoffice": by_another(*SOFFICE, "--outdir", "{folder}", "{name}"),
        "openpyxl": by_openpyxl,
        "pandas": lambda name: by_pandas(pandas.read_excel(name, engine="openpyxl", **CELLS)),
        "polars": lambda name: polars.read_excel(name, infer_schema_length=None).to_dicts(),
    },
}


def plain(value):
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items() if not is_missing(each)}
    if hasattr(value, "geom_type"):
        return [value.x, value.y]
    if isinstance(value, (datetime.datetime, pandas.Timestamp)):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "") + "Z"
    if isinstance(value, (bytes, bytearray)):
        return "bytes"
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [plain(each) for each in value] if isinstance(value, list) else value


def is_missing(value):
    return value is None or value is pandas.NaT or (isinstance(value, float) and math.isnan(value))


# GDAL loses the rest of a row of CSV at a zero byte.
WITH_ZERO_BYTES = {"agents.csv", "answers.csv", "dispatches.csv", "entries.csv"}
WITHOUT_PLACES = {"agents.parquet", "answers.parquet", "dispatches.parquet", "phones.parquet"}

for name in sorted(glob("*.*")):
    for reader, read in READERS[name.rpartition(".")[2]].items():
        if reader == "geopandas" and name in WITH_ZERO_BYTES | WITHOUT_PLACES:
            continue
        result = {"file": name, "reader": reader, "rows": []}
        try:
            result["rows"] = [plain(row) for row in read(name)]
        except Exception as error:
            result["error"] = repr(error)
        print(json.dumps(result))
