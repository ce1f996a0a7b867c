"""Routing modes from NIC counters: a significantly better mode, else the default; rows for advice; errors for bad observations."""

from __future__ import annotations

from typing import Any

import pytest
from support.routing_modes import NODES, as_json, observed, stored

from flitwatch_db import connect
from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.network_noise.observations import NicObservation, message_time_s
from flitwatch_simulation.application_aware import choose_mode, choose_placement
from flitwatch_simulation.tasks import HANDLERS


def test_the_faster_mode_is_chosen_with_an_interval_around_the_true_gain() -> None:
    slow, fast = observed(3.0, 2.0), observed(2.0, 1.0, seed=2, pace=1.1)
    choice = choose_mode({"ADAPTIVE_0": slow, "ADAPTIVE_3": fast}, 65_536)
    true = message_time_s(65_536, 2400, 2.0) / message_time_s(65_536, 1600, 1.0)
    assert choice.mode == "ADAPTIVE_3" and choice.low <= true <= choice.high and choice.low > 1
    assert choice.pace == pytest.approx(1.1)


@pytest.mark.parametrize("pace", [0.8, 1.0])
def test_a_mode_under_which_the_job_gets_on_no_faster_is_not_chosen(pace: float) -> None:
    """Means of cards favour it, but the messages that the job waits for do not come sooner."""
    choice = choose_mode({"ADAPTIVE_0": observed(3.0, 2.0), "ADAPTIVE_3": observed(2.0, 1.0, pace=pace)}, 65_536)
    assert choice.best == "ADAPTIVE_3" and choice.low > 1 and choice.mode is None and choice.pace_high <= 1


def test_what_is_not_beyond_doubt_stays_with_the_default() -> None:
    choice = choose_mode({"ADAPTIVE_0": observed(2.0, 1.0, 0.3), "ADAPTIVE_3": observed(1.98, 1.0, 0.3, seed=9)}, 4096)
    assert choice.mode is None and choice.low <= 1 <= choice.high
    worse = choose_mode({"ADAPTIVE_0": observed(2.0, 1.0), "ADAPTIVE_3": observed(4.0, 3.0)}, 4096)
    assert worse.best == "ADAPTIVE_0" and worse.mode is None and worse.factor == 1


def test_heavy_senders_are_spread_and_light_ones_kept_together() -> None:
    light = NicObservation(("n1",), 1.0, 1_000_000, 300_000, 0, 1.0)
    heavy = NicObservation(("n1",), 1.0, 200_000_000, 60_000_000, 0, 1.0)
    assert choose_placement([light]).placement == "contiguous" and choose_placement([heavy]).placement == "random-node"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"FASTEST": observed(1, 1)}, "unknown routing mode 'FASTEST'"),
        ({"ADAPTIVE_3": observed(1, 1, count=2)}, "needs 4"),
        ({"ADAPTIVE_3": [NicObservation(("x",), 1.0, 1, 1, 1, 1.0)] * 4}, "different allocations"),
        ({"ADAPTIVE_3": [NicObservation(tuple(NODES), 1.0, 0, 0, 0, 0.0)] * 4}, "no requests"),
    ],
)
def test_observations_that_cannot_be_compared_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        choose_mode({"ADAPTIVE_0": observed(2, 1), **change}, 4096)


@pytest.mark.parametrize(
    ("nodes", "groups", "words"),
    [
        (NODES[:2], 1, "one group"),
        (["nid00001", "stranger"], None, "unknown"),
        (["stranger"], None, "unknown"),
        (NODES, 2, "Within one group leave ADAPTIVE_0"),
        ([*NODES, "stranger"], 2, "Within one group leave ADAPTIVE_0"),
    ],
)
def test_a_mode_is_recommended_only_from_cards_over_several_groups(
    embedded_db: str, nodes: list[str], groups: int | None, words: str
) -> None:
    stored(embedded_db)
    context = type("Context", (), {"dsn": embedded_db, "task_id": 6, "report": lambda *_: None})()
    ones = {
        "ADAPTIVE_0": as_json(observed(3, 2, nodes=nodes)),
        "ADAPTIVE_3": as_json(observed(2, 1, pace=1.2, nodes=nodes)),
    }
    made = HANDLERS["routing.advice"]({"application": "milc", "observations": ones}, context)
    with connect(embedded_db, role="reader") as conn:
        (row,) = conn.execute(
            "SELECT state, environment, reason, (detail -> 'parameters' ->> 'groups')::int FROM recommendation WHERE kind = 'routing_mode'"
        ).fetchall()
    several = groups is not None and groups > 1
    assert (made["mode"], made["groups"]) == ("ADAPTIVE_3" if several else None, groups)
    assert row[0] == ("recommended" if several else "refused") and row[3] == groups and words in row[2]
    assert row[1] == ("MPICH_GNI_ROUTING_MODE=ADAPTIVE_3" if several else None)


def test_the_task_writes_both_recommendations(embedded_db: str) -> None:
    class Context:
        dsn, task_id = embedded_db, 5

        def report(self, *_: object) -> None:
            pass

        def cancelled(self) -> bool:
            return False

    stored(embedded_db)
    args = {
        "application": "milc",
        "job": "42",
        "user": "ann",
        "message_bytes": 65_536,
        "observations": {"ADAPTIVE_0": as_json(observed(3, 2)), "ADAPTIVE_3": as_json(observed(2, 1, pace=1.2))},
    }
    made = HANDLERS["routing.advice"](args, Context())  # type: ignore[arg-type]
    with connect(embedded_db, role="reader") as conn:
        rows = conn.execute(
            "SELECT kind, state, environment, gain IS NULL, job_id FROM recommendation ORDER BY recommendation_id"
        ).fetchall()
    assert made["mode"] == "ADAPTIVE_3"
    assert rows == [
        ("routing_mode", "recommended", "MPICH_GNI_ROUTING_MODE=ADAPTIVE_3", False, "42"),
        ("placement", "refused", None, True, "42"),
    ]
    for wrong in (
        {"application": None},
        {"observations": []},
        {"observations": {"ADAPTIVE_0": [{"interval_s": -1}]}},
        {"message_bytes": "x"},
    ):
        with pytest.raises(BadInput):
            HANDLERS["routing.advice"]({**args, **wrong}, Context())  # type: ignore[arg-type]
