"""Every query of the Grafana dashboards runs as the reader on a migrated database, and the provisioning names what exists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from flitwatch_db import connect

FOLDER = Path(__file__).resolve().parents[2] / "services" / "grafana"
DASHBOARDS = sorted((FOLDER / "dashboards").glob("*.json"))
SPAN = ("now() - interval '6 hours'", "now()")


def expanded(sql: str) -> str:
    """The query as Grafana's macros make it."""
    while "$__timeFilter(" in sql:
        before, _, rest = sql.partition("$__timeFilter(")
        column, _, after = rest.partition(")")
        sql = f"{before}{column} BETWEEN {SPAN[0]} AND {SPAN[1]}{after}"
    return sql.replace("$__timeFrom()", SPAN[0]).replace("$__timeTo()", SPAN[1]).replace("${fabric}", "1")


def queries(dashboard: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = [(p["title"], p["type"], t["rawSql"]) for p in dashboard["panels"] for t in p["targets"]]
    return found + [(v["name"], "variable", v["query"]) for v in dashboard["templating"]["list"]]


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_every_query_runs_as_the_reader(embedded_db: str, path: Path) -> None:
    dashboard = json.loads(path.read_text())
    assert dashboard["uid"] == f"flitwatch-{path.stem}" and dashboard["panels"]
    for title, kind, sql in queries(dashboard):
        with connect(embedded_db, role="reader") as conn:
            cursor = conn.execute(expanded(sql).encode())
            columns = [column.name for column in cursor.description or ()]
        assert kind != "timeseries" or columns[0] == "time", title
        assert kind != "variable" or columns == ["__text", "__value"], title


def test_the_panels_ask_the_datasource_that_is_provisioned() -> None:
    source = yaml.safe_load((FOLDER / "provisioning" / "datasources" / "flitwatch.yaml").read_text())["datasources"][0]
    assert "flitwatch" not in source["secureJsonData"]["password"]
    for path in DASHBOARDS:
        for panel in json.loads(path.read_text())["panels"]:
            assert {panel["datasource"]["uid"], *(t["datasource"]["uid"] for t in panel["targets"])} == {source["uid"]}
