"""Packet samples in the API: sums by link over contexts and spans."""

from __future__ import annotations

import numpy as np
import pytest

from api.conftest import serving
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.counters.samples import Summary, write_samples
from flitwatch_db.fabrics import store as fabrics
from flitwatch_research.namespaces import figure_214

START_S = 1_795_000_000 // 3600 * 3600


def summary(
    start_s: int, job: str | None, rows: dict[int, list[float]], variant: str = "one-bit", **context
) -> Summary:
    return Summary(
        "figure-2.14",
        "h2",
        job,
        context.get("tag"),
        context.get("phase"),
        start_s,
        4,
        variant,
        np.array(list(rows), np.int32),
        np.array(list(rows.values()), float),
        {"decoded": 5, "wrong_checksum": 2},
    )


@pytest.fixture(scope="module")
def sampled(_embedded_template):
    url = _embedded_template.create()
    with connect(url) as conn:
        fabrics.save_fabric(conn, figure_214())
        write_samples(
            conn,
            [
                # tested, bytes, traffic, variance, congested, variance
                summary(
                    START_S + 50,
                    "42",
                    {0: [400, 40_000, 396, 6000, 300, 5000], 1: [400, 40_000, 100, 6300, -20, 5000]},
                    tag="2",
                ),
                summary(START_S + 70, "42", {0: [400, 40_000, 380, 6000, 100, 5000]}, tag="3"),
                summary(START_S + 7000, "43", {0: [10, 100, 12, 36, 0, 0]}, variant="standard", phase="solve"),
            ],
        )
    with serving(Settings(db=url, web=None)) as served:
        yield served
    _embedded_template.drop(url)


def test_links_add_up_over_contexts_and_show_their_error(sampled):
    found = sampled.get("/fabrics/figure-2.14/samples", job="42")
    links = found["links"]
    assert (
        found["contexts"] == 2
        and found["longest_path"] == 4
        and found["variants"] == ["one-bit"]
        and found["simulated"]
    )
    assert links["link"] == [0, 1]
    assert links["traffic"] == [776, 0]  # 100 packets lie within 2.33 deviations of a link without traffic
    assert links["traffic_error"] == pytest.approx([12_000**0.5, 6300**0.5])
    assert links["congested"] == [400, 0]
    assert links["congested_fraction"] == pytest.approx([400 / 776, None])
    assert links["bytes"] == [77_600, 0]


@pytest.mark.parametrize(
    ("parameters", "traffic"),
    [
        ({"tag": "2"}, [396, 0]),
        ({"job": "43"}, [12]),  # standard variant: a sample is a sample
        ({"phase": "solve"}, [12]),
        ({"job": "42", "from": START_S + 60}, [380]),
        ({"job": "42", "to": START_S + 60}, [396, 0]),
        ({"job": "42", "from": START_S + 200, "to": START_S + 300}, []),
        ({"job": "42", "from": 0, "to": 4_000_000_000}, [776, 0]),
        ({"job": "none"}, []),
    ],
)
def test_contexts_and_spans_are_chosen(sampled, parameters, traffic):
    assert sampled.get("/fabrics/figure-2.14/samples", **parameters)["links"]["traffic"] == traffic


def test_contexts_are_listed_in_pages(sampled):
    page = sampled.get("/fabrics/figure-2.14/samples/contexts", limit=2)
    rest = sampled.get("/fabrics/figure-2.14/samples/contexts", limit=2, cursor=page["next_cursor"])
    assert rest["next_cursor"] is None
    found = [(item["job_id"], item["tag"], item["phase"]) for item in page["items"] + rest["items"]]
    assert sorted(found, key=str) == [("42", "2", None), ("42", "3", None), ("43", None, "solve")]


def test_hosts_say_what_became_of_their_packets(sampled):
    found = sampled.get("/fabrics/figure-2.14/samples/hosts", **{"from": START_S, "to": START_S + 3600})
    assert (
        found["host"] == ["h2", "h2"]
        and found["outcome"] == ["decoded", "wrong_checksum"]
        and found["packets"] == [10, 4]
    )


def test_bad_questions_are_refused(sampled):
    sampled.refused("/fabrics/nowhere/samples", 404)
    sampled.refused("/fabrics/figure-2.14/samples", 400, **{"from": START_S + 5, "to": START_S})
    sampled.refused("/fabrics/figure-2.14/samples/hosts", 400, **{"from": START_S + 5, "to": START_S})
