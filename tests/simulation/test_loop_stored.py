"""The loop on stored counters: planted traffic is found and its routes improve; where the counters cannot tell, it says so and lays no tables."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import psycopg
import pytest
from support.stored_loop import PORTS, START_S, TREE, asked, at, by_one_spine, load_of, looped, store

from flitwatch_db import connect
from flitwatch_db.counters import store as counters
from flitwatch_db.estimates import recommendations
from flitwatch_db.fabrics import route_changes
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import LANES
from flitwatch_domain.errors import BadRequest, Conflict, NotFound
from flitwatch_domain.fabric import Fabric
from flitwatch_simulation.loop import estimate, stored


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
    before, summary = "".join(line + "\n" for line in stored.lft.format_dump(TREE, PORTS)).encode(), made.summary()
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
    routers, links = len(TREE.routers), TREE.links
    values = np.full((routers, 3, int(links.src_port.max()) + 1, LANES), np.nan)
    own = np.full((len(TREE.endpoints), 3, 1, LANES), np.nan)
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
    """The pattern that added up cannot be told apart: level by level the matrix is the planted one, and there is a verdict."""
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
    leaf = int(TREE.endpoints.router[1])
    away = np.flatnonzero(TREE.endpoints.router != leaf)
    to = away[PORTS[leaf, away] == PORTS[leaf, away[0]]][:3]
    at_leaf = np.flatnonzero(TREE.endpoints.router == leaf)[:3]
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
    made = looped(embedded_db, np.zeros(len(TREE.links)))
    assert made.verdict == "cannot tell" and "no traffic crossed" in made.reason and made.routes is None


@pytest.mark.parametrize(("times", "idle"), [(1, True), (100, False)])
def test_on_an_idle_fabric_the_loaded_tables_stay(embedded_db: str, times: int, idle: bool) -> None:
    """Packets of management alone: no traffic between nodes explains those of a collector, and nothing needs to."""
    load = np.zeros(len(TREE.links))
    between = np.flatnonzero(TREE.router_links())
    load[between[:3]] = np.array([9e6, 2e6, 1e5]) * times  # in ten seconds at 100 Gb/s
    made = looped(embedded_db, load)
    assert made.routes is None and ("idle" in made.reason) == idle
    assert made.verdict == ("keep" if idle else "cannot tell")


def asked_everywhere(packets: int = 170) -> np.ndarray:
    """What a collector at node 0 asks of every switch's management port, and what comes back: ways that no pair of nodes takes, VL 15 and all."""
    size, links, leaf = 288.0 * packets, TREE.links, int(TREE.endpoints.router[0])
    load = np.where(TREE.router_links() & ((links.src == leaf) | (links.dst == leaf)), 3 * size, 0.0)
    at_other = TREE.router_links() & (links.src != leaf) & (links.dst != leaf)
    load[at_other] = size
    load[links.src == len(TREE.routers)] = load[links.dst == len(TREE.routers)] = 5 * size
    return load


def unmeasured(fabric: Fabric) -> Fabric:
    """The same, of which nobody knows the speeds."""
    return replace(fabric, links=replace(fabric.links, bandwidth_bps=np.full(len(fabric.links), np.nan)))


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
    made = looped(embedded_db, asked_everywhere(), fabric=unmeasured(TREE))
    assert made.verdict == "cannot tell" and made.reason.startswith("too little traffic to tell"), made.reason


@pytest.mark.parametrize("size", [1e7, 1e9])
def test_tables_that_were_not_loaded_are_found_at_moderate_load(embedded_db: str, size: float) -> None:
    """The traffic took the other spine."""
    src, dst, _ = by_one_spine()
    load = load_of((src, dst, np.array([size, size])))
    ends = list(zip(TREE.links.src.tolist(), TREE.links.dst.tolist(), strict=True))
    spines = np.flatnonzero(TREE.routers.level == 1).tolist()
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
    made = looped(embedded_db, load_of(by_one_spine()), fabric=replace(TREE, simulated=True))
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
    guids = np.array([f"0x{one:016x}" for one in range(1, len(TREE.routers) + 1)])
    twice = [replace(TREE, name=name, routers=replace(TREE.routers, guid=guids)) for name in ("tree", "again")]
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
