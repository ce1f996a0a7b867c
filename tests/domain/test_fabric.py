"""Fabrics: construction, validation and views."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Endpoints, Fabric, FabricKind, LinkClass, Links, Routers, Technology
from flitwatch_domain.generators import build_quartz1, build_theta, build_torus


def small(**links: object) -> Fabric:
    columns = {"src": [0, 1, 0, 0], "dst": [1, 0, 1, 2]} | links
    return Fabric(
        "small",
        FabricKind.GRAPH,
        Technology.GENERIC,
        Routers(["a", "b"]),
        Endpoints([0]),
        Links(**columns),  # type: ignore[arg-type]
    )


def test_arrays_are_read_only_and_do_not_alias_the_callers() -> None:
    src = np.array([0, 1, 0, 0])
    fabric = small(src=src)
    src[0] = 1
    assert fabric.links.src[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        fabric.links.src[0] = 1


@pytest.mark.parametrize(
    ("links", "said"),
    [
        ({"dst": [1, 0, 1, 3]}, "destination is 3"),
        ({"dst": [1, 0, 1]}, "shape"),
        ({"dst": [0, 0, 1, 2]}, "to itself"),
        ({"multiplicity": [1, 1, 0, 1]}, "multiplicity"),
        ({"bandwidth_bps": [1.0, 1.0, -1.0, 1.0]}, "bandwidth"),
        ({"link_class": [0, 0, 0, 1]}, "class has code 1"),
    ],
)
def test_links_that_cannot_be_are_refused(links: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        small(**links)


def test_two_routers_of_one_name_are_refused() -> None:
    with pytest.raises(BadInput, match="two routers are named 'a'"):
        Routers(["a", "b", "a"])


def test_bundling_keeps_cables_and_capacity() -> None:
    fabric = build_theta()
    bundled = fabric.bundled()
    assert bundled.links.multiplicity.sum() == len(fabric.links)
    assert set(np.unique(bundled.links.multiplicity[bundled.of_class(LinkClass.BLACK)])) == {3}
    assert set(np.unique(bundled.links.multiplicity[bundled.of_class(LinkClass.BLUE)])) == {2}
    capacity = bundled.links.multiplicity * bundled.links.bandwidth_bps
    assert capacity.sum() == pytest.approx(fabric.links.bandwidth_bps.sum(), rel=1e-12)
    assert bundled.summary()["links_by_class"] == fabric.summary()["links_by_class"]


def test_counted_link_stands_at_the_receivers_tile_on_aries() -> None:
    fabric = build_theta()
    table = fabric.counted_links()
    assert table.shape == (864, 48)
    router, port = np.nonzero(table >= 0)
    link = table[router, port]
    np.testing.assert_array_equal(fabric.links.dst[link], router)
    named = fabric.links.dst_port[link]
    np.testing.assert_array_equal(np.where(port >= 40, port - port % 2, port), named)
    assert (table[:, 40:] >= 0).all()


def test_counted_link_stands_at_the_senders_port_on_infiniband() -> None:
    fabric = build_quartz1()
    table = fabric.counted_links()
    router, port = np.nonzero(table >= 0)
    np.testing.assert_array_equal(fabric.links.src[table[router, port]], router)
    assert len(router) == (fabric.links.src < len(fabric.routers)).sum()


def test_summary_counts_directed_links_with_those_to_endpoints() -> None:
    summary = build_torus([3, 3]).summary()
    assert (summary["switches"], summary["endpoints"], summary["links"]) == (9, 9, 2 * 18 + 2 * 9)
