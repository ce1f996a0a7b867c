"""A database with estimates of each kind."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from support.counted import count_routers
from support.databases import Server

from api.conftest import Served, serving
from api.database import T0
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.estimates import store as estimate_store
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_db.runs import store as runs
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run, RunStep

RUNS = 10
#: Its folders name its owner; whoever sees pseudonyms knows it as amg.
EXE = "/home/eve/bin/amg"
PEOPLE = ("ann", "bob", "eve")
SERVES = {
    "forecaster": "ridge",
    "m": 2,
    "k": 3,
    "features": "app",
    "mape": 7.5,
    "coverage90": 0.9,
    "why": "least error on held-out runs",
}
RESTS = {
    "forecaster": "attention alone",
    "mape": 7.0,
    "learned": 6,
    "runs": 4,
    "inputs": [
        {"name": name, "meaning": "stalls on the row bus", "features": [name], "increase": 2.0, "low": low, "high": 3.0, "verdict": verdict}
        for name, low, verdict in (("RT_RB_STL", 1.0, "carries"), ("RT_FLIT_TOT", -1.0, "cannot tell"))
    ],
    "weights": [{"forecaster": "attention alone", "mean": [0.4, 0.6], "low": [0.3, 0.5], "high": [0.5, 0.7]}],
}  # fmt: skip


def head(kind: str, **more) -> estimate_store.Estimate:
    data = {"runs": RUNS, "steps": 6, "first_s": T0, "last_s": T0 + 9000}
    given = {"parameters": {"alpha": 0.05}, "score": {}, "result": {}, **more}
    return estimate_store.Estimate(kind, EXE, 128, "0.1", data=data, simulated=True, **given)


def blame_entry(name: str, place: int) -> estimate_store.Entry:
    testable = name != "eve"
    body = {
        "own": False,
        "score": 5.0 - place,
        "sign": 1,
        "p": 0.01 * place if testable else None,
        "q": 0.02 * place if testable else None,
        "testable": testable,
        "reason": None if testable else "exposed in 2 runs, needs 5",
        "exposed_runs": 5,
        "selected": 1 if place == 1 else None,
        "mi_bits": 0.2,
        "mi_sign": 1,
        "mi_p": 0.02,
        "mi_q": None,
    }
    if testable:
        body |= {"verdict": "named", "reasons": ["q = 0.02"], "effect_s": 30.0}
    return estimate_store.Entry(name, body, [0.5] * RUNS, [float(place)] * RUNS)


def relevance(mape: float) -> dict:
    figures = {"relevance": [0.1, 0.9], "relevance_spread": [0.0, 0.1], "rank": [5.0, 1.0], "rank_spread": [1.0, 0.0]}
    return {**figures, "mape": mape, "mape_spread": 0.5, "baseline_mape": 20.0, "row_split_mape": None, "folds": 10}


@pytest.fixture(scope="module")
def estimated(_embedded_template: Server) -> Iterator[tuple[Served, dict]]:
    """A site with runs, one of them running, and an estimate of each kind."""
    url = _embedded_template.create()
    now = time.time()
    with connect(url, role="writer") as conn:
        fabric = build_dragonfly(2, 2, 4, name="toy")
        fabric_id = fabrics.save_fabric(conn, fabric)
        add_measured_machine(conn)
        known = {"cluster": "c", "nodes": 128, "simulated": True, "account": None, "partition": None}
        made = [
            Job(
                job_id=str(n),
                user="ann",
                name="amg",
                state="COMPLETED",
                start_s=now - 9000 + n,
                end_s=now - 8000 + n,
                node_list="nid00000,nid00001",
                **known,
            )
            for n in range(4)
        ]
        made += [
            Job(
                job_id="77",
                user="ann",
                name="amg",
                state="RUNNING",
                start_s=now - 60,
                node_list="nid00000,nid00001",
                **known,
            ),
            Job(
                job_id="78", user="bob", name="vasp", state="RUNNING", start_s=now - 500, node_list="nid00002", **known
            ),
        ]
        jobs.upsert_jobs(conn, made, fabric_id)
        _stall(conn, fabric_id, int(now) // 60 * 60 - 60)
        ids = []
        for n in range(RUNS):
            run = Run(
                run_key=f"a{n}",
                exe=EXE,
                job_id="77" if n == 9 else None,
                start_s=now - 60 if n == 9 else T0 + 1000 * n,
                ranks=tuple(range(128)),
                simulated=True,
            )
            ids.append(runs.upsert_run(conn, run))
            steps = range(3 if n == 9 else 6)
            runs.upsert_steps(conn, ids[-1], [RunStep(step, np.full(128, (10 + step) * 10**9)) for step in steps])
        columns = {
            "run_id": ids,
            "start_s": [T0 + 1000 * n for n in range(RUNS)],
            "time_s": [60.0 + n for n in range(RUNS)],
            "slow": [n > 4 for n in range(RUNS)],
        }
        method = {
            "name": "exposure",
            "strata": "hour and weekend",
            "response": "rank",
            "alpha": 0.05,
            "least_nodes": 128,
            "min_exposed": 5,
            "beside": "mi",
        }
        blame = head("blame", result={"runs": columns, "method": method, "caveat": "not proof"}, score={"found": 2})
        ranked = [blame_entry(name, place) for place, name in enumerate(PEOPLE, 1)]
        numbers = {
            "blame": estimate_store.save_estimate(
                conn, blame, {"user": ranked, "application": [blame_entry("vasp", 1)]}
            )
        }
        found = {"counters": ["RT_FLIT_TOT", "RT_RB_STL"], "rates": relevance(6.0), "deltas": relevance(3.0)}
        numbers["deviation"] = estimate_store.save_estimate(conn, head("deviation", result=found))
        tested = {
            "m": 2,
            "k": 3,
            "features": "app",
            "mape": {"ridge": 7.5, "ratio": 8.0},
            "gain": None,
            "coverage90": 0.9,
            "best": "ridge",
            "runs": 10,
            "windows": 30,
        }
        forecast = {"serves": SERVES, "backtests": [tested], "curve_s": [10.0, 11, 12, 13, 14, 15], "notes": []}
        forecast |= {"rests_on": [RESTS], "rests_on_lacks": None}
        numbers["forecast"] = estimate_store.save_estimate(
            conn, head("forecast", result=forecast), models={2: b"weights"}
        )
        for kind, number in numbers.items():
            estimate_store.set_state(conn, kind, EXE, 128, runs=RUNS, newest_run=ids[-1], estimate_id=number)
        for after, expected in ((2, 45.0), (3, 50.0)):
            usual = [10.0 + after + at for at in range(3)]
            estimate_store.save_forecast(
                conn,
                estimate_store.Forecast(
                    ids[-1],
                    after,
                    3,
                    numbers["forecast"],
                    "ridge",
                    expected,
                    expected - 5,
                    expected + 6,
                    sum(usual),
                    usual,
                ),
            )
        drift = {
            "checked": datetime.now(UTC).isoformat(),
            "forecasts": 4,
            "coverage90": 0.75,
            "mape": 9.0,
            "psi": {"time": 0.1},
            "drifting": False,
            "why": None,
        }
        estimate_store.set_drift(conn, EXE, 128, drift)
    with serving(Settings(db=url, web=None)) as served:
        yield served, {**numbers, "runs": ids, "url": url}
    _embedded_template.drop(url)


def _stall(conn, fabric_id: int, minute: int) -> None:
    """The first router stalls, the others do not."""
    values = np.full((4, len(ROUTER_COLUMNS)), np.nan)
    values[:, ROUTER_COLUMNS.index("rt_flits")] = 100.0
    values[:, ROUTER_COLUMNS.index("rt_stall_cycles")] = [300.0, 100, 100, 100]
    count_routers(conn, fabric_id, minute, values)


def add_measured_machine(conn: Any) -> None:
    """Add a fabric without routers that is not simulated. On a site with such a machine, callers without scope `names` get pseudonyms."""
    conn.execute(
        "INSERT INTO fabric (name, kind, technology, counted_at) VALUES ('measured', 'graph', 'generic', 'receiver')"
    )
