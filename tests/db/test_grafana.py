"""Every query of the Grafana dashboards runs as the reader on a migrated database; long windows read sums; each file is ready to be imported."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml

from flitwatch_db import connect
from flitwatch_db.counters import rollups
from flitwatch_db.counters import store as counters
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_domain.generators import build_dragonfly

FOLDER = Path(__file__).resolve().parents[2] / "services" / "grafana"
DASHBOARDS = sorted((FOLDER / "dashboards").glob("*.json"))
#: What Grafana's import needs of a dashboard, and a reader of a panel.
SCHEMA = {
    "type": "object",
    "required": ["uid", "title", "description", "schemaVersion", "links", "templating", "panels"],
    "properties": {
        "uid": {"type": "string", "pattern": "^flitwatch-"},
        "description": {"type": "string", "minLength": 20},
        "schemaVersion": {"type": "integer", "minimum": 39},
        "links": {"type": "array", "minItems": 1, "items": {"required": ["title", "url"]}},
        "panels": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/panel"}},
    },
    "$defs": {
        "source": {
            "const": {"type": "grafana-postgresql-datasource", "uid": "${datasource}"},
        },
        "panel": {
            "required": ["id", "title", "description", "type", "datasource", "gridPos", "fieldConfig", "targets"],
            "properties": {
                "description": {"type": "string", "minLength": 20},
                "type": {"enum": ["timeseries", "table", "stat"]},
                "datasource": {"$ref": "#/$defs/source"},
                "gridPos": {"required": ["h", "w", "x", "y"]},
                "fieldConfig": {
                    "properties": {
                        "defaults": {
                            "required": ["unit", "noValue", "thresholds"],
                            "properties": {
                                "thresholds": {
                                    "required": ["mode", "steps"],
                                    "properties": {"steps": {"type": "array", "minItems": 1}},
                                }
                            },
                        }
                    }
                },
                "targets": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "required": ["refId", "rawSql", "format"],
                        "properties": {"datasource": {"$ref": "#/$defs/source"}},
                    },
                },
            },
        },
    },
}


def expanded(sql: str, hours: float = 6) -> str:
    """Return the query as Grafana's macros make it, for a window that ends now."""
    span = (f"now() - interval '{hours} hours'", "now()")
    while "$__timeFilter(" in sql:
        before, _, rest = sql.partition("$__timeFilter(")
        column, _, after = rest.partition(")")
        sql = f"{before}{column} BETWEEN {span[0]} AND {span[1]}{after}"
    return sql.replace("$__timeFrom()", span[0]).replace("$__timeTo()", span[1]).replace("${fabric}", "1")


def queries(dashboard: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = [(p["title"], p["type"], t["rawSql"]) for p in dashboard["panels"] for t in p["targets"]]
    return found + [
        (v["name"], "variable", v["query"]) for v in dashboard["templating"]["list"] if v["type"] == "query"
    ]


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


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_can_be_imported_as_it_is(path: Path) -> None:
    dashboard = json.loads(path.read_text())
    jsonschema.validate(dashboard, SCHEMA)
    (source,) = (one for one in dashboard["templating"]["list"] if one["type"] == "datasource")
    provisioned = yaml.safe_load((FOLDER / "provisioning" / "datasources" / "flitwatch.yaml").read_text())
    (held,) = provisioned["datasources"]
    assert source["name"] == "datasource" and source["query"] == held["type"]
    assert "flitwatch" not in held["secureJsonData"]["password"]


@pytest.fixture
def counted(embedded_db: str) -> str:
    """Ten days of two groups: group 1 waits three times as long as it sends, group 0 as long."""
    machine = build_dragonfly(
        2, 2, 2, endpoints_per_router=1, blue_routers=2, blue_cables=1, black_cables=1, name="machine"
    )
    routers = len(machine.routers)
    until_s = int(time.time()) // 7200 * 7200
    times = np.arange(until_s - 10 * 86_400, until_s, 3600)
    values = np.full((routers, len(ROUTER_COLUMNS)), np.nan)
    group = np.array(machine.routers.group)
    for name, value in (("rt_flits", np.full(routers, 60.0)), ("rt_stall_cycles", 60.0 + 120.0 * group)):
        values[:, ROUTER_COLUMNS.index(name)] = value
    with connect(embedded_db, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, machine)
        rows = counters.Rows(
            np.full(routers * len(times), fabric_id, np.int32),
            np.tile(np.arange(routers, dtype=np.int32), len(times)),
            np.repeat(times, routers),
            np.full(routers * len(times), 60, np.int32),
            np.full(routers * len(times), 60.0),
            np.tile(values, (len(times), 1)),
        )
        counters.write_batch(conn, counters.Batch(routers=rows), {"1m": 60, "1h": 3600})
    with connect(embedded_db, role="keeper", autocommit=True) as conn:
        assert rollups.roll_up_hours(conn, settled_s=0) > 0
    return embedded_db


def test_a_long_window_reads_sums_and_says_the_same(counted: str) -> None:
    panels = {one["id"]: one["targets"][0]["rawSql"] for one in json.loads(DASHBOARDS[0].read_text())["panels"]}
    tables = {5: "router_1m", 100: "fabric_5m", 240: "fabric_2h"}
    with connect(counted, role="reader") as conn:
        for hours, table in tables.items():
            ratios = conn.execute(expanded(panels[1], hours).encode()).fetchall()
            assert ratios and {round(ratio, 6) for _, ratio in ratios} == {2.0}
            groups = conn.execute(expanded(panels[3], hours).encode()).fetchall()
            assert {(name, round(ratio, 6)) for _, name, ratio in groups} == {("group 0", 1.0), ("group 1", 3.0)}
            plan = "\n".join(
                row[0] for row in conn.execute(b"EXPLAIN (ANALYZE, COSTS OFF) " + expanded(panels[3], hours).encode())
            )
            scanned = [line for line in plan.splitlines() if " on " in line and "never executed" not in line]
            assert {name for name in tables.values() if any(name in line for line in scanned)} == {table}
