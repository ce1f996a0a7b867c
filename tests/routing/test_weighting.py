"""Mixed weighting: packets and bytes, from traffic and from counters, beside bytes alone (Taffet 2021, section 5.4)."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from flitwatch.main import main
from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.local_text import LocalText
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.bounds import compute_bounds
from flitwatch_routing.patterns import load_traffic, read_csv
from flitwatch_routing.reconstruction import files
from flitwatch_routing.reconstruction.recover import Options, reconstruct_matrix
from flitwatch_routing.reconstruction.study import Study, build_study
from flitwatch_routing.weighting import weighted_bytes

TREE = "xgft:2;4,4;1,4"
MTU = 4096


def tree() -> Fabric:
    return build_xgft(2, [4, 4], [1, 4])


def written(path: Path, rows: list[tuple[int, int, int, int]]) -> Path:
    path.write_text("src,dst,bytes,packets\n" + "".join(f"{a},{b},{size},{sent}\n" for a, b, size, sent in rows))
    return path


def barrier_beside_bully(path: Path) -> Path:
    """Even endpoints send 8-byte packets in the rounds of a barrier, odd ones full packets to another leaf: 2,000 million times the bytes."""
    quiet = [(2 * r, 2 * ((r + step) % 8), 8 * 1000, 1000) for r in range(8) for step in (1, 2, 4)]
    loud = [(a, (a + 8) % 16, 4_000_000_000 * MTU, 4_000_000_000) for a in range(1, 16, 2)]
    return written(path, quiet + loud)


def test_full_packets_weigh_their_bytes(tmp_path: Path) -> None:
    rows = [(a, (a + 8) % 16, sent * MTU, sent) for a, sent in enumerate(range(1, 17))]
    file = LocalText(written(tmp_path / "t.csv", rows))
    assert (load_traffic(file, 16, 1, MTU)[2] == load_traffic(file, 16, 1)[2]).all()
    assert (load_traffic(file, 16, 1, 2 * MTU)[2] == 1.5 * load_traffic(file, 16, 1)[2]).all()


def test_mixed_weighting_narrows_what_lies_between_a_barrier_and_a_bully(tmp_path: Path) -> None:
    file = LocalText(barrier_beside_bully(tmp_path / "t.csv"))
    by_bytes, both = load_traffic(file, 16, 1)[2], load_traffic(file, 16, 1, MTU)[2]
    narrowed = (by_bytes.max() / by_bytes.min()) / (both.max() / both.min())
    assert narrowed == pytest.approx((MTU / 2 + 4) / 8)


def test_the_bound_by_bytes_is_the_bullys_and_the_mixed_one_the_small_messages(tmp_path: Path) -> None:
    """leaf0 sends 400 full packets through its four cables; leaf2 gets 100 of them and 2,000 packets of 8 bytes."""
    loud = [(k, to, 100 * MTU, 100) for k, to in enumerate((4, 8, 12, 5))]
    quiet = [(4 + k, 8 + k, 8 * 500, 500) for k in range(4)]
    file = LocalText(written(tmp_path / "t.csv", loud + quiet))
    assert compute_bounds(tree(), load_traffic(file, 16, 1)).z_ar == pytest.approx(100 * MTU)
    small = 500 * (MTU / 2 + 4)
    assert compute_bounds(tree(), load_traffic(file, 16, 1, MTU)).z_ar == pytest.approx(small + 25 * MTU)


def test_the_commands_say_what_they_weighed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = str(written(tmp_path / "t.csv", [(0, 4, 8, 1), (1, 8, MTU, 1)])), str(tmp_path / "r.lfts")

    def answer(*arguments: str) -> dict:
        main([*arguments, "--topology", TREE, "--traffic", file, "--json"])
        return json.loads(capsys.readouterr().out)

    found = answer("routes", "optimise", "--time-limit", "1", "--mtu", str(MTU), "--out", out)
    assert found["weighting"] == "mixed" and found["z"] == MTU
    for mtu in (256, MTU):
        found = answer("routes", "check", out, "--mtu", str(mtu))
        assert found["weighting"] == "mixed" and found["max_load"] == mtu / 2 + MTU / 2
    found = answer("routes", "check", out)
    assert found["weighting"] == "bytes" and found["max_load"] == MTU


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("0,1,4", r"t\.csv:2: 3 fields"),
        ("0,1,4,", r"t\.csv:2: not two endpoints and two numbers"),
        ("0,1,4,-1", r"t\.csv:2: packets must be"),
        ("0,1,4,nan", r"t\.csv:2: packets must be"),
        ("0,1,4,1e30", r"t\.csv:2: 1e30 packets are more"),
        ("0,1,4,0", r"t\.csv:2: 4 bytes in no packet"),
    ],
)
def test_packets_that_cannot_be_are_named_by_file_and_line(tmp_path: Path, row: str, words: str) -> None:
    (tmp_path / "t.csv").write_text(f"src,dst,bytes,packets\n{row}\n")
    with pytest.raises(BadInput, match=words):
        read_csv(tmp_path / "t.csv", 16)


def test_packets_are_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("src,dst,bytes\n0,5,100\n")
    for name in ("bisection", LocalText(tmp_path / "t.csv")):
        with pytest.raises(BadRequest, match=r"(needs|requires) packets, and .* contains only bytes"):
            load_traffic(name, 16, 1, MTU)
        with pytest.raises(BadRequest, match="requires packets"):
            build_study(tree(), ftree_tables(tree()), name, 3, 3, 1, seed=1).weighted(MTU)


def measured(tmp_path: Path) -> Study:
    return build_study(
        tree(), ftree_tables(tree()), LocalText(barrier_beside_bully(tmp_path / "t.csv")), 4, 4, 1, seed=2
    )


def test_counters_carry_packets_and_mix_as_their_traffic_does(tmp_path: Path) -> None:
    known, fabric, file = measured(tmp_path), tree(), tmp_path / "c.csv"
    size, packets = known.measured.counters[0], (known.measured.packets or [])[0]
    files.write_counters(file, fabric, size, packets)
    assert (files.read_counters(file, fabric, 4) == size).all()
    assert (files.read_counters(file, fabric, 4, MTU) == weighted_bytes(size, packets, MTU)).all()
    assert (known.weighted(MTU).measured.counters[0] == weighted_bytes(size, packets, MTU)).all()
    whole = file.read_text()
    lines = whole.splitlines()
    file.write_text("\n".join([*lines[:4], lines[4].rsplit(",", 1)[0] + ",many", *lines[5:]]))
    with pytest.raises(BadInput, match=r"c\.csv:5: 'many' is not a number"):
        files.read_counters(file, fabric, 4)
    files.write_counters(file, fabric, size)
    with pytest.raises(BadInput, match=r"c\.csv:3: .* port \d VL 0 has no packets, which mixed weighting needs"):
        files.read_counters(file, fabric, 4, MTU)


def barrier_error(fabric: Fabric, known: Study) -> float:
    """Relative error of what even endpoints sent, with a clock on which every reading lasts a second."""
    m = known.measured
    options = Options(time_limit_s=30_000.0, estimate=False)
    found = reconstruct_matrix(
        fabric, ftree_tables(fabric), m.lanes, m.pairs, m.counters, options, clock=itertools.count().__next__
    )
    size = np.zeros(len(known.size))
    size[np.searchsorted(m.pairs.key, found.pairs.key)] = found.size
    small = (m.pairs.src % 2 == 0) & (m.pairs.dst % 2 == 0)
    return float(np.linalg.norm((size - known.size)[small]) / np.linalg.norm(known.size[small]))


@pytest.mark.system("numeric")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_barrier_beside_a_bully_comes_back_mixed_and_is_lost_by_bytes(tmp_path: Path, seed: int) -> None:
    """5 million times the bytes of a pair of the barrier, 20,000 times its weight (the paper recovers 4,000 times with an error of 8.2 %)."""
    fabric = build_xgft(3, [4, 4, 2], [1, 2, 2])
    quiet = [(2 * r, 2 * ((r + step) % 16), 800, 100) for r in range(16) for step in (1, 2, 4, 8)]
    loud = [(a, (a + 16) % 32, 10**6 * MTU, 10**6) for a in range(1, 32, 2)]
    file = LocalText(written(tmp_path / "t.csv", quiet + loud))
    known = build_study(fabric, ftree_tables(fabric), file, 4, 4, 1, seed)
    assert barrier_error(fabric, known.weighted(MTU)) < 0.1
    assert barrier_error(fabric, known) > 0.9


def test_reconstruct_says_what_it_weighed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(a, (a + 8) % 16, 8 * (a + 1), a + 1) for a in range(16)]
    file, to = str(written(tmp_path / "t.csv", rows)), tmp_path / "counted"

    def answer(*arguments: str) -> dict:
        main(["traffic", *arguments, "--topology", TREE, "--json"])
        return json.loads(capsys.readouterr().out)

    assert answer("counters", "--traffic", file, "--out", str(to))["packets"] is True
    read = [
        "--counters",
        str(to / "counters.csv"),
        "--sl2vl",
        str(to / "sl2vl.csv"),
        "--pair-sl",
        str(to / "pair_sl.csv"),
    ]
    out = tmp_path / "x.csv"
    found = answer("reconstruct", *read, "--mtu", str(MTU), "--out", str(out))
    assert found["weighting"] == "mixed" and "relative_error" not in found
    first, header, *rest = out.read_text().splitlines()
    assert first == "# weighting: mixed; bytes, low and high are 4096/2 x packets + bytes/2"
    assert header == "src,dst,bytes,low,high"
    sizes = {(int(a), int(b)): float(size) for a, b, size, *_ in (line.split(",") for line in rest)}
    assert sizes == pytest.approx({(a, b): sent * (MTU / 2 + 4) for a, b, _, sent in rows}, rel=1e-3)
    found = answer("reconstruct", "--traffic", file, "--mtu", str(MTU))
    assert found["weighting"] == "mixed" and found["relative_error"] < 1e-3
    assert answer("reconstruct", *read)["weighting"] == "bytes"
