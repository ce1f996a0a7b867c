"""Tables of the client without an API: as HTML for notebooks, and drawn."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from flitwatch.client_reference import render_client
from flitwatch_client import table
from flitwatch_client.table import INTEGER, NUMBER, TEXT, TIME, Table

ROOT = Path(__file__).resolve().parents[2]
KINDS = {"ts": TIME, "router": INTEGER, "ratio": NUMBER, "name": TEXT}


@pytest.fixture
def stalls() -> Table:
    times = [datetime.fromtimestamp(60 * minute, UTC) for minute in range(6)]
    return Table(
        KINDS, {"ts": times * 2, "router": [1] * 6 + [2] * 6, "ratio": [0.5, None, 1.0] * 4, "name": ["<b>"] * 12}
    )


def test_a_notebook_shows_the_first_rows_and_says_how_many_there_are(stalls: Table) -> None:
    page = stalls._repr_html_()
    assert page.count("<tr>") == 1 + table.SHOWN and "12 rows, the first 10 shown" in page
    assert "&lt;b&gt;" in page and "<b>" not in page and "<td>unknown</td>" in page
    assert "<td></td>" not in Table(KINDS, {name: [] for name in KINDS})._repr_html_()


def test_a_plot_has_a_line_for_each_value_and_gaps_where_nothing_is_known(stalls: Table) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = stalls.plot(by="router")
    assert [line.get_label() for line in axes.get_lines()] == ["ratio router 1", "ratio router 2"]
    (first, _) = axes.get_lines()
    heights = [float(height) for height in first.get_ydata()]
    assert heights[0] == 0.5 and heights[1] != heights[1] and axes.get_xlabel() == "ts"
    single = stalls.plot("router", "ratio", ax=axes)
    assert single is axes


def test_what_cannot_be_drawn_is_said(stalls: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="no column nonsense; it has ts, router"):
        stalls.plot(y="nonsense")
    with pytest.raises(ValueError, match="nothing to draw"):
        Table({"name": TEXT}, {"name": ["a"]}).plot()
    monkeypatch.setattr(table, "LINES", 1)
    with pytest.raises(ValueError, match="router has 2 values"):
        stalls.plot(by="router")


def test_the_library_that_draws_is_named_where_it_is_absent(stalls: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> Any:
        return None

    monkeypatch.setattr(table, "find_spec", find)
    with pytest.raises(ImportError, match=r"pip install flitwatch-client\[plot\]"):
        stalls.plot()


def test_the_reference_is_what_the_client_says() -> None:
    assert (ROOT / "docs" / "client.md").read_text() == render_client(), "run `make reference`"
