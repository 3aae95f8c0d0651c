"""Reads the exports in this folder with DuckDB, pandas, pyarrow and GDAL, as their manuals say. Prints a line of JSON for
each: the file, the reader and the rows. Missing values are left out of rows."""

import datetime
import json
import math
from glob import glob

import duckdb
import geopandas
import pandas
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


def layer(read, name):
    frame = read(name)
    assert frame.crs.to_string() in ("EPSG:4326", "OGC:CRS84"), frame.crs
    return by_pandas(frame)


# Every column of CSV is text here. An empty text is in quotes, a missing value is not.
TEXTS = "all_varchar = true, allow_quoted_nulls = false"


# By default pandas rounds numbers, and makes times and numbers of texts.
AS_WRITTEN = {"lines": True, "dtype": False, "convert_dates": False, "precise_float": True}


def csv_by_pyarrow(name):
    with open(name, encoding="utf-8") as file:
        columns = file.readline().strip().split(",")
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


READERS = {
    "csv": {
        "duckdb": lambda name: by_duckdb(f"FROM read_csv('{name}', {TEXTS})"),
        "pandas": lambda name: by_pandas(pandas.read_csv(name, dtype=str, keep_default_na=False)),
        "pyarrow": csv_by_pyarrow,
    },
    "ndjson": {
        "duckdb": lambda name: by_duckdb(f"FROM read_json('{name}', format = 'newline_delimited')"),
        "pandas": lambda name: by_pandas(pandas.read_json(name, **AS_WRITTEN)),
        "pyarrow": lambda name: pyarrow.json.read_json(name).to_pylist(),
    },
    "parquet": {
        "duckdb": lambda name: by_duckdb(f"FROM '{name}'"),
        "pandas": lambda name: by_pandas(pandas.read_parquet(name)),
        "pyarrow": lambda name: pyarrow.parquet.read_table(name).to_pylist(),
    },
}
LAYERS = {
    "entries.geojson": {"geopandas": lambda name: layer(geopandas.read_file, name)},
    "entries.parquet": {"geopandas": lambda name: layer(geopandas.read_parquet, name)},
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


for name in sorted(glob("*.*")):
    readers = {**READERS.get(name.rpartition(".")[2], {}), **LAYERS.get(name, {})}
    for reader, read in readers.items():
        result = {"file": name, "reader": reader, "rows": []}
        try:
            result["rows"] = [plain(row) for row in read(name)]
        except Exception as error:
            result["error"] = repr(error)
        print(json.dumps(result))
