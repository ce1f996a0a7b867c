"""/metrics shows the findings in the database to authorised callers, and none if none are planted."""

from __future__ import annotations

import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support import planted_cables
from support.counted import count_routers

from api.conftest import serving
from flitwatch.main import main
from flitwatch_alerting.config import read_config
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.alerts.signals import collect_samples
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.runs import store as runs
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.runs import Run

ROOT = Path(__file__).resolve().parents[2]
FOUND = (
    "flitwatch_fabric_",
    "flitwatch_group_",
    "flitwatch_link_class_",
    "flitwatch_recent_gaps",
    "flitwatch_alerts_",
    "flitwatch_job_",
)

pytestmark = pytest.mark.integration


def values(http: httpx.Client) -> dict[tuple[str, ...], float]:
    page = http.get("/metrics", headers={"Accept": "text/plain"})
    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = {}
    for family in text_string_to_metric_families(page.text):
        for sample in family.samples:
            if sample.name.startswith(FOUND):
                found[
                    (sample.name.removeprefix("flitwatch_"), *(value for _, value in sorted(sample.labels.items())))
                ] = sample.value
    if promtool := shutil.which("promtool"):
        checked = subprocess.run(
            [promtool, "check", "metrics"], input=page.text, text=True, capture_output=True, check=False
        )
        assert (checked.returncode, checked.stderr) == (0, "")
    reference = (ROOT / "docs" / "metrics.md").read_text()
    families = {f.name for f in text_string_to_metric_families(page.text) if not f.name.endswith("_created")}
    assert {name for name in families if f"`{name}`" not in reference and f"`{name}_total`" not in reference} == set()
    return found


def plant(url: str) -> None:
    """A dragonfly whose router 0 stalls three cycles per flit and router 1 none; a gap, a firing alert, a run that is forecast to take twice its time."""
    with connect(url) as conn:
        machine = fabrics.save_fabric(conn, replace(build_dragonfly(2), name="new", simulated=False))
        minute = int(time.time()) // 60 * 60 - 120
        columns = np.full((2, len(ROUTER_COLUMNS)), np.nan)
        for name, pair in {
            "rt_flits": (100, 300),
            "rt_stall_cycles": (300, 0),
            "green_flits": (100, 100),
            "green_stall_cycles": (300, 0),
        }.items():
            columns[:, ROUTER_COLUMNS.index(name)] = pair
        count_routers(conn, machine, minute, columns)
        conn.execute(
            "INSERT INTO gap (fabric_id, device, schema, from_ts, to_ts, reason) VALUES (%s, 'r', 's', now() - interval '2 minutes', now(), 'silence')",
            [machine],
        )
        conn.execute(
            "INSERT INTO alert (rule, labels, phase, severity, since, seen, value, peak, summary, evidence)"
            " VALUES ('slow', '{}', 'firing', 'warning', now(), now(), 1, 1, '', '{}'), ('old', '{}', 'resolved', 'warning', now(), now(), 1, 1, '', '{}')"
        )
        run = runs.upsert_run(
            conn, Run(run_key="k", exe="amg", job_id="77", start_s=time.time() - 60, ranks=(0,), nodes=("n",))
        )
        conn.execute(
            "INSERT INTO forecast (run_id, after_steps, ahead, made_at, forecaster, expected_s, low_s, high_s, usual_s, curve_s)"
            " VALUES (%s, 5, 10, now() - interval '9 s', 'attention', 150, 140, 160, 100, '{}'), (%s, 9, 10, now(), 'attention', 200, 140, 260, 100, '{}')",
            [run, run],
        )


@pytest.mark.system("processes")
def test_nothing_is_claimed_where_nothing_is_planted_and_what_is_planted_is_found(embedded_db: str) -> None:
    with serving(Settings(db=embedded_db, api_anonymous="viewer")) as served:
        assert values(served.http) == {}
    plant(embedded_db)
    with serving(Settings(db=embedded_db, api_anonymous="viewer")) as served:
        found = values(served.http)
    groups = {key: value for key, value in found.items() if key[0].startswith("group_")}
    assert {key: value for key, value in found.items() if key not in groups} == {
        ("fabric_stall_ratio", "new", "false"): 0.75,
        ("fabric_congested_ratio", "new", "false"): 0.5,
        ("link_class_stall_ratio", "green", "new", "false"): 1.5,
        ("link_class_congested_ratio", "green", "new", "false"): 0.5,
        ("recent_gaps", "new", "silence"): 1,
        ("alerts_firing", "slow", "warning"): 1,
        ("job_predicted_slowdown_ratio", "amg", "77", "false"): 2,
    }
    assert groups == {
        ("group_stall_ratio", "new", "0", "false"): 0.75,
        ("group_congested_ratio", "new", "0", "false"): 0.5,
    }


@pytest.mark.system("processes")
def test_findings_come_to_whoever_may_see_them(embedded_db: str) -> None:
    plant(embedded_db)
    with serving(Settings(db=embedded_db, api_anonymous="none")) as served:
        assert values(served.http) == {}
        assert "flitwatch_database_up 1.0" in served.http.get("/metrics").text
    with serving(Settings(db=embedded_db, api_anonymous="viewer", api_jobs_below_names="hidden")) as served:
        names = {name for name, *_ in values(served.http)}
    assert "fabric_stall_ratio" in names and "job_predicted_slowdown_ratio" not in names


def test_rest_top_alerts_and_metrics_report_the_same_cables(
    embedded_db: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The page prints what REST says (tests/e2e/test_page.py)."""
    planted_cables.plant(embedded_db)
    now_s = time.time()
    described: dict[str, dict[str, str]] = {fabric: {} for fabric in planted_cables.CONDITIONS}
    with connect(embedded_db, role="reader") as conn:
        for rule in read_config().rules:
            if rule.signal in ("slow_cable", "flapping_cable"):
                for sample in collect_samples(conn, rule, now_s, now_s + rule.every_s):
                    labels = dict(sample.labels)
                    described[labels["fabric"]][labels["cable"]] = rule.described(sample)
    assert described == {
        fabric: {cable: f"Cable {cable} of {fabric}: {condition}" for cable, condition in cables.items()}
        for fabric, cables in planted_cables.CONDITIONS.items()
    }
    with serving(Settings(db=embedded_db)) as api:
        page = httpx.get(f"{api.url}/metrics").text
        for fabric, cables in planted_cables.CONDITIONS.items():
            rows = httpx.get(f"{api.url}/api/v1/fabrics/{fabric}/links/slow").json()["items"]
            assert {f"{row['src_name']} - {row['dst_name']}": row["condition"] for row in rows} == cables
            main(["top", "--url", api.url, "--fabric", fabric])
            printed = capfd.readouterr().out
            assert ("Slow and flapping cables" in printed) == bool(cables)
            assert all(" ".join(condition.split()) in " ".join(printed.split()) for condition in cables.values()), (
                printed
            )
            for kind in ("slow", "flapping"):
                assert (f'flitwatch_{kind}_cables{{fabric="{fabric}"}} 1.0' in page) == bool(cables)
