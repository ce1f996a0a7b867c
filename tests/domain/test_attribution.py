"""Attribution: a packet's links, the waiting time of flits there, and the named job."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from itertools import pairwise

import networkx
import numpy as np
import pytest
from domain.scenes import T0, made, neighbour, scenery, steps
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from flitwatch_domain.attribution import LinksOfMoment, Moment, Places, attribute_waiting
from flitwatch_domain.diagnosis import Turns
from flitwatch_domain.errors import BadInput
from flitwatch_domain.explanation import slowdown
from flitwatch_domain.explanation.flow import LEAST_PART, MOST_NAMED, Flow, name_jobs, slows_itself
from flitwatch_domain.explanation.slowdown import COUNTER_Z, INTERVAL_DROP, Series
from flitwatch_domain.fabric import Endpoints, Fabric, FabricKind, Routers, Technology
from flitwatch_domain.fabric.arrays import both_directions
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.link_shares import JobTraffic
from flitwatch_domain.link_waits import PortCounts, WaitingTurns, link_waits
from flitwatch_domain.sampling import Reach
from flitwatch_domain.tree_routes import TreeRoutes


def random_fabric(seed: int, routers: int, cables: int) -> Fabric:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, routers, (cables, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    hosts = np.arange(4)
    a = np.concatenate([pairs[:, 0], routers + hosts])
    b = np.concatenate([pairs[:, 1], hosts % routers])
    links = both_directions(a, b, -1, -1, 0, 0, 1e9, ["link"])
    return Fabric(
        "random",
        FabricKind.GRAPH,
        Technology.GENERIC,
        Routers([f"s{i}" for i in range(routers)]),
        Endpoints(hosts % routers),
        links,
    )


@given(st.integers(0, 2**31), st.integers(2, 7), st.integers(1, 14))
def test_candidates_are_the_links_of_all_shortest_ways(seed, routers, cables):
    fabric = random_fabric(seed, routers, cables)
    graph = networkx.MultiDiGraph()
    graph.add_nodes_from(range(fabric.vertices))
    graph.add_edges_from(
        (int(a), int(b), link) for link, (a, b) in enumerate(zip(fabric.links.src, fabric.links.dst, strict=True))
    )
    reach = Reach(fabric)
    for begin in range(4):
        for end in set(range(4)) - {begin}:
            ends = routers + begin, routers + end
            if not networkx.has_path(graph, *ends):
                with pytest.raises(BadInput):
                    reach.candidates(begin, end)
                continue
            ways = networkx.all_shortest_paths(networkx.DiGraph(graph), *ends)
            expected = {key for way in ways for pair in itertools.pairwise(way) for key in graph[pair[0]][pair[1]]}
            assert set(reach.candidates(begin, end).tolist()) == expected
            path = reach.path(begin, end)
            assert set(path) <= expected
            assert len(path) == networkx.shortest_path_length(graph, *ends)


def test_a_detour_widens_the_choice():
    fabric = build_xgft(2, (4, 4), (1, 2))
    reach = Reach(fabric)
    candidates_near = reach.candidates(0, 1)
    assert candidates_near.size == 2
    assert set(candidates_near) < set(reach.candidates(0, 1, detour=2))


def test_more_links_than_names_are_refused():
    hosts = np.zeros(2**15, np.int32)
    fabric = Fabric(
        "large",
        FabricKind.GRAPH,
        Technology.GENERIC,
        Routers(["s"]),
        Endpoints(hosts),
        both_directions(np.arange(1, 2**15 + 1), hosts, -1, -1, 0, 0, 1e9, ["link"]),
    )
    with pytest.raises(BadInput, match="65535"):
        Reach(fabric)


# The statistics of an onset against the same written plainly: every stretch, every beginning and every boundary is tried.


def test_the_largest_sum_is_that_of_all_stretches() -> None:
    rng = np.random.default_rng(11)
    for _ in range(200):
        values = rng.normal(0, 1, 30)
        sums = {(i, j): values[i : j + 1].sum() for i in range(30) for j in range(i, 30)}
        assert slowdown._largest_sum(values) == max(sums, key=lambda ends: sums[ends])
    assert slowdown._largest_sum(np.full(5, -1.0)) == (0, -1)
    # Of stretches of one sum the first and shortest: what adds nothing is not slow.
    assert slowdown._largest_sum(np.array([0.0, 2.0, 0.0, -5.0, 2.0])) == (1, 1)


def test_the_onset_is_every_beginning_that_is_likely_enough_and_hangs_together() -> None:
    rng = np.random.default_rng(12)
    widths = []
    for _ in range(200):
        first, sigma = int(rng.integers(2, 12)), float(rng.uniform(0.03, 0.3))
        ratio = rng.normal(0, sigma, 20)
        ratio[first:18] += 0.4
        mean = ratio[first:18].mean()

        def likelihood(begin: int, ratio: np.ndarray = ratio, mean: float = mean, sigma: float = sigma) -> float:
            return float(sum(-((one - mean) ** 2) + one**2 for one in ratio[begin:18]) / (2 * sigma**2))

        fits = [likelihood(begin) >= likelihood(first) - INTERVAL_DROP for begin in range(18)]
        low = next((begin + 1 for begin in range(first, -1, -1) if not fits[begin]), 0)
        high = next((begin - 1 for begin in range(first, 18) if not fits[begin]), 17)
        assert slowdown.onset_steps(ratio, first, 17, sigma) == (low, high)
        widths.append(high - low)
    assert 0 in widths and max(widths) >= 2


def plain_rise(at: np.ndarray, value: np.ndarray, low_s: float, high_s: float, width_s: float) -> float | None:
    """Every boundary within the interval, by the sum of squares that it leaves."""
    span = max((high_s - low_s) / 2, 4 * width_s)
    taken = [
        (moment, math.log(one))
        for moment, one in zip(at.tolist(), value.tolist(), strict=True)
        if low_s - span <= moment < high_s + span and math.isfinite(one) and one > 0
    ]
    moments, logs = [one[0] for one in taken], np.array([one[1] for one in taken])
    if len(logs) < 6:
        return None
    best = None
    for cut in range(1, len(logs)):
        before, after = logs[:cut], logs[cut:]
        left = ((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum()
        inside = low_s - width_s <= moments[cut] <= high_s + width_s
        if inside and after.mean() > before.mean() and (best is None or left < best[0] - 1e-12):
            best = (left, cut)
    if best is None:
        return None
    before, after = logs[: best[1]], logs[best[1] :]
    rest = np.concatenate((before - before.mean(), after - after.mean()))
    noise = max(float(np.median(np.abs(np.diff(logs)))) / 0.6745 / math.sqrt(2), float(rest.std()), 0.02)
    gap = after.mean() - before.mean()
    z = gap / (noise * math.sqrt(1 / len(before) + 1 / len(after)))
    return float(moments[best[1]]) if z >= COUNTER_Z and gap >= math.log(1.2) else None


@pytest.mark.parametrize("width_s", [1.0, 10.0])
def test_the_rise_is_the_boundary_that_leaves_the_least(width_s: float) -> None:
    rng = np.random.default_rng(13)
    found = []
    for _ in range(300):
        at = T0 + width_s * np.arange(60)
        shift = rng.uniform(0.0, 1.2)
        place = int(rng.integers(10, 50))
        value = np.exp(rng.normal(0, rng.uniform(0.01, 0.3), 60) + np.where(np.arange(60) >= place, shift, 0))
        value[rng.random(60) < 0.1] = rng.choice([np.nan, 0.0])
        low = T0 + width_s * (place - rng.uniform(0, 12))
        high = low + width_s * rng.uniform(1, 24)
        wanted = plain_rise(at, value, low, high, width_s)
        assert slowdown.find_rise_s(Series(at, value, width_s), low, high) == wanted
        found.append(wanted is not None)
    assert 50 < sum(found) < 250


# How long flits wait for each link of a tree, from what the ports that lead there counted: against waits that were planted pair by pair.


Floats = NDArray[np.float64]

#: Four leaves of six nodes, three spines.
FABRIC = build_xgft(2, (6, 4), (1, 3), bandwidth_bps=80e9)

LINKS, SWITCHES, ENDS = FABRIC.links, len(FABRIC.routers), len(FABRIC.endpoints)

HOME = FABRIC.endpoints.router.astype(np.int64)

AT = {pair: link for link, pair in enumerate(zip(LINKS.src.tolist(), LINKS.dst.tolist(), strict=True))}

SPINES = np.flatnonzero(FABRIC.routers.level == 1).tolist()

#: One job has half of every leaf but the last, another the other halves of the first two, and a third the last leaf and half of the third.
JOBS = [np.flatnonzero((np.arange(ENDS) % 6 < 3) & (HOME < 3)), np.flatnonzero((np.arange(ENDS) % 6 >= 3) & (HOME < 2)),
        np.flatnonzero((HOME == 3) | (HOME == 2) & (np.arange(ENDS) % 6 >= 3))]  # fmt: skip

RATES = (0.2e9, 0.2e9, 1.5e9)

#: Down to the third leaf flits wait.
FULL = [AT[spine, 2] for spine in SPINES]


def planted(waits: Floats) -> tuple[Floats, Floats, Floats]:
    """Bytes of each link, and of each job there, and the waiting that each port counts, where flits wait so long for each link."""
    loads, waited = np.zeros((len(LINKS), len(JOBS))), np.zeros(len(LINKS))
    for number, (ends, rate) in enumerate(zip(JOBS, RATES, strict=True)):
        for one in ends.tolist():
            for other in ends[ends != one].tolist():
                moved = rate / (len(ends) - 1)
                a, b = int(HOME[one]), int(HOME[other])
                begin, end = SWITCHES + one, SWITCHES + other
                ways = [[begin, a, end]] if a == b else [[begin, a, spine, b, end] for spine in SPINES]
                for way in ways:
                    hops = [AT[pair] for pair in pairwise(way)]
                    loads[hops, number] += moved / len(ways)
                    for first, then in pairwise(hops):
                        waited[first] += moved / len(ways) * waits[then]
    return loads.sum(axis=1), loads, waited


def found(carried: Floats, waited: Floats, sums: bool, most: Floats | None = None) -> Floats:
    """Waits of the links that the first job takes, by ports, or by the sums of each switch's ports."""
    routes = TreeRoutes(FABRIC)
    of_node = np.bincount(LINKS.src, carried)[SWITCHES:]
    traffic = [JobTraffic(HOME[ends], of_node[ends], of_node[ends], ends) for ends in JOBS]
    loads = routes.loads(traffic, np.arange(len(LINKS)), 0.0)
    count = np.where(sums & (LINKS.src < SWITCHES), LINKS.src, SWITCHES + np.arange(len(LINKS))).astype(np.int64)
    cards = (LINKS.src >= SWITCHES) | (LINKS.dst >= SWITCHES)
    ports = PortCounts(np.where(sums & ~cards, np.nan, carried), count, np.bincount(count, waited))
    mine = np.flatnonzero((loads[:, 0] > 0) & (LINKS.src < SWITCHES))
    waits = link_waits(WaitingTurns.to(mine, Turns(FABRIC), ports), loads, ports, loads.sum(axis=1) / 10e9, most)
    return np.where(np.isin(np.arange(len(LINKS)), mine), waits, np.nan)


@pytest.mark.parametrize("sums", [False, True], ids=["ports", "sums of switches"])
def test_a_full_link_is_distinguished_from_its_siblings_by_the_ports_that_lead_to_it(sums: bool) -> None:
    waits = np.full(len(LINKS), 0.05)
    waits[FULL] = 4.0
    carried, loads, waited = planted(waits)
    result = found(carried, waited, sums)
    rest = np.setdiff1d(np.flatnonzero(np.isfinite(result)), FULL)
    assert (np.abs(result[FULL] / 4.0 - 1) < 0.25).all() and result[rest].max() < 0.4, (
        result[FULL],
        result[rest].max(),
    )
    # What is expected of each link is what the pairs put there.
    np.testing.assert_allclose(loads.sum(axis=1), carried)


@pytest.mark.parametrize("sums", [False, True], ids=["ports", "sums of switches"])
def test_a_link_makes_nobody_wait_longer_than_its_most_and_the_full_one_keeps_its_wait(sums: bool) -> None:
    waits, most = np.full(len(LINKS), 0.05), np.full(len(LINKS), np.inf)
    waits[FULL], most[LINKS.dst >= SWITCHES] = 4.0, 0.02
    carried, _, waited = planted(waits)
    free, result = found(carried, waited, sums), found(carried, waited, sums, most)
    assert np.nanmax(result[LINKS.dst >= SWITCHES]) <= 0.02 < np.nanmax(free[LINKS.dst >= SWITCHES])
    assert (np.abs(result[FULL] / 4.0 - 1) < 0.25).all(), result[FULL]


def test_links_that_no_count_leads_to_are_not_reported() -> None:
    carried, _, waited = planted(np.full(len(LINKS), 1.0))
    waited[LINKS.dst == SPINES[0]] = np.nan
    result = found(carried, waited, False)
    down = LINKS.src == SPINES[0]
    assert np.isnan(result[down]).all() and np.isfinite(result[(LINKS.src == SPINES[1]) & (LINKS.dst < 3)]).all()


# Who may be named for what a job waits for: nobody without waiting, nobody who came later as the first, nobody who does not stand out.


OWN = 0


def flow(
    part: dict[int, float],
    *,
    waiting: float = 1.0,
    quiet: float = 0.02,
    moments: list[tuple[float, dict[int, float]]] | None = None,
) -> Flow:
    return Flow(waiting, quiet, 1.0, part, part.get(OWN, 0.0), 0.0, [60.0], 60, moments or [(waiting, part)])


@pytest.mark.parametrize(
    ("part", "before", "after", "expected"),
    [
        ({1: 0.8, 2: 0.05}, [1, 2], [], [1]),
        ({1: 0.52, 2: 0.2}, [1, 2], [], [1]),
        ({1: 0.45, 2: 0.4, 3: 0.05}, [1, 2, 3], [], [1, 2]),
        ({1: 0.25, 2: 0.2, 3: 0.2, 4: 0.05}, [1, 2, 3, 4], [], [1, 2, 3]),
        ({1: 0.45, 2: 0.1}, [1, 2], [], []),
        ({1: 0.2, 2: 0.2, 3: 0.2, 4: 0.2}, [1, 2, 3, 4], [], []),
        ({1: 0.9}, [], [1], []),
        ({1: 0.3, 2: 0.55}, [1], [2], [1, 2]),
        ({OWN: 0.5, 1: 0.45}, [1], [], []),
        ({}, [], [], []),
    ],
)
def test_who_stands_out_is_named(
    part: dict[int, float], before: list[int], after: list[int], expected: list[int]
) -> None:
    assert name_jobs(flow(part), OWN, before, after) == expected


def test_who_stands_out_in_one_minute_alone_is_named_too() -> None:
    """Two culprits, one after the other: over all minutes the second hides the first."""
    early, late = {1: 0.8, 2: 0.0}, {1: 0.02, 2: 0.9}
    assert name_jobs(flow({1: 0.3, 2: 0.6}, moments=[(0.8, early), (1.5, late)]), OWN, [1], [2]) == [1, 2]
    # A minute in which the job hardly waits says nothing, and neither does a job that is of next to no account over all.
    assert name_jobs(flow({1: 0.3, 2: 0.6}, moments=[(0.3, early), (1.5, late)]), OWN, [2], [1]) == [2]
    assert name_jobs(flow({1: 0.05, 2: 0.8}, moments=[(0.8, early), (1.5, late)]), OWN, [2], [1]) == [2]


@pytest.mark.parametrize("several", [True, False])
def test_who_slowed_a_job_before_another_joined_is_named_first(several: bool) -> None:
    """A second cause makes flits wait so much longer that the first has 17 % over all, and no worst minute shows it."""

    def named(early: dict[int, float], early_waiting: float = 0.5) -> list[int]:
        moments = [(early_waiting, early)] * 3 + [(2.0, {1: 0.02, 2: 0.9})] * 4
        whole = sum(waiting for waiting, _ in moments)
        part = {job: sum(waiting * of.get(job, 0.0) for waiting, of in moments) / whole for job in (OWN, 1, 2, 3)}
        joined = replace(flow(part, waiting=whole / 7, moments=moments), several=several)
        return name_jobs(joined, OWN, [1, 3], [2])

    assert named({1: 0.93, 3: 0.02}) == [1, 2]
    # Before the second one joined nobody stood out, the job slowed itself, or flits waited no longer than usual; or the first is of next to no account.
    assert named({1: 0.4, 3: 0.35}) == []
    assert named({1: 0.2, 3: 0.15, 4: 0.2, 5: 0.2}) == []
    assert named({OWN: 0.6, 1: 0.3}) == [] and named({1: 0.93}, early_waiting=0.015) == []
    assert named({1: 0.93}, early_waiting=0.2) == []
    # What it has while the second one jams the links does not count.
    later = {1: 0.12, 2: 0.7, 3: 0.15}
    weak = flow({1: 0.123, 2: 0.69, 3: 0.15}, moments=[(0.03, {1: 0.6, 3: 0.1}), (2.0, later), (2.0, later)])
    assert name_jobs(replace(weak, several=several), OWN, [1, 3], [2]) == []


@pytest.mark.parametrize(("waiting", "quiet"), [(0.0, 0.0), (0.019, 0.0), (0.3, 0.7)])
def test_where_the_links_stall_no_more_than_usual_nobody_is_named(waiting: float, quiet: float) -> None:
    result = flow({1: 0.95, OWN: 0.9}, waiting=waiting, quiet=quiet)
    assert not result.carried and name_jobs(result, OWN, [1], []) == [] and not slows_itself(result, OWN, None)


def test_the_usual_traffic_of_a_job_does_not_slow_it() -> None:
    """With a quiet minute before its start all of its traffic seems to be added, though it ran at its usual speed at first."""
    own = replace(flow({OWN: 0.6, 1: 0.3}), quiet_s=600.0)
    assert slows_itself(own, OWN, None) and slows_itself(own, OWN, 600.0) and slows_itself(own, OWN, 629.0)
    assert not slows_itself(own, OWN, 630.0) and not slows_itself(own, OWN, 5000.0)


def test_a_job_whose_own_traffic_is_half_slows_itself() -> None:
    assert slows_itself(flow({OWN: 0.5, 1: 0.3}), OWN, None) and not slows_itself(flow({OWN: 0.49, 1: 0.3}), OWN, None)
    # Its traffic is always there: in a minute of long waits that belong to another job it is not what slows it.
    alone, other = {OWN: 0.9}, {OWN: 0.1, 1: 0.8}
    assert slows_itself(flow({OWN: 0.6, 1: 0.3}, moments=[(0.9, alone), (0.4, other)]), OWN, None)
    assert not slows_itself(flow({OWN: 0.6, 1: 0.3}, moments=[(0.9, alone), (0.5, other)]), OWN, None)


@given(
    st.dictionaries(st.integers(0, 12), st.floats(0, 1), max_size=12),
    st.sets(st.integers(1, 12)),
)
def test_every_name_stands_out_and_the_first_was_there_before(part: dict[int, float], later: set[int]) -> None:
    whole = sum(part.values())
    part = {job: share / max(whole, 1.0) for job, share in part.items()}
    before, after = [job for job in part if job != OWN and job not in later], [job for job in part if job in later]
    result = name_jobs(flow(part), OWN, before, after)
    assert len(result) <= MOST_NAMED and len(set(result)) == len(result) and OWN not in result
    if result:
        assert result[0] in before and min(part[job] for job in result) >= LEAST_PART
        assert sum(part.values()) - sum(part[job] for job in result) - part.get(OWN, 0.0) <= 0.85


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        # One that has half and leads; or several that have nearly all.
        ({1: 0.55, 2: 0.25}, [1]),
        ({1: 0.55, 2: 0.44}, [1, 2]),
        ({1: 0.55, 2: 0.3}, [1, 2]),
        ({1: 0.5, 2: 0.26}, []),
        ({1: 0.46, 2: 0.44, 3: 0.02}, [1, 2]),
        ({1: 0.4, 2: 0.3, 3: 0.02}, []),
        # Waiting grows faster than load: a job with 42 % of the waiting has two thirds of the load.
        ({1: 0.58, OWN: 0.42}, []),
        ({1: 0.65, OWN: 0.3}, [1]),
    ],
)
def test_where_the_sending_port_counts_less_is_said(part: dict[int, float], expected: list[int]) -> None:
    assert name_jobs(replace(flow(part), several=False), OWN, [1, 2, 3], []) == expected


@pytest.mark.parametrize(("grew", "part"), [(0.4, 0.0), (0.6, 0.5)])
def test_a_load_that_hardly_rose_explains_no_waiting(grew: float, part: float) -> None:
    """Flits wait as much longer at two places. At one a job came; at the other nothing is new but a little of a job that was there before."""
    routes, links = TreeRoutes(build_xgft(2, (2, 2), (1, 1))), np.arange(2)
    places = Places(links, links, 2)

    def moment(loads: list[list[float]], stalls: float) -> Moment:
        each = np.zeros((routes.links, 3))
        each[links] = loads
        by_link = LinksOfMoment(each, np.arange(3), np.isin(np.arange(routes.links), links) * 1.0, each.sum(axis=1))
        traffic = [JobTraffic(np.zeros(1, np.int64), np.ones(1), np.ones(1))] * 3
        return Moment(1.0, np.full(2, 10.0), np.full(2, stalls), traffic, by_link)

    then = moment([[8.0, 0.0, 0.0], [8.0, 0.0, 2.0]], 1.0)
    now = moment([[8.0, 5.0, 0.0], [8.0, 0.0, 2.0 + grew]], 3.0)
    found = attribute_waiting(routes, places, np.full(2, 0.5), [now], then, 0, None)
    assert found.waiting == pytest.approx(0.2) and found.part == pytest.approx([0.0, 0.5, part])


def test_a_rise_that_falls_to_another_job_each_minute_names_nobody() -> None:
    """Taken from a tree where flits waited 0.05 cycles beyond 0.03, of which each minute accused other jobs."""
    first, second, third = {1: 0.35, 2: 0.65}, {1: 0.36, 3: 0.61}, {1: 0.36, 4: 0.62}

    def named(*moments: tuple[float, dict[int, float]], resolution_s: int = 60) -> list[int]:
        whole = sum(waiting for waiting, _ in moments)
        part = {job: sum(w * of.get(job, 0.0) for w, of in moments) / whole for job in range(1, 5)}
        weak = replace(flow(part, waiting=whole / len(moments), quiet=0.03, moments=list(moments)), several=False)
        return name_jobs(replace(weak, resolution_s=resolution_s), OWN, [1, 2, 3, 4], [])

    assert named((0.05, first)) == [] and named((0.05, first), (0.05, second)) == []
    assert named((0.05, first), (0.05, second), (0.06, third)) == []
    # As weak, but of the same job each minute; a strong one whose first minute has hardly begun; and an hour, which is a mean.
    assert named((0.05, {1: 0.9}), (0.06, {1: 0.8, 2: 0.2}), (0.05, {1: 0.95})) == [1]
    assert named((0.001, {2: 1.0}), (1.0, {1: 0.98}), (1.1, {1: 0.97})) == [1]
    assert named((0.2, {1: 0.9}), resolution_s=3600) == [1] and named((0.2, {1: 0.9})) == []
    # Ten times the quiet waiting is no chance.
    assert named((0.3, {1: 0.9})) == [1]


@pytest.mark.parametrize(("since", "expected"), [(1.2, [1, 2]), (0.8, [1])])
def test_who_came_later_is_named_only_where_flits_wait_longer_since(since: float, expected: list[int]) -> None:
    moments = [(1.0, {1: 0.95, 2: 0.0}), (since, {1: 0.55, 2: 0.43}), (since, {1: 0.52, 2: 0.45})]
    late = replace(flow({1: 0.63, 2: 0.33}, moments=moments), several=False)
    assert name_jobs(late, OWN, [1], [2]) == expected and name_jobs(late, OWN, [1, 2], []) == [1, 2]
    # Only a certain rise is reported for moments in which it was always there.
    always = replace(late, part={1: 0.54, 2: 0.44}, moments=moments[1:])
    assert name_jobs(always, OWN, [1], [2]) == [1, 2] and name_jobs(replace(always, quiet=0.2), OWN, [1], [2]) == [1]
    # It puts the first one in doubt only if that has not the larger part of what could slow the job.
    assert name_jobs(replace(always, quiet=0.2, part={1: 0.45, 2: 0.5}), OWN, [1], [2]) == []


@given(
    st.lists(st.floats(0.9, 1.1), min_size=1, max_size=3),
    st.floats(0.85, 1.0),
    st.lists(st.floats(0, 0.05), max_size=3),
    st.booleans(),
)
def test_all_that_cause_it_are_named_and_nobody_else(
    weights: list[float], whole: float, others: list[float], several: bool
) -> None:
    """One, two or three with about equal shares, alongside jobs of little account."""
    planted = {1 + at: whole * weight / sum(weights) for at, weight in enumerate(weights)}
    rest = {10 + at: (1 - whole) * share / max(sum(others), 1e-9) for at, share in enumerate(others)}
    little = {job: min(share, 0.05) for job, share in rest.items()}
    part = planted | little
    result = name_jobs(replace(flow(part), several=several), OWN, list(part), [])
    assert result == sorted(planted, key=lambda job: -planted[job])
    # Waiting that nobody feels accuses nobody.
    assert name_jobs(replace(flow(part, waiting=0.019), several=several), OWN, list(part), []) == []


@given(st.floats(0.5, 0.75), st.floats(0, 0.25), st.booleans())
def test_a_fellow_victim_is_not_named_alongside_the_one_that_leads(first: float, fellow: float, several: bool) -> None:
    part = {1: first, 2: min(fellow, first / 2)}
    assert name_jobs(replace(flow(part), several=several), OWN, [1, 2], []) == [1]


@given(st.lists(st.floats(0, 0.19), max_size=5), st.booleans())
def test_where_nobody_is_planted_nobody_is_named(shares: list[float], several: bool) -> None:
    part = dict(enumerate(shares, 1))
    assert name_jobs(replace(flow(part), several=several), OWN, list(part), []) == []


@pytest.mark.parametrize(
    ("part", "between", "expected"),
    [
        ({1: 0.9}, {}, [1]),
        ({1: 0.8, 2: 0.19}, {}, [1]),
        ({1: 0.72, 2: 0.28}, {}, []),
        ({1: 0.55, 2: 0.44}, {2: 0.6, 3: 0.2}, [2]),
        ({1: 0.55, 2: 0.44}, {1: 0.5, 2: 0.4}, [1, 2]),
        ({1: 0.55, 2: 0.44}, {}, []),
        ({1: 0.55, 2: 0.44}, {3: 0.9}, []),
    ],
)
def test_of_several_on_the_way_to_the_file_system_those_are_named_that_are_in_the_way_of_other_traffic_too(
    part: dict[int, float], between: dict[int, float], expected: list[int]
) -> None:
    found = replace(flow(part), several=False, to_file_system=True, between=between)
    assert name_jobs(found, OWN, [1, 2, 3], []) == expected


@pytest.mark.parametrize(
    ("part", "expected"),
    [({1: 0.76, 2: 0.24}, [1]), ({1: 0.55, 2: 0.44}, [1]), ({2: 0.76, 1: 0.24}, []), ({1: 0.4, 2: 0.35}, [])],
)
def test_the_largest_on_the_way_to_the_file_system_is_named_if_it_started_when_the_job_became_slow(
    part: dict[int, float], expected: list[int]
) -> None:
    found = replace(flow(part), several=False, to_file_system=True)
    assert name_jobs(found, OWN, [1, 2], [], [1]) == expected
    assert name_jobs(found, OWN, [1, 2], [], []) == []


def test_a_larger_part_that_is_not_named_is_explained() -> None:
    part = {1: 0.55, 2: 0.44}
    for between, said in (({2: 0.6}, True), ({1: 0.5, 2: 0.4}, False)):
        found = replace(
            flow(part), several=False, to_file_system=True, between=between, minutes_s=[T0 + 120.0], quiet_s=T0
        )
        result = made(steps(1.5, 20), replace(scenery(neighbour(1, T0 - 900), neighbour(2, T0 - 900)), flow=found))
        assert result["verdict"] == "named" and result["named"] == ("2" if said else "1"), result["title"]
        assert ("A job with a larger part was not in the way" in result["detail"]) == said
