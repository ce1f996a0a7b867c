"""Terms of fabrics: kinds, technologies, link classes and node roles."""

from __future__ import annotations

from enum import StrEnum


class FabricKind(StrEnum):
    """Shape of a fabric, which selects its layout in views."""

    DRAGONFLY = "dragonfly"
    FAT_TREE = "fat_tree"
    TORUS = "torus"
    GRAPH = "graph"


class Technology(StrEnum):
    """Network technology of the routers; determines the available counters."""

    CRAY_XC = "cray_xc"
    SLINGSHOT = "slingshot"
    INFINIBAND = "infiniband"
    OPA = "opa"
    ETHERNET = "ethernet"
    GENERIC = "generic"


class CountedAt(StrEnum):
    """End of a link at which it is counted."""

    RECEIVER = "receiver"
    SENDER = "sender"


class NodeRole(StrEnum):
    COMPUTE = "compute"
    IO = "io"
    SERVICE = "service"


class LinkClass(StrEnum):
    """Class of a link.

    `green` joins routers of one row, `black` of one column, `blue` of two groups, and `terminal` a router and its NIC (dragonfly). `host`,
    `up` and `down` belong to trees, `dim0`... to tori, `link` to graphs without more structure.
    """

    GREEN = "green"
    BLACK = "black"
    BLUE = "blue"
    TERMINAL = "terminal"
    HOST = "host"
    UP = "up"
    DOWN = "down"
    LINK = "link"
    DIM0 = "dim0"
    DIM1 = "dim1"
    DIM2 = "dim2"
    DIM3 = "dim3"
    DIM4 = "dim4"
    DIM5 = "dim5"
    DIM6 = "dim6"
    DIM7 = "dim7"


#: `Endpoints.role` contains an index into this tuple.
ROLES: tuple[NodeRole, ...] = tuple(NodeRole)
