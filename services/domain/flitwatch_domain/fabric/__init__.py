"""Fabric: routers, endpoints and directed links as parallel arrays.

A vertex is a router or an endpoint: router `r` is vertex `r`, endpoint `e` is vertex `R + e` where `R` is the number of
routers. A link is one direction of one cable (or channel); the other direction is another link. Ports are numbered like the vendor's: from 0 on
Cray XC (tile row x 8 + tile column) and from 1 on InfiniBand; -1 is unknown.
"""

from flitwatch_domain.fabric.arrays import Endpoints, Links, Routers, both_directions
from flitwatch_domain.fabric.endpoint_names import Find, endpoint_finder, endpoint_table, number_finder
from flitwatch_domain.fabric.model import Fabric
from flitwatch_domain.fabric.words import ROLES, CountedAt, FabricKind, LinkClass, NodeRole, Technology

__all__ = [
    "ROLES",
    "CountedAt",
    "Endpoints",
    "Fabric",
    "FabricKind",
    "Find",
    "LinkClass",
    "Links",
    "NodeRole",
    "Routers",
    "Technology",
    "both_directions",
    "endpoint_finder",
    "endpoint_table",
    "number_finder",
]
