"""Row schemas of LDMS: what is in a record, and what of it is counted."""

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
