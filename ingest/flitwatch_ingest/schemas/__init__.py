"""Row schemas of LDMS: the columns of a record, and its counters."""

from flitwatch_ingest.schemas.avro import avro_schema
from flitwatch_ingest.schemas.charts import Claims, chart_arrays
from flitwatch_ingest.schemas.json_rows import json_schema
from flitwatch_ingest.schemas.rows import MOST_COLUMNS, Column, RowKind, RowSchema

__all__ = [
    "MOST_COLUMNS",
    "Claims",
    "Column",
    "RowKind",
    "RowSchema",
    "avro_schema",
    "chart_arrays",
    "json_schema",
]
