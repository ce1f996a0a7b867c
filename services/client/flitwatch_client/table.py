"""Answers as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas
    import polars

TIME = pa.timestamp("us", tz="UTC")


class Table:
    """A table of an answer.

    Any library that reads Arrow's C stream (pandas, Polars, DuckDB) takes it as it is.

    Attributes
    ----------
    arrow : pyarrow.Table
    """

    def __init__(self, arrow: pa.Table) -> None:
        self.arrow = arrow

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.arrow.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __getitem__(self, column: str) -> pa.ChunkedArray:
        return self.arrow[column]

    def __repr__(self) -> str:
        return (
            f"{len(self)} rows\n{self.arrow.to_string(preview_cols=4)}"
            if len(self)
            else f"no rows\n{self.arrow.schema.to_string()}"
        )

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.arrow.column_names)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Rows as dictionaries."""
        return list(self.arrow.to_pylist())

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame.

        Raises
        ------
        ImportError
            pandas is not installed: `pip install flitwatch-client[pandas]`.
        """
        _require_library("pandas")
        return self.arrow.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """A Polars DataFrame.

        Raises
        ------
        ImportError
            Polars is not installed: `pip install flitwatch-client[polars]`.
        """
        _require_library("polars")
        import polars

        frame = polars.from_arrow(self.arrow)
        assert isinstance(frame, polars.DataFrame)
        return frame


def _require_library(library: str) -> None:
    import importlib.util

    if importlib.util.find_spec(library) is None:
        raise ImportError(f"{library} is not installed; install it with: pip install flitwatch-client[{library}]")


def of_rows(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, pa.DataType]) -> Table:
    """Rows of JSON as a table with these columns, also where there is no row.

    Parameters
    ----------
    rows : iterable of mappings
        A key that is missing is null; keys that `columns` does not name are left out.
    columns : mapping of names to types
    """
    row_list = list(rows)
    arrays = [
        pa.array([_convert_value(row.get(name), kind) for row in row_list], kind) for name, kind in columns.items()
    ]
    return Table(pa.table(arrays, names=list(columns)))


def _convert_value(value: Any, kind: pa.DataType) -> Any:
    if isinstance(value, str) and pa.types.is_timestamp(kind):
        return datetime.fromisoformat(value)
    return value
