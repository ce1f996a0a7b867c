"""The loop on stored counters: planted traffic is found and its routes improve; where the counters cannot tell, it says so and lays no tables."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import psycopg
import pytest

from flitwatch_db import connect
from flitwatch_db.core.additive import ensure_chunks
from flitwatch_db.counters import store as counters
from flitwatch_db.estimates import recommendations
from flitwatch_db.fabrics import route_changes
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import LANES
from flitwatch_domain.errors import BadRequest, Conflict, NotFound
from flitwatch_domain.fabric import CountedAt, Fabric
from flitwatch_domain.generators import xgft
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.forwarding import check
from flitwatch_simulation.loop import stored

#: A window's start; a whole bucket.
START_S = 1_760_000_000
TREE = replace(xgft(2, [4, 4], [1, 2]), name="tree", simulated=False, counted_at=CountedAt.SENDER)
PORTS = ftree_tables(TREE)


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(START_S + seconds, UTC)


def by_one_spine() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One node sends to two others that its leaf reaches by the same spine."""
    leaf = int(TREE.endpoints.router[1])
    away = np.flatnonzero(TREE.endpoints.router != leaf)
    same = away[PORTS[leaf, away] == PORTS[leaf, away[0]]][:2]
    return np.full(2, 1), same, np.array([4e8, 3e8])


def load_of(flows: tuple[np.ndarray, np.ndarray, np.ndarray], fabric: Fabric = TREE) -> np.ndarray:
    """Bytes of each link, those from the nodes to their switches too."""
    load = check(fabric, PORTS, flows).load
    for source, size in zip(flows[0], flows[2], strict=True):
        load[fabric.links.src == len(fabric.routers) + source] += size
    return load


def store(
    conn: psycopg.Connection, load: np.ndarray, fabric: Fabric = TREE, adapters: bool = True, tables: bool = True
) -> int:
    """A fabric whose switches' ports and adapters counted this in the bucket at the start."""
    number = fabrics.save(conn, fabric)
    routers, links = len(fabric.routers), fabric.links
    ensure_chunks(conn, "port_10s", np.array([START_S]))
    ensure_chunks(conn, "endpoint_1s", np.array([START_S]))
    words = np.full((routers, int(links.src_port.max()) + 1), np.nan)
    for link in np.flatnonzero(links.src < routers):
        words[links.src[link], links.src_port[link]] = load[link] / 4
    for router in range(routers):
        conn.execute(
            "INSERT INTO port_10s (fabric_id, router, ts, port_seconds, flits) VALUES (%s, %s, %s, 10, %s)",
            [number, router, at(0), [None if one != one else one for one in words[router].tolist()]],
        )
    for link in np.flatnonzero(links.src >= routers) if adapters else ():
        conn.execute(
            "INSERT INTO endpoint_1s (fabric_id, endpoint, ts, samples, seconds, tx_bytes) VALUES (%s, %s, %s, 1, 10, %s)",
            [number, int(links.src[link]) - routers, at(5), load[link]],
        )
    if tables:
        route_changes.record(conn, number, at(-3600), PORTS)
    conn.commit()
    return number


def asked(**change: float) -> stored.StoredRun:
    run = stored.StoredRun("tree", START_S, START_S + 10, optimise_s=0.3, reconstruct_s=5)
    return replace(run, **change)  # type: ignore[arg-type]


def looped(url: str, load: np.ndarray, **how: object) -> stored.StoredTurn:
    with connect(url) as conn:
        store(conn, load, **how)  # type: ignore[arg-type]
        return stored.turn(asked(), stored.read(conn, asked()))


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
        number = recommendations.save(conn, stored.recommendation(made))
        kept = recommendations.staging(conn, number)
    assert kept.state == "recommended" and kept.lfts is not None and kept.lfts.count(b"Switch portguid") == 36


def test_even_routes_stay(embedded_db: str) -> None:
    src, dst, size = (part[:1] for part in by_one_spine())
    made = looped(embedded_db, load_of((src, dst, size)))
    assert made.verdict == "keep" and "would not help" in made.reason
    assert stored.recommendation(made).parts == {} and stored.recommendation(made).state == "refused"


def test_what_several_matrices_explain_it_cannot_tell(embedded_db: str) -> None:
    """Two nodes of a leaf send to two of another: who sent how much to whom is in no counter."""
    sent = np.array([3e8, 2e8, 2e8, 3e8])
    made = looped(embedded_db, load_of((np.array([0, 0, 1, 1]), np.array([4, 6, 4, 6]), sent)))
    assert made.verdict == "cannot tell" and "several matrices" in made.reason, made.reason
    assert made.routes is None and stored.recommendation(made).parts == {}


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
        before = stored.turn(asked(), stored.read(conn, asked()))
        count_levels(conn, number, load)
        made = stored.turn(asked(), stored.read(conn, asked()))
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
        assert stored.turn(asked(), stored.read(conn, asked())).verdict == "cannot tell"
        count_levels(conn, number, load)
        made = stored.turn(asked(), stored.read(conn, asked()))
    assert made.verdict == "load", made.reason
    loads = made.summary()["max_load_bytes"]
    assert loads["before"] == pytest.approx(sizes.sum(), rel=1e-3) and loads["after"] < 0.8 * loads["before"]
    assert stored.recommendation(made).state == "recommended"


def test_levels_of_another_time_are_not_believed(embedded_db: str) -> None:
    """Counters of levels that do not add up to their links' are left out."""
    load = np.column_stack([load_of(flows) for flows in ambiguous()])
    with connect(embedded_db) as conn:
        number = store(conn, load.sum(axis=1))
        count_levels(conn, number, 0.9 * load)
        made = stored.turn(asked(), stored.read(conn, asked()))
    assert made.verdict == "cannot tell" and made.summary()["levels"] == 1


def test_without_traffic_it_claims_nothing(embedded_db: str) -> None:
    made = looped(embedded_db, np.zeros(len(TREE.links)))
    assert made.verdict == "cannot tell" and "no traffic crossed" in made.reason and made.routes is None


def test_adapters_that_nobody_counted_are_named(embedded_db: str) -> None:
    made = looped(embedded_db, load_of(by_one_spine()), adapters=False)
    assert made.verdict == "cannot tell" and "16 of 48 links were not counted" in made.reason
    assert "--adapters" in made.reason and stored.recommendation(made).parts == {}


def test_counters_that_contradict_one_another_tell_nothing(embedded_db: str) -> None:
    load = load_of(by_one_spine())
    load[np.argmax(load)] *= 3
    made = looped(embedded_db, load)
    assert made.verdict == "cannot tell" and "counters conflict" in made.reason and made.routes is None


def test_a_simulated_fabric_is_labelled(embedded_db: str) -> None:
    made = looped(embedded_db, load_of(by_one_spine()), fabric=replace(TREE, simulated=True))
    assert made.summary()["simulated"] is True
    row = stored.recommendation(made)
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
            stored.read(conn, asked())
        number = store(conn, load_of(by_one_spine()), tables=False)
        with pytest.raises(BadRequest, match="flitwatch import routes"):
            stored.read(conn, asked())
        route_changes.record(conn, number, at(-3600), PORTS)
        with pytest.raises(BadRequest, match="newest counters end at 2025-10-09T08:53:30"):
            stored.read(conn, asked(from_s=START_S + 600, to_s=START_S + 660))
        other = PORTS.copy()
        other[0, 9] = -1
        route_changes.record(conn, number, at(4), other)
        with pytest.raises(Conflict, match="within the window"):
            stored.read(conn, asked())


@pytest.mark.parametrize(
    ("count", "text"),
    [(0.0, "0 bytes"), (900.0, "900 bytes"), (2048.0, "2 KiB"), (2.382e11, "222 GiB"), (4e15, "3.64e+03 TiB")],
)
def test_bytes_of_an_advice_are_as_people_read_them(count: float, text: str) -> None:
    assert stored._size(count) == text
