"""Results as tables: dictionaries with only the standard library; Arrow, pandas and Polars if installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas
    import polars
    import pyarrow as pa

#: Column kinds with Arrow's names. A list has its items' kind in angle brackets.
TEXT, YES_NO, INTEGER, NUMBER, TIME = "string", "bool", "int64", "double", "timestamp"
LIST = "list<{}>"
#: Rows shown in a notebook, and maximum lines of a plot.
SHOWN, LINES = 10, 20


class Table:
    """Table of results.

    Any library that reads Arrow's C stream (pandas, Polars, DuckDB) accepts it directly if pyarrow is installed.

    Parameters
    ----------
    kinds : mapping
        Kind of each column, in order.
    values : mapping
        Values of each column, None if there is none; times are datetimes.
    arrow : pyarrow.Table, optional
        The same data, if the API returned Arrow.
    """

    def __init__(
        self, kinds: Mapping[str, str], values: Mapping[str, Sequence[Any]], arrow: pa.Table | None = None
    ) -> None:
        self._kinds, self._values, self._arrow = dict(kinds), values, arrow

    @classmethod
    def of_arrow(cls, arrow: pa.Table) -> Table:
        """Wrap an Arrow table."""
        return cls(dict.fromkeys(arrow.column_names, ""), {}, arrow)

    @property
    def arrow(self) -> pa.Table:
        """Return the table as Arrow.

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

    def _repr_html_(self) -> str:
        """Return the first rows as HTML for a notebook."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_format_cell(value)}</td>" for value in row.values()) + "</tr>"
            for row in self.to_pylist()[:SHOWN]
        )
        more = f", the first {SHOWN} shown" if len(self) > SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{len(self)} rows{more}</p>"

    def plot(
        self,
        x: str | None = None,
        y: str | Sequence[str] | None = None,
        *,
        by: str | None = None,
        ax: matplotlib.axes.Axes | None = None,
    ) -> matplotlib.axes.Axes:
        """Draw columns over another one with Matplotlib. Unknown values leave gaps.

        Parameters
        ----------
        x : str, optional
            A column; default: the first column of times, or the first column.
        y : str or sequence of str, optional
            Columns of numbers; default: the last one.
        by : str, optional
            One line for each value of this column, such as `router`.
        ax : matplotlib Axes, optional
            Axes to draw on; default: a new figure.

        Raises
        ------
        ImportError
            Matplotlib is not installed: `pip install flitwatch-client[plot]`.
        ValueError
            A column is not in the table, nothing can be drawn, or `by` has more than 20 values.
        """
        check_installed("matplotlib", "plot")
        from matplotlib import pyplot

        rows = self.to_pylist()
        numbers = [name for name in self.columns if any(_is_number(row[name]) for row in rows)]
        times = [name for name in self.columns if any(isinstance(row[name], datetime) for row in rows)]
        x = x or next(iter(times or self.columns))
        chosen = [y] if isinstance(y, str) else list(y or [name for name in numbers if name not in (x, by)][-1:])
        for name in (x, *chosen, *([by] if by else [])):
            if name not in self.columns:
                raise ValueError(f"the table has no column {name}; it has {', '.join(self.columns)}")
        if not chosen:
            raise ValueError(f"there is nothing to draw: {len(rows)} rows without a column of numbers")
        values = list(dict.fromkeys(row[by] for row in rows)) if by else [None]
        if len(values) > LINES:
            raise ValueError(f"{by} has {len(values)} values; draw at most {LINES} lines")
        axes = ax if ax is not None else pyplot.subplots()[1]
        for value in values:
            part = [row for row in rows if by is None or row[by] == value]
            for name in chosen:
                label = " ".join([name, *([f"{by} {value}"] if by else [])])
                heights = [float("nan") if row[name] is None else row[name] for row in part]
                axes.plot([row[x] for row in part], heights, label=label)
        axes.set_xlabel(x)
        if len(values) * len(chosen) > 1:
            axes.legend()
        else:
            axes.set_ylabel(chosen[0])
        return axes

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._kinds)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        if self._arrow is not None:
            return list(self._arrow.to_pylist())
        columns = [self._values[name] for name in self._kinds]
        return [dict(zip(self._kinds, row, strict=True)) for row in zip(*columns, strict=True)]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas DataFrame.

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
        """Return a Polars DataFrame.

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


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _format_cell(value: Any) -> str:
    if value is None:
        return "unknown"
    return escape(f"{value:.6g}" if isinstance(value, float) else str(value))


def check_installed(library: str, extra: str) -> None:
    """Raise ImportError with the install command if a library is missing."""
    if find_spec(library) is None:
        raise ImportError(f"{library} is not installed; install it with: pip install flitwatch-client[{extra}]")


def of_rows(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> Table:
    """Return JSON rows as a table with these columns, even without rows.

    Parameters
    ----------
    rows : iterable of mappings
        Missing keys are null; keys that are not in `columns` are left out.
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
