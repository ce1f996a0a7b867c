"""DragonView snapshots: Edison's, and artificial ones."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from domain.sound_fabrics import written
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch.commands.imports.dragonview import summarise_snapshot
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import CountedAt
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.hostlist import expand_hosts
from flitwatch_domain.importers import Snapshot, read_snapshot

MACHINE = build_dragonfly(3, 2, 4, blue_routers=3)


@pytest.mark.shared
def test_edison_without_being_given_the_machine(shared: Path) -> None:
    data = shared / "data"
    snapshot = read_snapshot(
        data / "cray-wiring" / "links-edison.txt",
        data / "edison-dragonview" / "dnd_net_counters.21.csv",
        data / "edison-dragonview" / "dnd_jobs.21.csv",
    )
    fabric = snapshot.fabric
    assert (len(fabric.routers), len(fabric.groups)) == (1440, 15)
    assert 12 not in fabric.groups
    assert (len(snapshot.link), len(snapshot.unmatched), len(snapshot.rejected)) == (4694, 0, 0)
    assert len(np.unique(snapshot.link)) == 4694, "every row has a cable of its own"
    ratios = {key: round(value or 0, 2) for key, value in snapshot.stall_to_flit().items()}
    assert ratios == {"all": 5.15, "green": 2.35, "black": 7.84, "blue": 6.45}
    counted = snapshot.counted_routers
    assert len(counted) == 140
    same = [job for job, routers in snapshot.job_routers.items() if np.array_equal(routers, counted)]
    assert same == ["3609441"]
    assert sorted(set(fabric.routers.group[counted].tolist())) == [5, 6, 7]
    assert len(snapshot.jobs) == 10
    assert sum(job.nodes or 0 for job in snapshot.jobs) == 2682
    assert snapshot.vc_flits is not None
    np.testing.assert_array_equal(snapshot.vc_flits.sum(axis=1), snapshot.flits)


def snapshot_files(folder: Path, rows: list[list[object]], jobs: list[list[object]]) -> tuple[Path, Path, Path]:
    links, counters, held = folder / "cables.txt", folder / "counters.csv", folder / "jobs.csv"
    links.write_text("\n".join(written(MACHINE)))
    with counters.open("w", newline="") as out:
        csv.writer(out).writerows([["flits", "stalls", "sg", "sr", "sc", "dg", "dr", "dc", "color", "note"], *rows])
    with held.open("w", newline="") as out:
        csv.writer(out).writerows([["jobid", "g", "r", "c", "n"], *jobs])
    return links, counters, held


def read(folder: Path, rows: list[list[object]], jobs: list[list[object]]) -> Snapshot:
    return read_snapshot(*snapshot_files(folder, rows, jobs))


def place(router: int) -> list[int]:
    routers = MACHINE.routers
    return [int(routers.group[router]), int(routers.row[router]), int(routers.col[router])]


def row(link: int, flits: object, stalls: object, colour: str = "") -> list[object]:
    links = MACHINE.links
    return [flits, stalls, *place(links.src[link]), *place(links.dst[link]), colour, "x"]


@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0, 1))
@settings(max_examples=25, deadline=None)
def test_rows_in_any_order_join_one_to_one(tmp_path_factory: pytest.TempPathFactory, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    between = np.flatnonzero(MACHINE.router_links())
    chosen = rng.permutation(between[rng.random(between.size) < share])
    counts = rng.integers(0, 10**12, (chosen.size, 2))
    rows = [row(int(link), int(f), int(s)) for link, (f, s) in zip(chosen, counts, strict=True)]
    snapshot = read(tmp_path_factory.mktemp("dv"), rows, [])
    assert len(snapshot.unmatched) == 0
    assert len(np.unique(snapshot.link)) == len(chosen)
    links = snapshot.fabric.links
    pairs = Counter(zip(links.src[snapshot.link].tolist(), links.dst[snapshot.link].tolist(), strict=True))
    wanted = Counter(zip(MACHINE.links.src[chosen].tolist(), MACHINE.links.dst[chosen].tolist(), strict=True))
    assert pairs == wanted
    assert snapshot.flits.sum() == counts[:, 0].sum()
    if chosen.size and counts[:, 0].sum():
        assert snapshot.stall_to_flit()["all"] == pytest.approx(counts[:, 1].sum() / counts[:, 0].sum())
    for kind in ("green", "black", "blue"):
        of = MACHINE.of_class(kind)[chosen]
        flits = counts[of, 0].sum()
        assert snapshot.stall_to_flit()[kind] == (pytest.approx(counts[of, 1].sum() / flits) if flits else None)


def test_parallel_cables_are_taken_in_the_order_of_the_sources_tiles(tmp_path: Path) -> None:
    black = int(np.flatnonzero(MACHINE.of_class("black"))[0])
    snapshot = read(tmp_path, [row(black, n, 0) for n in (1, 2, 3)], [])
    ports = snapshot.fabric.links.src_port[snapshot.link].tolist()
    assert ports == sorted(ports)
    assert len(set(ports)) == 3
    assert snapshot.fabric.counted_at is CountedAt.SENDER


def test_links_that_are_not_there_are_counted_and_listed(tmp_path: Path) -> None:
    green = int(np.flatnonzero(MACHINE.of_class("green"))[0])
    nowhere: list[object] = [5, 10, 9, 0, 0, 0, 0, 0, "g", ""]
    uncabled: list[object] = [5, 10, 0, 0, 0, 0, 1, 1, "k", ""]
    snapshot = read(tmp_path, [row(green, 1, 2, "g"), row(green, 1, 2, "g"), nowhere, uncabled], [])
    assert len(snapshot.link) == 1
    reasons = [item.reason for item in snapshot.unmatched]
    assert [item.where.rsplit(":", 1)[1] for item in snapshot.unmatched] == ["3", "4", "5"]
    assert "one row more than the 1 cables" in reasons[0]
    assert "no router at (9:0:0)" in reasons[1]
    assert "no cable from (0:0:0) to (0:1:1)" in reasons[2]
    assert snapshot.sums["all"] == (12, 24)


def test_bad_rows_are_rejected_with_line_and_reason(tmp_path: Path) -> None:
    green = int(np.flatnonzero(MACHINE.of_class("green"))[0])
    rows = [row(green, -1, 2), row(green, "NaN", 2), row(green, 2**64, 2), row(green, 1, "")[:-1], row(green, "7.0", 8)]
    jobs: list[list[object]] = [[7, 0, 0, 0, 0], [8, 0, 0, 0, 0], [8, 0, 0, 0, 4], ["x", 0, 0, 0, 1], [0, 0, 0, 0, 2]]
    snapshot = read(tmp_path, rows, jobs)
    assert len(snapshot.link) == 1
    assert [item.where.rsplit("/", 1)[1] for item in snapshot.rejected] == [
        *(f"counters.csv:{line}" for line in (2, 3, 4, 5)),
        *(f"jobs.csv:{line}" for line in (3, 4, 5)),
    ]
    assert [job.job_id for job in snapshot.jobs] == ["7"] and snapshot.unplaced_jobs == ("8",)
    report = summarise_snapshot(snapshot)
    assert (report["jobs"], report["placed"], len(report["unplaced_examples"])) == (2, 1, 1)
    assert expand_hosts(snapshot.jobs[0].node_list or "") == [MACHINE.endpoints.node[0]]


def test_a_stray_quote_costs_its_own_row_only(tmp_path: Path) -> None:
    links, counters, jobs = snapshot_files(tmp_path, [row(n, 10, 5) for n in range(20)], [])
    lines = counters.read_text().splitlines(keepends=True)
    lines[3] = ',"'.join(lines[3].rsplit(",", 1))
    counters.write_text("".join(lines))
    snapshot = read_snapshot(links, counters, jobs, "cut")
    assert [(item.where, item.reason) for item in snapshot.rejected] == [(f"{counters}:4", "a quote is not closed")]
    assert len(snapshot.link) + len(snapshot.unmatched) == 19


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    links, counters, jobs = snapshot_files(tmp_path, [], [])
    with pytest.raises(BadInput, match=r"jobs\.csv:1: has no column sg"):
        read_snapshot(links, jobs, jobs)
    with pytest.raises(BadInput, match=r"has no column .*jobid"):
        read_snapshot(links, counters, counters)
    whole = jobs.read_text()
    jobs.write_text(whole.replace("jobid", "jobid,jobid", 1))
    with pytest.raises(BadInput, match=r"jobs\.csv:1: has column jobid twice"):
        read_snapshot(links, counters, jobs)
    counters.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput):
        read_snapshot(links, counters, jobs)
