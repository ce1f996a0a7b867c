"""The first looks at a job that another slows a minute after its start, at any second of a minute, with counters that arrive later than steps."""

from __future__ import annotations

from typing import Any

import pytest

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import explanation
from flitwatch_db.jobs.incident import running_with_steps
from flitwatch_research.incidents.site import Feed
from flitwatch_twin.cluster import Cluster
from flitwatch_twin.spec import TwinSpec, load_spec

BEGIN_S = 1_796_065_440
#: Times of the looks. From the second on, both jobs have had a slow step.
LOOKS_S, BOTH_SLOW_S = range(120, 165, 5), 135


def demo(aggressor: bool) -> TwinSpec:
    """The demo machine, with its aggressor at second 90 or without it."""
    spec = load_spec("demo")
    (planted,) = spec.interference
    planted = planted.model_copy(update={"first_s": 90, "lasts_s": 900, "every_s": 2000})
    return spec.model_copy(update={"interference": (planted,) if aggressor else ()})


@pytest.mark.system("numeric")
@pytest.mark.parametrize(("phase_s", "late_s"), [(7, 20), (7, 0), (37, 20)])
@pytest.mark.parametrize("aggressor", [True, False])
def test_they_name_the_culprit_or_nobody(embedded_db: str, phase_s: int, late_s: int, aggressor: bool) -> None:
    spec, epoch_s = demo(aggressor), BEGIN_S + phase_s
    with connect(embedded_db, role="writer") as conn:
        past = Cluster(spec, 1, first_job=1000, day=7)
        fabric_id = fabrics.save_fabric(conn, past.fabric)
        before = Feed(conn, past, epoch_s - 3600, fabric_id)
        before.march(3600)
        before.close()
        cluster = Cluster(spec, 1, first_job=9000, day=1)
        feed = Feed(conn, cluster, epoch_s, fabric_id, late_s=late_s)
        said: list[tuple[int, str, str, list[Any]]] = []
        for second in LOOKS_S:
            feed.march(second - cluster.time_s)
            feed.flush()
            for job in running_with_steps(conn, fabric_id, float(epoch_s + second)):
                answer = explanation.explain_job(conn, job, float(epoch_s + second))
                named = [one["nodes"] for one in answer["candidates"] if one["named"]]
                said.append((second, job["name"], answer["verdict"], named))
    by_verdict = {verdict: [look for look in said if look[2] == verdict] for _, _, verdict, _ in said}
    assert "slows itself" not in by_verdict, said
    named = by_verdict.get("named", [])
    assert all(nodes == [320] for *_, nodes in named), named
    assert bool(named) == aggressor, said
    if aggressor:
        assert all(verdict == "named" for second, _, verdict, _ in said if second >= BOTH_SLOW_S), said
