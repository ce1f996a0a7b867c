"""Machine as seen by a workload: nodes in allocation order, their routers, and the routers' positions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import ROLES, Fabric, FabricKind, NodeRole

IntArray = NDArray[np.int32]


@dataclass(frozen=True)
class Nodes:
    """Nodes of a machine.

    Attributes
    ----------
    node_router : int32[N]; router of each compute node, in the scheduler's search order (by nid).
    node_endpoint : int32[N]; its endpoint in the fabric.
    io_router : int32[I]; routers whose nodes serve the file system and run no jobs.
    io_endpoint : int32[J]; their endpoints.
    """

    node_router: IntArray
    node_endpoint: IntArray
    io_router: IntArray
    io_endpoint: IntArray

    @property
    def nodes(self) -> int:
        """Return the number of compute nodes."""
        return len(self.node_router)

    @classmethod
    def of(cls, fabric: Fabric) -> Nodes:
        """Return the nodes of a fabric. Raise BadRequest if it has no compute nodes."""
        endpoints = fabric.endpoints
        order = np.argsort(endpoints.nid, kind="stable")
        compute = order[endpoints.role[order] == ROLES.index(NodeRole.COMPUTE)]
        io = order[endpoints.role[order] == ROLES.index(NodeRole.IO)]
        if not len(compute):
            raise BadRequest(f"fabric {fabric.name!r} has no compute node")
        return Nodes(
            endpoints.router[compute],
            compute.astype(np.int32),
            np.unique(endpoints.router[io]).astype(np.int32),
            io.astype(np.int32),
        )


@dataclass(frozen=True)
class Machine(Nodes):
    """Dragonfly of `groups` x `rows` x `cols` routers, numbered in that order.

    Attributes
    ----------
    group_of, row_of, col_of : int32[R]; position of each router, with consecutive group numbers from 0.
    """

    groups: int
    rows: int
    cols: int
    group_of: IntArray = field(repr=False)
    row_of: IntArray = field(repr=False)
    col_of: IntArray = field(repr=False)

    @property
    def routers(self) -> int:
        return self.groups * self.rows * self.cols

    @property
    def group_size(self) -> int:
        """Return the number of routers in a group."""
        return self.rows * self.cols

    @classmethod
    def of(cls, fabric: Fabric) -> Machine:
        """Return the machine of a dragonfly fabric. Raise BadRequest if groups are not full grids or there are no compute nodes."""
        place = fabric.routers
        if (
            fabric.kind is not FabricKind.DRAGONFLY
            or not len(place)
            or min(place.group.min(), place.row.min(), place.col.min()) < 0
        ):
            raise BadRequest(
                f"fabric {fabric.name!r} is not a dragonfly with known positions",
                advice="The twin simulates dragonflies and fat trees only.",
            )
        ids, group = np.unique(place.group, return_inverse=True)
        rows, cols = int(place.row.max()) + 1, int(place.col.max()) + 1
        position = (group * rows + place.row) * cols + place.col
        if len(place) != len(ids) * rows * cols or not np.array_equal(position, np.arange(len(place))):
            raise BadRequest(f"fabric {fabric.name!r} has groups that are not full {rows} x {cols} grids in order")
        nodes = Nodes.of(fabric)
        return cls(
            groups=len(ids),
            rows=rows,
            cols=cols,
            node_router=nodes.node_router,
            node_endpoint=nodes.node_endpoint,
            io_router=nodes.io_router,
            io_endpoint=nodes.io_endpoint,
            group_of=group.astype(np.int32),
            row_of=place.row,
            col_of=place.col,
        )

    def nodes_per_group(self, nodes: IntArray) -> NDArray[np.int64]:
        """Count the given nodes (positions in the node list) in each group; int64[groups]."""
        return np.bincount(self.group_of[self.node_router[nodes]], minlength=self.groups)
