"""How long flits wait for each link of a tree, from what the ports that lead there counted: against waits that were planted pair by pair."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from flitwatch_domain.diagnosis import Turns
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.link_shares import JobTraffic
from flitwatch_domain.link_waits import PortCounts, WaitingTurns, link_waits
from flitwatch_domain.tree_routes import TreeRoutes

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
def test_a_full_link_is_told_from_its_siblings_by_the_ports_that_lead_to_it(sums: bool) -> None:
    waits = np.full(len(LINKS), 0.05)
    waits[FULL] = 4.0
    carried, loads, waited = planted(waits)
    told = found(carried, waited, sums)
    rest = np.setdiff1d(np.flatnonzero(np.isfinite(told)), FULL)
    assert (np.abs(told[FULL] / 4.0 - 1) < 0.25).all() and told[rest].max() < 0.4, (told[FULL], told[rest].max())
    # What is expected of each link is what the pairs put there.
    np.testing.assert_allclose(loads.sum(axis=1), carried)


@pytest.mark.parametrize("sums", [False, True], ids=["ports", "sums of switches"])
def test_a_link_makes_nobody_wait_longer_than_its_most_and_the_full_one_keeps_its_wait(sums: bool) -> None:
    waits, most = np.full(len(LINKS), 0.05), np.full(len(LINKS), np.inf)
    waits[FULL], most[LINKS.dst >= SWITCHES] = 4.0, 0.02
    carried, _, waited = planted(waits)
    free, told = found(carried, waited, sums), found(carried, waited, sums, most)
    assert np.nanmax(told[LINKS.dst >= SWITCHES]) <= 0.02 < np.nanmax(free[LINKS.dst >= SWITCHES])
    assert (np.abs(told[FULL] / 4.0 - 1) < 0.25).all(), told[FULL]


def test_links_that_no_count_leads_to_are_not_told() -> None:
    carried, _, waited = planted(np.full(len(LINKS), 1.0))
    waited[LINKS.dst == SPINES[0]] = np.nan
    told = found(carried, waited, False)
    down = LINKS.src == SPINES[0]
    assert np.isnan(told[down]).all() and np.isfinite(told[(LINKS.src == SPINES[1]) & (LINKS.dst < 3)]).all()
