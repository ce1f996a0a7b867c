"""Our ftree tables against those of a real OpenSM, entry by entry."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from noise_core import flow_ibsim

from flitwatch_domain.importers import read_fabric
from flitwatch_research import core_topology as topology
from flitwatch_research import routings, topologies

pytestmark = pytest.mark.system("schedulers")

TREES = {
    "two levels, doubled cables": ([6, 5], [1, 3], [1, 2]),
    "two levels, full": ([4, 4], [1, 4], [1, 1]),
    "three levels": ([4, 4, 6], [1, 4, 4], [1, 1, 1]),
    "three levels, tapered, tripled top": ([4, 4, 3], [1, 2, 2], [1, 1, 3]),
}


@pytest.mark.integration
@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_ftree_gives_the_tables_of_a_real_opensm(tree: tuple, tmp_path: Path) -> None:
    flow_ibsim.require()
    m, w, p = tree
    ours_theirs(topology.xgft(m, w, p), tmp_path)


@pytest.mark.integration
def test_ftree_gives_the_tables_of_a_real_opensm_where_leaves_differ_in_endpoints(tmp_path: Path) -> None:
    flow_ibsim.require()
    full = topology.xgft([4, 4, 3], [1, 2, 3])
    gone = np.isin(np.arange(full.endpoints), [5, 6, 17, 30, 31, 47])  # the last of its leaf, and others
    number = np.cumsum(~gone) - 1
    keep = np.ones(full.links, bool)
    src, dst = full.src.astype(np.int64), full.dst.astype(np.int64)
    for ends in (src, dst):
        terminal = ends >= full.routers
        keep[terminal] &= ~gone[ends[terminal] - full.routers]
        ends[terminal] = full.routers + number[ends[terminal] - full.routers]
    thinned = topology.graph(
        full.routers,
        int((~gone).sum()),
        src[keep].astype(np.uint32),
        dst[keep].astype(np.uint32),
        full.src_port[keep],
        full.dst_port[keep],
        full.link_class[keep],
        full.multiplicity[keep],
        full.bandwidth_bps[keep],
        full.class_names,
    )
    ours_theirs(thinned, tmp_path)


def ours_theirs(core: topology.Topology, folder: Path) -> None:
    dump, discovered = flow_ibsim.run_opensm(flow_ibsim.ibsim_text(core), "ftree", folder)
    named = topologies.of_fabric(read_fabric(discovered))
    assert named.fabric is not None
    guids = [[int(text, 16) for text in texts] for texts in (named.fabric.routers.guid, named.fabric.endpoints.guid)]
    theirs, _ = topology.table_from_dump(named.core, dump.read_bytes(), *guids)
    ours = topology.ftree_routes(named.core, routings.opensm_order(named))
    assert theirs.check()[:2] == (0, 0)
    assert len(ours.ports()) == core.routers * core.endpoints
    differing = np.flatnonzero(ours.ports() != theirs.ports())
    assert differing.size == 0, f"{differing.size} of {len(ours.ports())} entries differ, the first at {differing[0]}"
