"""Texts of planted explanations, word by word: `python -m domain.test_explanation_golden` (in tests/) rewrites the file.

Each case covers one form of an answer; people read the file before it is committed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from domain.scenes import CURVE, OWN, T0, earlier, link, made, neighbour, scenery, steps

from flitwatch_domain.explanation import answer, slowdown
from flitwatch_domain.explanation.candidates import Blamed
from flitwatch_domain.explanation.carriers import UNCOUNTED, Count, RouterCounts
from flitwatch_domain.explanation.case import Evidence, render_page
from flitwatch_domain.explanation.chain import build_chain
from flitwatch_domain.explanation.flow import Flow
from flitwatch_domain.explanation.incident import find_incident
from flitwatch_domain.explanation.pictures import Line, draw_picture

GOLDEN = Path(__file__).parent / "golden" / "explanations.json"
AT = datetime.fromtimestamp(T0 + 300, UTC)
ROOT = {
    "link": 1, "src_name": "r0", "dst_name": "r10", "cause": "traffic-in", "victims_total": 1, "utilisation": 0.83, "confidence": 0.7,
}  # fmt: skip


def cases() -> dict[str, dict[str, Any]]:
    """One explanation for each way that it can read."""
    other = neighbour(2, T0 - 900, sent=(1e11, 1e11), most=1e11)
    near = scenery(neighbour(1, T0 + 100, blamed=Blamed(7, 0.003, "named")), other)
    jammed = np.full(20, 1e5)
    jammed[10:] = 1e8
    counted = RouterCounts(np.full(20, 1e6), np.full(20, 1e6), np.full(20, 1e5), jammed)
    alone, past = replace(near, neighbours=[]), answer.PastRunTimes(np.array([290.0, 300.0, 330.0]))
    own = slowdown.Steps(np.arange(60), steps(1.5, 20).time_s, T0, earlier(1))
    more = replace(
        scenery(neighbour(3, T0 - 900, sent=(1e10, 1e12), most=1e10)), links=[link(1, 0.1, 2.0), link(2, 0.1, 30.0)]
    )
    before, third = neighbour(1, T0 - 900), neighbour(3, T0 + 100)
    by_flow = replace(scenery(before, other, third), flow=flow({1: 0.81, 2: 0.05}))
    slow, early = steps(1.5, 20), steps(1.5, 0)
    return {
        "by flow": made(slow, by_flow),
        "by flow, from its first step": made(early, by_flow),
        "by flow, it started": made(slow, replace(by_flow, flow=flow({3: 0.7, 1: 0.1}))),
        "by flow, two": made(slow, replace(by_flow, flow=flow({1: 0.4, 2: 0.1, 3: 0.35}))),
        "by flow, one came after": made(slow, replace(scenery(before, neighbour(4, T0 + 250)), flow=flow({1: 0.3, 4: 0.5}))),
        "by flow, who came after alone": made(slow, replace(scenery(before, neighbour(4, T0 + 250)), flow=flow({4: 0.9}))),
        "by flow, nobody stands out": made(slow, replace(by_flow, flow=flow({1: 0.3, 2: 0.28}))),
        "by flow, nothing waits": made(slow, replace(by_flow, flow=flow({1: 0.8}, waiting=0.02))),
        "by flow, hours": made(slow, replace(by_flow, flow=flow({1: 0.8}, resolution_s=3600))),
        "by flow, to the file system": made(slow, replace(by_flow, flow=flow({1: 0.8}, to_file_system=True))),
        "by flow, not known": made(slow, replace(near, flow=flow({}, reason="the network cards of the jobs have no counters"))),
        "slows itself": made(early, replace(by_flow, flow=flow({1: 0.2}, own=0.7))),
        "its usual traffic waits": made(slow, replace(by_flow, flow=flow({1: 0.2}, own=0.7))),
        "named": made(steps(1.5, 20), near),
        "named, steps to come": made(slowdown.Steps(np.arange(40), steps(2.0, 20).time_s[:40], T0, earlier()), near),
        "named, counted by router": made(steps(3.0, 20), replace(near, counted=counted)),
        "named, over": made(steps(1.5, 20, 40), near, end_s=T0 + 290, state="COMPLETED"),
        "sends more": made(steps(1.5, 20), more),
        "two started": made(steps(1.5, 20), scenery(neighbour(1, T0 + 100), neighbour(2, T0 + 101))),
        "adds nothing": made(steps(1.5, 20), scenery(neighbour(1, T0 + 100, sent=(0.0, 0.0)))),
        "ended already": made(steps(1.5, 20), scenery(neighbour(1, T0 + 100, end_s=T0 + 200), other)),
        "nobody alongside it": made(steps(1.5, 20), alone),
        "links did not rise": made(steps(1.5, 20), replace(near, own=Count(1e6, 1e6, 1e6, 1e6), links=[])),
        "from its first step": made(steps(1.5, 0), near),
        "own steps alone": made(own, near),
        "no counters": made(steps(1.5, 20), None),
        "no network cards": made(steps(1.5, 20), scenery(neighbour(1, T0 + 100, sent=None), nics=False)),
        "not slow": made(steps(), near),
        "no steps": made(None, near),
        "no steps, as long as others": made(None, near, past, end_s=T0 + 300, state="COMPLETED"),
        "no steps, failed": made(None, near, past, end_s=T0 + 300, state="FAILED"),
        "no steps, running": made(None, near, past),
        "one step": made(slowdown.Steps(np.arange(1), CURVE[:1], T0, earlier()), near),
        "even steps, no earlier run": made(slowdown.Steps(np.arange(60), np.full(60, 5.0), T0, earlier()[:0]), near),
        "sent before it started": made(steps(1.5, 20), scenery(neighbour(1, T0 + 100, sent=(5e11, 9e11)))),
        "links not counted": made(steps(1.5, 20), replace(near, own=UNCOUNTED, links=[])),
        "four links": made(steps(1.5, 20), replace(near, links=[link(n, 0.1, 1.0 + n) for n in range(1, 6)])),
    }  # fmt: skip


def flow(part: dict[int, float], own: float = 0.01, **more: Any) -> Flow:
    """What a job waits for: 1.2 cycles per flit, 0.02 in a quiet minute."""
    given = {
        "waiting": 1.2,
        "quiet": 0.02,
        "counted": 0.98,
        "quiet_s": T0 - 600.0,
        "minutes_s": [T0 + 120.0],
        "resolution_s": 60,
    }
    return Flow(part=part, own=own, **{**given, **more})


@pytest.mark.parametrize(
    ("factor", "first", "names"),
    [(1.2, 0.55, ["1", "3"]), (1.12, 0.55, ["1"]), (1.2, 0.45, ["1", "3"]), (1.12, 0.45, [])],
)
def test_a_further_job_is_named_only_if_its_part_slows_the_job(factor: float, first: float, names: list[str]) -> None:
    """Job 3 has 35 % of the waiting: of a job that is 12 % slower that is 4 % of a step. Without it, the first job needs half of the waiting."""
    jobs = scenery(neighbour(1, T0 + 100), neighbour(3, T0 + 100))
    explanation = made(steps(factor, 20), replace(jobs, flow=flow({1: first, 3: 0.35})))
    assert [one["job_id"] for one in explanation["candidates"] if one["named"]] == names


def evidence(explanation: dict[str, Any]) -> str:
    """The page of a case, with a line of steps, a band, and one of counters with a gap."""
    at = T0 + np.arange(0, 300, 60.0)
    took = Line("step time", at, np.array([5.0, 5.5, 8.0, np.nan, 9.0]))
    usual = Line("usual", at, np.full(5, 5.0), np.full(5, 4.5), np.array([5.5, 5.5, np.nan, 5.5, 5.5]), "#888")
    stalls = Line("stalls per flit", at, np.array([0.1, 0.1, 2.0, 2.1, 1.9]))
    return render_page(
        Evidence(explanation, [usual, took], [("Stalls per flit <own>", stalls)]), "https://here/job/9?at=1&x=2", AT
    )


class Texts(HTMLParser):
    """The texts of a page in order, and where its pictures' lines run."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.read: list[str] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        if data.strip() and not data.lstrip().startswith("body {"):
            self.read.append(data.strip())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        drawn = dict(attrs)
        self.read += [f"{tag}: {drawn[name]}" for name in ("points", "href") if drawn.get(name)]
        if tag in ("line", "text"):
            self.read.append(f"{tag}: {' '.join(f'{name}={value}' for name, value in attrs if name != 'fill')}")


def rounded(value: Any) -> Any:
    """The same with six digits of each number, which every processor gives alike, and times as text."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}")
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return value.item() if isinstance(value, np.generic) else value


def written() -> dict[str, Any]:
    """Everything that the file holds."""
    explanations = cases()
    named = [
        explanations["named"],
        {**explanations["sends more"], "job_id": "10"},
        {**explanations["named, over"], "job_id": "11", "nodes": 64},
    ]
    machine = {
        "two links": find_incident("f", [explanations["sends more"]], 1, T0 + 300),
        "links of two": find_incident(
            "f", [explanations["sends more"], {**explanations["four links"], "named": "3", "job_id": "8"}], 2, T0 + 300
        ),
        "named": find_incident("f", [*named, explanations["not slow"]], 9, T0 + 300),
        "nobody named": find_incident("f", [explanations["two started"], explanations["not slow"]], 2, T0 + 300),
        "nobody slow": find_incident("f", [explanations["not slow"]], 1, T0 + 300),
        "nothing known": find_incident("f", [explanations["no steps"]], 3, T0 + 300),
        "one sample": find_incident("f", [], 3, T0 + 300, snapshot=True),
    }
    pages = (
        "by flow",
        "slows itself",
        "named",
        "sends more",
        "two started",
        "not slow",
        "from its first step",
        "no counters",
    )
    roots = [ROOT, {**ROOT, "victims_total": 4, "utilisation": None}, {**ROOT, "confidence": None}]
    return rounded(
        {"explanations": explanations, "roots": [build_chain({**explanations["named"], "root": one}) for one in roots], "incidents": machine, "pages": {name: Texts(evidence(explanations[name])).read[:-1] for name in pages}}
    )  # fmt: skip


@pytest.mark.parametrize("part", ["explanations", "roots", "incidents", "pages"])
def test_what_is_written_is_what_was_read_and_committed(part: str) -> None:
    assert json.loads(json.dumps(written()[part])) == json.loads(GOLDEN.read_text())[part]


def test_a_line_goes_through_its_values() -> None:
    """Axes from the numbers themselves: 860 wide, 220 high, 52, 12, 22 and 22 around; the top of the axis is a twentieth above the most."""
    line = Line("a", np.array([0.0, 50.0, 100.0]), np.array([0.0, 10.0, np.nan]))
    points = next(
        one for one in Texts(draw_picture([line], "t", [(25.0, "m"), (101.0, "beyond")])).read if "polyline" in one
    )
    high = 220 - 22 - 10 / 10.5 * 176
    assert points == f"polyline: {52:.1f},{198:.1f} {450:.1f},{high:.1f}"
    assert "beyond" not in draw_picture([line], "t", [(101.0, "beyond")])
    assert draw_picture([Line("a", np.array([0.0]), np.array([np.nan]))], "t", []) == ""


@pytest.mark.parametrize(("most", "ticks"), [(10.0, [0, 5, 10]), (3.8, [0, 1, 2, 3]), (0.07, [0, 0.02, 0.04, 0.06])])
def test_ticks_are_round_and_at_most_five(most: float, ticks: list[float]) -> None:
    drawn = Texts(draw_picture([Line("a", np.array([0.0, 1.0]), np.array([0.0, most]))], "t", [])).read
    numbers = [one for one in drawn if one.replace(".", "").isdigit()]
    assert [float(one) for one in numbers] == ticks


def test_own_nodes_are_those_of_the_job() -> None:
    assert len(OWN) == made(steps(1.5, 20), scenery(neighbour(1, T0 + 100)))["routers"]["routers"]


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(json.dumps(written(), indent=1, ensure_ascii=False) + "\n")
