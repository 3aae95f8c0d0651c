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


TEXTS = "all_varchar = true, allow_quoted_nulls = false"
# Empty texts are in quotes, missing values are not. pandas does not tell them apart.
PYARROW_CSV = {
    "parse_options": pyarrow.csv.ParseOptions(newlines_in_values=True),
    "convert_options": pyarrow.csv.ConvertOptions(
        null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    ),
}


def pyarrow_csv(name):
    with open(name, encoding="utf-8", newline="") as file:
        columns = file.readline().strip().split(",")
    PYARROW_CSV["convert_options"].column_types = {column: pyarrow.string() for column in columns}
    return pyarrow.csv.read_csv(name, **PYARROW_CSV).to_pylist()


READERS = {
    "csv": {
        "duckdb": lambda name: by_duckdb(f"FROM read_csv('{name}', {TEXTS})"),
        "pandas": lambda name: by_pandas(pandas.read_csv(name, dtype=str, keep_default_na=False)),
        "pyarrow": pyarrow_csv,
    },
    "ndjson": {
        "duckdb": lambda name: by_duckdb(f"FROM read_json('{name}', format = 'newline_delimited')"),
        "pandas": lambda name: by_pandas(pandas.read_json(name, lines=True, dtype=False, convert_dates=False, precise_float=True)),
        "pyarrow": lambda name: pyarrow.json.read_json(name).to_pylist(),
    },
    "parquet": {
        "duckdb": lambda name: by_duckdb(f"FROM '{name}'"),
        "pandas": lambda name: by_pandas(pandas.read_parquet(name)),
        "pyarrow": lambda name: pyarrow.parquet.read_table(name).to_pylist(),
    },
    "layer": {"geopandas": lambda name: by_pandas(layer(name))},
}


def layer(name):
    read = geopandas.read_parquet if name.endswith("parquet") else geopandas.read_file
    frame = read(name)
    assert frame.crs.to_epsg() == 4326 or frame.crs.to_string() == "OGC:CRS84", frame.crs
    return frame


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
    kind = name.rpartition(".")[2]
    readers = dict(READERS.get(kind, {}))
    if name in ("entries.geojson", "entries.parquet"):
        readers.update(READERS["layer"])
    for reader, read in readers.items():
        try:
            result = {"rows": [plain(row) for row in read(name)]}
        except Exception as error:
            result = {"error": repr(error), "rows": []}
        print(json.dumps({"file": name, "reader": reader, **result}))
