"""Realistic files of counters, SL-to-VL tables and service levels: incomplete, repeated, contradictory, or not text."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric, number_finder
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.secret_file import LocalText
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.reconstruction import files
from flitwatch_routing.reconstruction.consistency import management_bytes, noise_of
from flitwatch_routing.reconstruction.pairs import pairs_of
from flitwatch_routing.reconstruction.recover import Options, reconstruct_matrix
from flitwatch_routing.reconstruction.study import Study, build_study


@pytest.fixture
def fabric() -> Fabric:
    return build_xgft(2, [4, 4], [1, 4])


@pytest.fixture
def known(fabric: Fabric, tmp_path: Path) -> Study:
    (tmp_path / "t.csv").write_text("src,dst,bytes\n" + "".join(f"{a},{(a + 8) % 16},100\n" for a in range(16)))
    found = build_study(fabric, ftree_tables(fabric), LocalText(tmp_path / "t.csv"), 3, 3, 1, seed=1)
    files.write_counters(tmp_path / "counters.csv", fabric, found.measured.counters[0])
    files.write_lanes(tmp_path / "sl2vl.csv", fabric, found.measured.lanes[0])
    files.write_pairs(tmp_path / "pair_sl.csv", found.measured.pairs)
    return found


def edited(path: Path, change) -> Path:  # type: ignore[no-untyped-def]
    path.write_text("".join(change(path.read_text().splitlines(keepends=True))))
    return path


def solved(fabric: Fabric, folder: Path) -> None:
    (lanes,) = files.read_lanes([folder / "sl2vl.csv"], fabric)
    pairs = pairs_of([np.arange(16)], files.read_pairs(folder / "pair_sl.csv", 16))
    counted = files.read_counters(folder / "counters.csv", fabric, lanes.vls)
    reconstruct_matrix(fabric, ftree_tables(fabric), [lanes], pairs, [counted], Options(time_limit_s=1, estimate=False))


def test_a_row_that_traffic_needs_is_named(fabric: Fabric, known: Study, tmp_path: Path) -> None:
    edited(tmp_path / "sl2vl.csv", lambda lines: [line for line in lines if not line.startswith("spine2,")])
    with pytest.raises(BadInput, match=r"lack the row of spine2 from port \d to port \d, which SL \d needs"):
        solved(fabric, tmp_path)


def test_rows_that_no_traffic_needs_may_be_missing(fabric: Fabric, known: Study, tmp_path: Path) -> None:
    """No way leads from a cable up to another cable up."""
    edited(tmp_path / "sl2vl.csv", lambda lines: [line for line in lines if not line.startswith("leaf0,5,6,")])
    solved(fabric, tmp_path)


def test_a_host_without_a_row_is_named(fabric: Fabric, known: Study, tmp_path: Path) -> None:
    edited(tmp_path / "sl2vl.csv", lambda lines: [line for line in lines if not line.startswith("n7,")])
    with pytest.raises(BadInput, match=r"lack the row of n7, which sends with SL \d"):
        solved(fabric, tmp_path)


def test_repeated_rows_pass_and_contradicting_ones_are_named(fabric: Fabric, known: Study, tmp_path: Path) -> None:
    for name in ("sl2vl.csv", "pair_sl.csv"):
        edited(tmp_path / name, lambda lines: [*lines, lines[1]])
    solved(fabric, tmp_path)

    def other(lines: list[str]) -> list[str]:
        fields = lines[1].strip().split(",")
        return [*lines, ",".join([*fields[:-1], str((int(fields[-1]) + 1) % 3)]) + "\n"]

    last = len((tmp_path / "pair_sl.csv").read_text().splitlines()) + 1
    with pytest.raises(BadInput, match=rf"pair_sl\.csv:{last}: the pair 0,1 has SL \d, but \d in line 2"):
        files.read_pairs(edited(tmp_path / "pair_sl.csv", other), 16)
    last = len((tmp_path / "sl2vl.csv").read_text().splitlines()) + 1
    with pytest.raises(BadInput, match=rf"sl2vl\.csv:{last}: n0 has VLs .* in an earlier line"):
        files.read_lanes([edited(tmp_path / "sl2vl.csv", other)], fabric)


def test_the_lane_of_subnet_management_is_left_out(fabric: Fabric, known: Study, tmp_path: Path) -> None:
    """It is counted alongside the others, and no forwarding table leads it."""
    before = files.read_counters(tmp_path / "counters.csv", fabric, 3)
    edited(tmp_path / "counters.csv", lambda lines: [*lines, "leaf0,5,15,9e9,\n", "leaf0,5,15,1,\n"])
    np.testing.assert_array_equal(files.read_counters(tmp_path / "counters.csv", fabric, 3), before)


@pytest.mark.parametrize(
    ("size", "said"), [(1e7, "counters contradict the routes"), (1e4, "too little traffic to tell: the busiest link")]
)
def test_other_tables_are_found_where_more_was_counted_than_managers_send(
    fabric: Fabric, tmp_path: Path, size: float, said: str
) -> None:
    (tmp_path / "t.csv").write_text("src,dst,bytes\n" + "".join(f"{a},{(a + 8) % 16},{size}\n" for a in range(16)))
    ports = ftree_tables(fabric)
    m = build_study(fabric, ports, LocalText(tmp_path / "t.csv"), 1, 1, 1, seed=1).measured
    other, leaf = ports.copy(), int(fabric.endpoints.router[0])
    other[leaf, 8] = 5 + (other[leaf, 8] - 4) % 4
    levels = np.full((16, 16), -1, np.int8)
    levels[np.arange(16), (np.arange(16) + 8) % 16] = 0
    with pytest.raises(BadInput, match=said):
        reconstruct_matrix(
            fabric, other, m.lanes, pairs_of([np.arange(16)], levels), m.counters, Options(time_limit_s=5)
        )


def test_what_managers_send_unbalances_no_switch(fabric: Fabric) -> None:
    """A switch takes questions, and sends answers of another size."""
    counted, floor = np.zeros((len(fabric.links.src), 1)), management_bytes(len(fabric.links), 60)
    counted[np.flatnonzero(fabric.router_links())[0]] = 0.9 * floor
    with pytest.raises(BadInput, match="too little traffic to tell"):
        noise_of(fabric, [counted], floor)
    with pytest.raises(BadInput, match="counters conflict"):
        noise_of(fabric, [2 * counted], floor)
    node, other = len(fabric.routers) + np.flatnonzero(fabric.endpoints.router == fabric.endpoints.router[0])[:2]
    counted[(fabric.links.src == node) | (fabric.links.dst == other)] = 20 * floor
    assert noise_of(fabric, [counted], floor) > 0


def test_lines_are_numbered_as_an_editor_does(fabric: Fabric, known: Study, tmp_path: Path) -> None:
    """Comments and empty lines count."""
    bad = edited(tmp_path / "counters.csv", lambda lines: [*lines[:2], "\n", "# more\n", "leaf0,1,0,x,\n", *lines[2:]])
    with pytest.raises(BadInput, match=r"counters\.csv:5: 'x' is not a number"):
        files.read_counters(bad, fabric, 3)
    bad = edited(tmp_path / "pair_sl.csv", lambda lines: [lines[0], "# more\n", "0,x,1\n", *lines[1:]])
    with pytest.raises(BadInput, match=r"pair_sl\.csv:3: not three whole numbers"):
        files.read_pairs(bad, 16)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\x01", gzip.compress(b"src,dst,sl\n", mtime=0), "src,dst,sl\n".encode("utf-16"), b"src,dst,sl\n"],
    ids=["empty", "binary", "gzip", "utf-16", "header"],
)
def test_what_is_no_table_is_an_error_and_no_warning(fabric: Fabric, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for read in (
            lambda: files.read_pairs(path, 16),
            lambda: files.read_lanes([path], fabric),
            lambda: files.read_counters(path, fabric, 3),
            lambda: files.read_jobs(path, number_finder(16)),
        ):
            with pytest.raises(BadInput, match=r"f\.csv"):
                read()


@pytest.mark.parametrize("number", ["4" * 80, "1_0", "１", "1.0", ""])
def test_endpoints_of_jobs_are_whole_numbers(tmp_path: Path, number: str) -> None:
    path = tmp_path / "f.csv"
    path.write_text(f"job,endpoint\na,1\na,{number}\n")
    with pytest.raises(BadInput, match=r"f\.csv:3: .* is not an endpoint's number"):
        files.read_jobs(path, number_finder(16))


def test_marks_and_line_ends_of_other_systems_change_nothing(fabric: Fabric, known: Study, tmp_path: Path) -> None:
    for name in ("counters.csv", "sl2vl.csv", "pair_sl.csv"):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_bytes(("\ufeff" + text.replace("\n", "\r\n")).encode())
    solved(fabric, tmp_path)


def test_an_endpoint_with_two_ranks_is_named() -> None:
    with pytest.raises(BadInput, match="endpoint 3 has several ranks"):
        pairs_of([np.array([1, 3]), np.array([3, 4])], np.zeros((16, 16), np.int8))


@pytest.mark.parametrize("amount", ["nan", "inf", "-1", "1e300", "1,5"])
def test_counters_that_no_port_counts_are_named(fabric: Fabric, known: Study, tmp_path: Path, amount: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bad = edited(tmp_path / "counters.csv", lambda lines: [*lines[:2], f"leaf0,1,0,{amount},\n", *lines[3:]])
        with pytest.raises(BadInput, match=r"counters\.csv:3: "):
            files.read_counters(bad, fabric, 3)
