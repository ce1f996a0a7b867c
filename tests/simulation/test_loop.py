"""The closed loop on a small tree: gains where ftree is bad, says why not where it is not, keeps the truth apart, and can be cancelled."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flitwatch_db import connect, tasks
from flitwatch_domain.errors import BadInput, BadRequest, Cancelled
from flitwatch_domain.local_text import LocalText
from flitwatch_domain.task_models.routes import Loop
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_routing.reconstruction.pairs import Pairs
from flitwatch_routing.reconstruction.recover import Reconstruction
from flitwatch_simulation.loop import LoopRun
from flitwatch_simulation.loop.demand import demand_of
from flitwatch_simulation.loop.estimate import combined_slots
from flitwatch_simulation.loop.matrices import by_place
from flitwatch_simulation.loop.process import MachineProcess
from flitwatch_simulation.loop.turn import is_recommended, simulate_turn
from flitwatch_simulation.tasks import HANDLERS

TREE, EIGHT = "xgft:3;4,4,2;1,2,2", "xgft:2;4,2;1,2"
SMALL = {"topology": TREE, "megabytes": 0.2, "optimise_s": 0.5, "reconstruct_s": 10.0, "seed": 3}


@pytest.mark.system("numeric")
def test_a_turn_on_a_small_tree() -> None:
    stages: set[int] = set()
    made = simulate_turn(LoopRun("bisection-shuffle", **SMALL), lambda done, total, what: stages.add(done))
    result = made.summary()
    assert stages == set(range(6))
    assert result["true_gap"] <= result["ftree_gap"] + 0.3
    assert result["speedup_over_ftree"] == pytest.approx(result["time_ms"]["ftree"] / result["time_ms"]["loop"])
    assert result["recommended"] == (result["time_ms"]["loop"] <= 1.01 * result["time_ms"]["ftree"])
    assert result["reason"] and result["simulated"] and made.before.conserved and made.after.conserved
    assert set(np.unique(np.nan_to_num(made.before.congested) > 1)) == {False}
    # Every byte between leaves crosses links between switches, and the matrix by leaf holds all bytes.
    assert made.score.matrices["router"].sum() == pytest.approx(made.score.matrices["group"].sum())


@pytest.mark.system("numeric")
def test_what_the_estimator_gets_holds_no_traffic() -> None:
    parameters = LoopRun("bisection-shuffle", **SMALL)
    with MachineProcess(parameters) as machine:
        (measured,) = machine.call("measured")
    true = demand_of("bisection-shuffle", fabric_of(TREE), 0.2, 5, 3).matrix()
    assert set(vars(measured)) == {"pairs", "lanes", "counters", "packets"} and measured.packets is None
    assert len(measured.pairs) == 32 * 31 > len(true[0])  # every pair that may talk, not those that do
    injected = measured.counters[0].sum(axis=1)
    assert injected[fabric_of(TREE).links.src >= len(fabric_of(TREE).routers)].sum() == pytest.approx(true[2].sum())


def test_slots_share_what_a_rank_sends_in_its_order() -> None:
    made = demand_of("cyclic-stencil", fabric_of(TREE), 1.0, 1, 1)
    slots = made.matrices(6)
    whole = np.zeros((32, 32))
    for src, dst, size in slots:
        assert np.bincount(src, minlength=32).max() == 1  # one of the six faces each
        np.add.at(whole, (src, dst), size)
    src, dst, size = made.matrix()
    assert whole[src, dst] == pytest.approx(size) and whole.sum() == pytest.approx(size.sum())
    uneven = made.matrices(4)
    assert sum(size.sum() for _, _, size in uneven) == pytest.approx(whole.sum())


@pytest.mark.system("numeric")
def test_slots_are_reconstructed_apart_and_give_routes_that_do_not_lose() -> None:
    """Table 5.2 (Taffet 2021): phases of large messages under routes that are even over all phases are slower than under ftree."""
    made = simulate_turn(LoopRun("cyclic-stencil", **SMALL | {"slots": 6}))
    assert len(made.routes.slots) == 6
    assert made.recommended and made.score.true_gap is not None and made.score.true_gap < 0.05
    assert made.score.relative_error is not None and made.score.relative_error < 0.05


def test_errors_of_slots_add_up_and_an_empty_slot_says_nothing() -> None:
    pairs = Pairs(np.array([4]), np.array([1, 2]), np.array([0, 0]), np.array([1, 2]), np.zeros(2, np.uint8))
    size = np.array([3.0, 4.0])
    half = Reconstruction(pairs, size, size, size, 0.5, 0.0, 0.0, True, 7, 0.0, 12, 1.0)
    empty = replace(
        half,
        pairs=pairs.kept(np.zeros(2, bool)),
        size=np.zeros(0),
        low=np.zeros(0),
        high=np.zeros(0),
        estimated_error=None,
    )
    all_slots = combined_slots([half, empty, half])
    assert all_slots.estimated_error == pytest.approx(0.5) and all_slots.size == pytest.approx(2 * size)
    assert combined_slots([half, replace(half, estimated_error=None)]).estimated_error is None


def test_it_stops_when_cancelled() -> None:
    with pytest.raises(Cancelled):
        simulate_turn(LoopRun("shift", topology=TREE, megabytes=0.1), cancelled=lambda: True)


@pytest.mark.parametrize(
    ("before_s", "after_s", "doubt", "recommended", "words"),
    [
        (2.0, 1.0, None, True, "2.00 times as fast"),
        (1.0, 1.005, None, True, "no slower"),
        (1.33, 2.39, 0.01, False, "order of messages decides; routes for several time slots"),
        (1.0, 1.5, 0.6, False, "unsure \\(estimated error 60%\\)"),
    ],
)
def test_a_loss_is_not_recommended_and_says_why(
    before_s: float, after_s: float, doubt: float | None, recommended: bool, words: str
) -> None:
    verdict, reason = is_recommended(before_s, after_s, doubt)
    assert verdict is recommended
    assert re.search(words, reason), reason


def test_demands_keep_their_bytes_and_their_order(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("src,dst,bytes\n0,1,300\n1,2,100\n")
    made = demand_of(LocalText(file), fabric_of(EIGHT), 1.0, 4, 1)
    src, dst, size = made.matrix()
    assert dict(zip(zip(src.tolist(), dst.tolist(), strict=True), size.tolist(), strict=True)) == {
        (0, 1): pytest.approx(1e6, rel=1e-5),
        (1, 2): pytest.approx(1e6 / 3, rel=1e-4),
    }
    assert made.jobs[0].messages.rounds == 4 and "only totals" in made.time_structure
    measured = tmp_path / "m.graphStats.txt"
    measured.write_text("--- Graph ---\n0 , 1 = 400.0\n2 , 1 = 200.0\n")
    src, dst, size = demand_of(LocalText(measured), fabric_of(EIGHT), 1.0, 1, 1).matrix()
    assert len(src) == 4 and size.max() / size.min() == pytest.approx(2, rel=1e-5)
    fabric = fabric_of(TREE)
    matrix = by_place(fabric, (np.array([0, 0, 5]), np.array([1, 4, 0]), np.array([1.0, 2.0, 4.0])), "router")
    assert matrix.values[0, 0] == 1 and matrix.values[1, 0] == 2 and matrix.values[0, 1] == 4


@pytest.mark.parametrize("seed", range(4))
def test_a_barrier_beside_a_bully_has_the_published_shares_and_no_crowded_leaf_where_told(seed: int) -> None:
    """Section 5.4: 2,048 nodes of 3,072 synchronise, 1,000 bully; at random some leaf has more bully nodes than up links, changed none as many."""
    fabric = fabric_of("quartz1")
    jobs = {
        name: demand_of(name, fabric, 3.2, 1, seed).jobs for name in ("barrier-with-bully", "barrier-with-bully-even")
    }
    most = {}
    for name, (barrier, bully) in jobs.items():
        assert (barrier.timed, bully.timed) == (True, False)
        assert (barrier.endpoints.size, bully.endpoints.size) == (2048, 1000)
        assert not set(barrier.endpoints) & set(bully.endpoints)
        most[name] = int(np.bincount(np.asarray(fabric.endpoints.router)[bully.endpoints]).max())
        assert (np.diff(barrier.endpoints) > 0).all()
        sent = np.bincount(bully.messages.src, bully.messages.size_bytes)
        assert set(sent) == {3.2e6} and bully.messages.rounds == 16
    assert most["barrier-with-bully-even"] <= 15 and most["barrier-with-bully"] >= 15
    moved = np.setdiff1d(*(one[1].endpoints for one in jobs.values()))
    assert moved.size <= 40


def test_mixed_counters_let_small_messages_weigh_more() -> None:
    made = demand_of("barrier-with-bully", fabric_of(TREE), 3.2, 1, 1)
    barrier, bully = made.jobs
    plain, mixed = made.matrix(), made.matrix(4096)
    assert all((a == b).all() for a, b in zip(plain[:2], mixed[:2], strict=True))
    small = np.isin(plain[0], barrier.endpoints)
    # A barrier's messages are a packet of 8 bytes each, the bully's fill 49 packets nearly.
    assert (mixed[2][small] / plain[2][small]) == pytest.approx((4096 + 8) / 2 / 8)
    assert mixed[2][~small] / plain[2][~small] == pytest.approx((49 * 4096 / 200_000 + 1) / 2)
    assert np.isin(plain[0][~small], bully.endpoints).all()


@pytest.mark.system("numeric")
def test_bad_traffic_and_parameters_are_named(tmp_path: Path) -> None:
    matrix = tmp_path / "m.txt"
    matrix.write_text("0 , 40 = 5.0\n")
    with pytest.raises(BadInput, match="41 ranks; the topology has 8"):
        demand_of(LocalText(matrix), fabric_of(EIGHT), 1.0, 5, 1)
    with pytest.raises(BadRequest, match="neither a pattern nor a file"):
        demand_of("no-such", fabric_of(EIGHT), 1.0, 5, 1)
    for wrong in (
        {"megabytes": -1},
        {"vls": 99},
        {"basis": "best"},
        {"seed": "x"},
        {"iterations": 0},
        {"slots": 2.5},
        {"vls": 2.0},
        {"mtu": 0},
    ):
        with pytest.raises(BadRequest):
            LoopRun("shift", **wrong)  # type: ignore[arg-type]
    with (
        pytest.raises(BadInput, match="at least 8 endpoints"),
        MachineProcess(LoopRun("barrier-with-bully", topology="xgft:2;2,2;1,2")),
    ):
        pass


@pytest.mark.parametrize("change", [{"pattern": "/etc/passwd"}, {"topology": "file:/etc/passwd"}])
def test_a_task_reads_no_file(change: dict) -> None:
    """Neither by its model, nor by the parsers: a text that was not typed at the command line names no file."""
    with pytest.raises(BadInput, match=r"reads no file|pattern: Input should be"):
        Loop.of({"pattern": "shift", **change})
    asked = LoopRun(**{"pattern": "shift", **change})
    with pytest.raises(BadRequest, match=r"neither a pattern nor a file|unknown topology"):
        demand_of(asked.pattern, fabric_of(asked.topology), 1.0, 1, 1)


def _run(dsn: str, name: str, args: dict) -> dict:
    with connect(dsn, role="writer") as conn:
        number = tasks.start_task(conn, name, args)
        conn.commit()

    class Context:
        task_id = number

        def __init__(self) -> None:
            self.dsn, self.said = dsn, []

        def report(self, done: int, total: int, message: str = "") -> None:
            self.said.append((done, total, message))

        def cancelled(self) -> bool:
            return False

    context = Context()
    made = HANDLERS[name](args, context)  # type: ignore[arg-type]
    assert context.said and all(done <= total for done, total, _ in context.said)
    return made


@pytest.mark.system("numeric")
def test_tasks_write_recommendations(embedded_db: str) -> None:
    looped = _run(embedded_db, "routing.loop", {"pattern": "bisection-shuffle", **SMALL})
    given = _run(embedded_db, "routing.optimise", {"pattern": "shift", **SMALL, "time_limit_s": 0.3})
    assert given["z"] >= given["z_ar"] > 0 and given["reconstruction"] is None
    with connect(embedded_db, role="reader") as conn:
        rows = dict(conn.execute("SELECT recommendation_id, detail FROM recommendation").fetchall())
        parts = {
            (number, part): gzip.decompress(packed)
            for number, part, packed in conn.execute("SELECT * FROM recommendation_part").fetchall()
        }
    assert set(rows) == {looped["recommendation_id"], given["recommendation_id"]}
    number = looped["recommendation_id"]
    assert rows[number]["after"]["time_s"] * 1e3 == pytest.approx(looped["time_ms"]["loop"])
    assert rows[number]["reconstruction"]["basis"] == "od"
    links, matrix = json.loads(parts[number, "links"]), json.loads(parts[number, "matrix_router"])
    fabric = fabric_of(TREE)
    assert len(links["link"]) == int(fabric.router_links().sum()) == len(links["after"]["congested"])
    assert set(links["class"]) == {"up", "down"} and sum(links["nodes"]) == 32
    assert len(matrix["labels"]) == 8 == len(matrix["true"])
    assert json.loads(parts[given["recommendation_id"], "matrix_group"])["reconstructed"] is None
    assert parts[number, "lfts"].startswith(b"Unicast lids")


@pytest.mark.system("numeric")
def test_a_reconstruction_task_returns_pairs_and_matrix(embedded_db: str) -> None:
    found = _run(embedded_db, "routing.reconstruct", {"pattern": "shift", "basis": "auto", **SMALL})
    assert found["relative_error"] < 0.05 and set(found["held_out"]) == {"od", "s", "scd", "cd"}
    assert sum(found["pairs"]["bytes"]) == pytest.approx(sum(map(sum, found["matrix"]["bytes"])), rel=1e-3)


@pytest.mark.system("numeric")
@pytest.mark.parametrize("name", ["lulesh.64", "miniFE.64", "AMG2013.64"])
def test_measured_matrices_go_through_the_loop(shared: Path, name: str) -> None:
    """27-point neighbourhoods as graphStats wrote them; only totals are known, so the order of messages is the loop's own."""
    file = shared / "data" / "comm-matrices" / f"{name}.graphStats.txt"
    made = simulate_turn(
        LoopRun(
            LocalText(file), topology="xgft:3;4,4,4;1,2,2", megabytes=0.1, optimise_s=0.5, reconstruct_s=10.0, seed=1
        )
    )
    result = made.summary()
    assert made.before.conserved and made.after.conserved and "only totals" in result["time_structure"]
    assert (
        result["recommended"] == (result["time_ms"]["loop"] <= 1.01 * result["time_ms"]["ftree"]) and result["reason"]
    )
    assert made.found is not None and len(made.found.pairs) and result["true_gap"] is not None
