"""The closed loop on a small tree: it gains if ftree is bad, otherwise explains why not, keeps the truth separate, and can be cancelled."""

from __future__ import annotations

import gzip
import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import psycopg
import pytest
from support.stored_loop import PORTS, START_S, asked, at, by_one_spine, load_of, looped, store
from support.stored_loop import TREE as TREE_LOOP_STORED

from flitwatch_db import connect, tasks
from flitwatch_db.counters import store as counters
from flitwatch_db.estimates import recommendations
from flitwatch_db.fabrics import route_changes
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import LANES
from flitwatch_domain.errors import BadInput, BadRequest, Cancelled, Conflict, NotFound
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.secret_file import LocalText
from flitwatch_domain.task_models.routes import Loop
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_routing.reconstruction.pairs import Pairs
from flitwatch_routing.reconstruction.recover import Reconstruction
from flitwatch_simulation.loop import LoopRun, estimate, stored
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
        (1.0, 1.5, 0.6, False, "uncertain \\(estimated error 60%\\)"),
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
def test_a_barrier_alongside_a_bully_has_the_published_shares_and_no_crowded_leaf_where_announced(seed: int) -> None:
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
        with pytest.raises(BadInput, match=next(iter(wrong))):
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


# The loop on stored counters: planted traffic is found and its routes improve; where the counters cannot tell, it says so and lays no tables.


def test_planted_traffic_is_found_and_its_busiest_link_relieved(embedded_db: str) -> None:
    flows = by_one_spine()
    made = looped(embedded_db, load_of(flows))
    assert made.verdict == "load", made.reason
    summary = made.summary()
    loads = summary["max_load_bytes"]
    assert loads["before"] == pytest.approx(7e8, rel=1e-3) and loads["after"] == pytest.approx(4e8, rel=1e-3)
    assert summary["simulated"] is False and summary["entries_changed"] > 0
    assert made.found is not None
    pairs = dict(zip(zip(made.found.pairs.src.tolist(), made.found.pairs.dst.tolist(), strict=True), made.found.size, strict=True))  # fmt: skip
    assert [pairs[1, to] for to in flows[1].tolist()] == pytest.approx(flows[2].tolist(), rel=1e-3)
    with connect(embedded_db) as conn:
        number = recommendations.save_recommendation(conn, stored.stored_recommendation(made))
        kept = recommendations.lock_staged_routes(conn, number)
    assert kept.state == "recommended" and kept.lfts is not None and kept.lfts.count(b"Switch portguid") == 36


def test_even_routes_stay(embedded_db: str) -> None:
    src, dst, size = (part[:1] for part in by_one_spine())
    made = looped(embedded_db, load_of((src, dst, size)))
    assert made.verdict == "keep" and "would not help" in made.reason
    assert stored.stored_recommendation(made).parts == {} and stored.stored_recommendation(made).state == "refused"


def test_what_several_matrices_explain_it_cannot_tell(embedded_db: str) -> None:
    """Two nodes of a leaf send to two of another: who sent how much to whom is in no counter."""
    sent = np.array([3e8, 2e8, 2e8, 3e8])
    made = looped(embedded_db, load_of((np.array([0, 0, 1, 1]), np.array([4, 6, 4, 6]), sent)))
    assert made.verdict == "cannot tell" and "several matrices" in made.reason, made.reason
    assert made.routes is None and stored.stored_recommendation(made).parts == {}


def test_a_reconstruction_that_time_cut_short_says_so(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver's clock leaps ahead once its program is written, as on a machine that gave it no time."""
    solve, ticks = estimate.reconstruct_matrix, iter([*np.zeros(40), *np.full(100_000, 1e4)])
    monkeypatch.setattr(estimate, "reconstruct_matrix", lambda *args: solve(*args, clock=lambda: float(next(ticks))))
    made = looped(embedded_db, load_of(by_one_spine()))
    assert made.verdict == "cannot tell" and "time limit ended" in made.reason, made.reason
    assert "several matrices" not in made.reason and stored.stored_recommendation(made).parts == {}


def several_matrices() -> np.ndarray:
    return load_of((np.array([0, 0, 1, 1]), np.array([4, 6, 4, 6]), np.array([3e8, 2e8, 2e8, 3e8])))


def test_where_it_cannot_tell_levels_by_pair_are_an_answer(embedded_db: str) -> None:
    with connect(embedded_db) as conn:
        store(conn, several_matrices())
        run = asked(sls=4, vls=2)
        made = stored.run_stored_turn(run, stored.read_window(conn, run))
        assert made.verdict == "measure" and "may be sufficient" in made.reason and made.routes is None
        row = stored.stored_recommendation(made)
        kept = recommendations.lock_staged_routes(conn, recommendations.save_recommendation(conn, row))
    assert row.state == "recommended" and row.reason.startswith("Cannot tell: ")
    assert kept.lfts == row.parts["lfts"] and (kept.sls, kept.vls, kept.lmc) == (4, 2, 0)
    before, summary = (
        "".join(line + "\n" for line in stored.lft.format_dump(TREE_LOOP_STORED, PORTS)).encode(),
        made.summary(),
    )
    assert kept.lfts == before and summary["entries_changed"] is None, "the tables do not change"


def test_levels_that_are_there_already_are_no_answer(embedded_db: str) -> None:
    load = several_matrices()
    with connect(embedded_db) as conn:
        count_levels(conn, store(conn, load), np.stack([load / 2, load / 2], axis=1))
        run = asked(sls=2, vls=1)
        made = stored.run_stored_turn(run, stored.read_window(conn, run))
        assert made.levels == 2 and made.verdict == "cannot tell", made.reason
        more = asked(sls=4, vls=1)
        assert stored.run_stored_turn(more, stored.read_window(conn, more)).verdict == "measure"


def test_several_lids_and_groups_halve_what_one_port_cannot(embedded_db: str) -> None:
    """One pair, two spines: all of it over one of them by tables of one LID, half over each by two LIDs or by a group."""
    src, dst, size = (part[:1] for part in by_one_spine())
    with connect(embedded_db) as conn:
        store(conn, load_of((src, dst, size)))
        run = asked(lmc=1, splits=1)
        window = stored.read_window(conn, run)
        made = stored.run_stored_turn(run, window)
        loads = made.summary()["max_load_bytes"]
        assert made.verdict == "load" and "evenly over the 2 LIDs" in made.reason
        assert loads["before"] == pytest.approx(size[0], rel=1e-3)
        assert loads["after"] == pytest.approx(size[0] / 2, rel=1e-3) == pytest.approx(loads["groups"], rel=1e-3)
        kept = recommendations.lock_staged_routes(
            conn, recommendations.save_recommendation(conn, stored.stored_recommendation(made))
        )
        assert kept.lmc == 1 and kept.lfts is not None and kept.lfts.count(b"Channel Adapter") == 2 * 16 * 6
        one = stored.run_stored_turn(asked(splits=1), window)
    assert one.verdict == "keep" and one.summary()["max_load_bytes"]["groups"] == pytest.approx(size[0] / 2, rel=1e-3)


def count_levels(conn: psycopg.Connection, number: int, load: np.ndarray) -> None:
    """Let every port and adapter have counted bytes (links, service levels) in the bucket at the start."""
    routers, links = len(TREE_LOOP_STORED.routers), TREE_LOOP_STORED.links
    values = np.full((routers, 3, int(links.src_port.max()) + 1, LANES), np.nan)
    own = np.full((len(TREE_LOOP_STORED.endpoints), 3, 1, LANES), np.nan)
    for link, (src, port) in enumerate(zip(links.src, links.src_port, strict=True)):
        row = values[src, 0, port] if src < routers else own[src - routers, 0, 0]
        row[:] = 0
        row[: load.shape[1]] = load[link] / 4
    parts = []
    for counted in (values, own):
        device = np.arange(len(counted), dtype=np.int32)
        same = np.full(len(device), number, np.int32), device, np.full(len(device), START_S), np.full(len(device), 10.0)
        parts.append(counters.LaneRows(*same, counted))
    counters.write_batch(conn, counters.Batch(router_lanes=parts[:1], endpoint_lanes=parts[1:]))
    conn.commit()


def ambiguous() -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Two nodes of a leaf send to two of another, a service level a destination."""
    by_destination = {4: [3e8, 2e8], 6: [2e8, 3e8]}
    return [(np.array([0, 1]), np.full(2, to), np.array(sizes)) for to, sizes in by_destination.items()]


def test_service_levels_tell_what_their_sum_cannot(embedded_db: str) -> None:
    """The pattern that added up cannot be distinguished: level by level the matrix is the planted one, and there is a verdict."""
    load = np.column_stack([load_of(flows) for flows in ambiguous()])
    with connect(embedded_db) as conn:
        number = store(conn, load.sum(axis=1))
        before = stored.run_stored_turn(asked(), stored.read_window(conn, asked()))
        count_levels(conn, number, load)
        made = stored.run_stored_turn(asked(), stored.read_window(conn, asked()))
    assert before.verdict == "cannot tell" and before.summary()["levels"] == 1
    assert made.verdict in ("load", "keep") and made.summary()["levels"] == 2, made.reason
    assert made.found is not None
    pairs = dict(zip(zip(made.found.pairs.src.tolist(), made.found.pairs.dst.tolist(), strict=True), made.found.size, strict=True))  # fmt: skip
    for src, dst, size in ambiguous():
        assert [pairs[at] for at in zip(src.tolist(), dst.tolist(), strict=True)] == pytest.approx(size.tolist(), rel=1e-3)  # fmt: skip
    assert made.found.size.sum() == pytest.approx(1e9, rel=1e-3)


def test_levels_relieve_a_busy_link_that_their_sum_does_not(embedded_db: str) -> None:
    """Several nodes of a leaf send by the same spine to several others, each destination on a level of its own."""
    leaf = int(TREE_LOOP_STORED.endpoints.router[1])
    away = np.flatnonzero(TREE_LOOP_STORED.endpoints.router != leaf)
    to = away[PORTS[leaf, away] == PORTS[leaf, away[0]]][:3]
    at_leaf = np.flatnonzero(TREE_LOOP_STORED.endpoints.router == leaf)[:3]
    sizes = np.random.default_rng(5).uniform(1e8, 4e8, (3, 3))
    load = np.column_stack([load_of((at_leaf, np.full(3, one), sizes[:, n])) for n, one in enumerate(to)])
    with connect(embedded_db) as conn:
        number = store(conn, load.sum(axis=1))
        assert stored.run_stored_turn(asked(), stored.read_window(conn, asked())).verdict == "cannot tell"
        count_levels(conn, number, load)
        made = stored.run_stored_turn(asked(), stored.read_window(conn, asked()))
    assert made.verdict == "load", made.reason
    loads = made.summary()["max_load_bytes"]
    assert loads["before"] == pytest.approx(sizes.sum(), rel=1e-3) and loads["after"] < 0.8 * loads["before"]
    assert stored.stored_recommendation(made).state == "recommended"


def test_levels_of_another_time_are_not_believed(embedded_db: str) -> None:
    """Counters of levels that do not add up to their links' are left out."""
    load = np.column_stack([load_of(flows) for flows in ambiguous()])
    with connect(embedded_db) as conn:
        number = store(conn, load.sum(axis=1))
        count_levels(conn, number, 0.9 * load)
        made = stored.run_stored_turn(asked(), stored.read_window(conn, asked()))
    assert made.verdict == "cannot tell" and made.summary()["levels"] == 1


def test_without_traffic_it_claims_nothing(embedded_db: str) -> None:
    made = looped(embedded_db, np.zeros(len(TREE_LOOP_STORED.links)))
    assert made.verdict == "cannot tell" and "no traffic crossed" in made.reason and made.routes is None


@pytest.mark.parametrize(("times", "idle"), [(1, True), (100, False)])
def test_on_an_idle_fabric_the_loaded_tables_stay(embedded_db: str, times: int, idle: bool) -> None:
    """Packets of management alone: no traffic between nodes explains those of a collector, and nothing needs to."""
    load = np.zeros(len(TREE_LOOP_STORED.links))
    between = np.flatnonzero(TREE_LOOP_STORED.router_links())
    load[between[:3]] = np.array([9e6, 2e6, 1e5]) * times  # in ten seconds at 100 Gb/s
    made = looped(embedded_db, load)
    assert made.routes is None and ("idle" in made.reason) == idle
    assert made.verdict == ("keep" if idle else "cannot tell")


def asked_everywhere(packets: int = 170) -> np.ndarray:
    """What a collector at node 0 asks of every switch's management port, and what comes back: ways that no pair of nodes takes, VL 15 and all."""
    size, links, leaf = 288.0 * packets, TREE_LOOP_STORED.links, int(TREE_LOOP_STORED.endpoints.router[0])
    load = np.where(TREE_LOOP_STORED.router_links() & ((links.src == leaf) | (links.dst == leaf)), 3 * size, 0.0)
    at_other = TREE_LOOP_STORED.router_links() & (links.src != leaf) & (links.dst != leaf)
    load[at_other] = size
    load[links.src == len(TREE_LOOP_STORED.routers)] = load[links.dst == len(TREE_LOOP_STORED.routers)] = 5 * size
    return load


def unmeasured(fabric: Fabric) -> Fabric:
    """The same, of which nobody knows the speeds."""
    return replace(fabric, links=replace(fabric.links, bandwidth_bps=np.full(len(fabric.links), np.nan)))


@pytest.mark.system("numeric")
def test_a_nearly_idle_subnet_is_not_accused(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than idle, and so little that the collector's packets are no small share of it."""
    # Nothing explains the collector's packets, so that the solver uses all of its time: here so many steps.
    solve, ticks = estimate.reconstruct_matrix, itertools.count()
    monkeypatch.setattr(estimate, "reconstruct_matrix", lambda *args: solve(*args, clock=lambda: next(ticks) / 1000))
    src, dst, _ = by_one_spine()
    load = load_of((src, dst, np.array([3e7, 2e7])))
    carried = load + asked_everywhere(20)
    made = looped(embedded_db, carried, limit_s=5)
    assert carried[carried > load].min() > 0 and asked_everywhere(20).max() > stored.QUIET * carried.max()
    assert made.verdict == "load", made.reason


def test_of_management_alone_it_cannot_tell(embedded_db: str) -> None:
    made = looped(embedded_db, asked_everywhere(), fabric=unmeasured(TREE_LOOP_STORED))
    assert made.verdict == "cannot tell" and made.reason.startswith("too little traffic to tell"), made.reason


@pytest.mark.parametrize("size", [1e7, 1e9])
def test_tables_that_were_not_loaded_are_found_at_moderate_load(embedded_db: str, size: float) -> None:
    """The traffic took the other spine."""
    src, dst, _ = by_one_spine()
    load = load_of((src, dst, np.array([size, size])))
    ends = list(zip(TREE_LOOP_STORED.links.src.tolist(), TREE_LOOP_STORED.links.dst.tolist(), strict=True))
    spines = np.flatnonzero(TREE_LOOP_STORED.routers.level == 1).tolist()
    other = dict(zip(spines, spines[::-1], strict=True))
    taken = load[[ends.index((other.get(one, one), other.get(two, two))) for one, two in ends]]
    made = looped(embedded_db, taken + asked_everywhere(20))
    assert made.verdict == "cannot tell" and "counters contradict the routes" in made.reason, made.reason


def test_adapters_that_nobody_counted_are_named(embedded_db: str) -> None:
    made = looped(embedded_db, load_of(by_one_spine()), adapters=False)
    assert made.verdict == "cannot tell" and "16 of 48 links were not counted" in made.reason
    assert "--adapters" in made.reason and stored.stored_recommendation(made).parts == {}


def test_counters_that_contradict_one_another_tell_nothing(embedded_db: str) -> None:
    load = load_of(by_one_spine())
    load[np.argmax(load)] *= 3
    made = looped(embedded_db, load)
    assert made.verdict == "cannot tell" and "counters conflict" in made.reason and made.routes is None


def test_a_simulated_fabric_is_labelled(embedded_db: str) -> None:
    made = looped(embedded_db, load_of(by_one_spine()), fabric=replace(TREE_LOOP_STORED, simulated=True))
    assert made.summary()["simulated"] is True
    row = stored.stored_recommendation(made)
    assert row.simulated and row.figures == "simulated"


def test_quiet_links_are_left_out_and_counted(embedded_db: str) -> None:
    """The collector's own questions travel everywhere."""
    load = load_of(by_one_spine()) + 1000.0
    made = looped(embedded_db, load)
    assert made.verdict == "load", made.reason
    assert made.quiet_bytes == 1000.0 * int((load == 1000).sum())


def test_bad_questions(embedded_db: str) -> None:
    with connect(embedded_db) as conn:
        with pytest.raises(NotFound):
            stored.read_window(conn, asked())
        number = store(conn, load_of(by_one_spine()), tables=False)
        with pytest.raises(BadRequest, match="flitwatch import routes"):
            stored.read_window(conn, asked())
        route_changes.record_change(conn, number, at(-3600), PORTS)
        with pytest.raises(BadRequest, match="newest counters end at 2025-10-09T08:53:30"):
            stored.read_window(conn, asked(from_s=START_S + 600, to_s=START_S + 660))
        other = PORTS.copy()
        other[0, 9] = -1
        route_changes.record_change(conn, number, at(4), other)
        with pytest.raises(Conflict, match="within the window"):
            stored.read_window(conn, asked())


def test_a_subnet_under_two_names_says_why_nothing_was_counted(embedded_db: str) -> None:
    guids = np.array([f"0x{one:016x}" for one in range(1, len(TREE_LOOP_STORED.routers) + 1)])
    twice = [
        replace(TREE_LOOP_STORED, name=name, routers=replace(TREE_LOOP_STORED.routers, guid=guids))
        for name in ("tree", "again")
    ]
    with connect(embedded_db) as conn:
        for fabric in twice:
            fabrics.save_fabric(conn, fabric)
        with pytest.raises(BadRequest, match="no port of tree was counted") as refused:
            stored.read_window(conn, asked())
    assert refused.value.advice is not None
    assert refused.value.advice.startswith("Its switches are in again too") and "--fabric" in refused.value.advice


@pytest.mark.parametrize(
    ("count", "text"),
    [(0.0, "0 bytes"), (900.0, "900 bytes"), (2048.0, "2 KiB"), (2.382e11, "222 GiB"), (4e15, "3.64e+03 TiB")],
)
def test_bytes_of_an_advice_are_as_people_read_them(count: float, text: str) -> None:
    assert stored._format_bytes(count) == text
