"""Answers as tables: rows as dictionaries with the standard library alone, Arrow, pandas and Polars where they are installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

#: Kinds of columns by Arrow's names; a list has its items' kind in angle brackets.
TEXT, YES_NO, INTEGER, NUMBER, TIME = "string", "bool", "int64", "double", "timestamp"
LIST = "list<{}>"


class Table:
    """A table of an answer.

    Any library that reads Arrow's C stream (pandas, Polars, DuckDB) takes it as it is, where pyarrow is installed.

    Parameters
    ----------
    kinds : mapping
        Kind of each column, in order.
    values : mapping
        Values of each column, None where there is none; times are datetimes.
    arrow : pyarrow.Table, optional
        The same, where the answer came as Arrow.
    """

    def __init__(
        self, kinds: Mapping[str, str], values: Mapping[str, Sequence[Any]], arrow: pa.Table | None = None
    ) -> None:
        self._kinds, self._values, self._arrow = dict(kinds), values, arrow

    @classmethod
    def of_arrow(cls, arrow: pa.Table) -> Table:
        """Take an Arrow table as it is."""
        return cls(dict.fromkeys(arrow.column_names, ""), {}, arrow)

    @property
    def arrow(self) -> pa.Table:
        """The table as Arrow.

        Raises
        ------
        ImportError
            pyarrow is not installed: `pip install flitwatch-client[arrow]`.
        """
        if self._arrow is None:
            check_installed("pyarrow", "arrow")
            import pyarrow as pa

            arrays = [pa.array(self._values[name], _arrow_kind(kind)) for name, kind in self._kinds.items()]
            self._arrow = pa.table(arrays, names=list(self._kinds))
        return self._arrow

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.arrow.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        if self._arrow is not None:
            return int(self._arrow.num_rows)
        return len(next(iter(self._values.values()), ()))

    def __getitem__(self, column: str) -> pa.ChunkedArray:
        return self.arrow[column]

    def __repr__(self) -> str:
        shown = "\n".join(str(row) for row in self.to_pylist()[:4])
        return f"{len(self)} rows\n{shown}" if len(self) else f"no rows\n{', '.join(self.columns)}"

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._kinds)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Rows as dictionaries."""
        if self._arrow is not None:
            return list(self._arrow.to_pylist())
        columns = [self._values[name] for name in self._kinds]
        return [dict(zip(self._kinds, row, strict=True)) for row in zip(*columns, strict=True)]

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame.

        Raises
        ------
        ImportError
            pandas is not installed: `pip install flitwatch-client[pandas]`.
        """
        check_installed("pandas", "pandas")
        if find_spec("pyarrow") is not None:
            return self.arrow.to_pandas()
        import pandas

        return pandas.DataFrame({name: list(self._values[name]) for name in self._kinds})

    def to_polars(self) -> polars.DataFrame:
        """A Polars DataFrame.

        Raises
        ------
        ImportError
            Polars or pyarrow is not installed: `pip install flitwatch-client[polars]`.
        """
        check_installed("polars", "polars")
        import polars

        frame = polars.from_arrow(self.arrow)
        assert isinstance(frame, polars.DataFrame)
        return frame


def check_installed(library: str, extra: str) -> None:
    """Raise ImportError with the command that installs a library, where it is absent."""
    if find_spec(library) is None:
        raise ImportError(f"{library} is not installed; install it with: pip install flitwatch-client[{extra}]")


def of_rows(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> Table:
    """Rows of JSON as a table with these columns, also where there is no row.

    Parameters
    ----------
    rows : iterable of mappings
        A key that is missing is null; keys that `columns` does not name are left out.
    columns : mapping of names to kinds
    """
    row_list = list(rows)
    return Table(
        columns, {name: [_convert_value(row.get(name), kind) for row in row_list] for name, kind in columns.items()}
    )


def _convert_value(value: Any, kind: str) -> Any:
    if isinstance(value, str) and kind == TIME:
        return datetime.fromisoformat(value)
    return value


def _arrow_kind(kind: str) -> pa.DataType:
    import pyarrow as pa

    if kind == TIME:
        return pa.timestamp("us", tz="UTC")
    if kind.startswith("list<"):
        return pa.list_(_arrow_kind(kind[5:-1]))
    return pa.type_for_alias(kind)
