"""Routers, endpoints and links as parallel read-only arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric.words import ROLES, LinkClass

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Text = NDArray[np.object_]


def _freeze_array(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def _set_columns(owner: Any, length: int, columns: dict[str, tuple[ArrayLike | None, Any, Any]]) -> None:
    """Set each field to a read-only array of `length`; a column is (values or None, dtype, fill value for None)."""
    for name, (values, dtype, fill) in columns.items():
        array = _freeze_array(np.full(length, fill, dtype=dtype) if values is None else values, dtype)
        if array.shape != (length,):
            raise BadInput(f"{type(owner).__name__}.{name} has shape {array.shape}, expected ({length},)")
        object.__setattr__(owner, name, array)


@dataclass(frozen=True, eq=False, init=False)
class Routers:
    """Routers as arrays of length R.

    Attributes
    ----------
    name : object[R]
        Unique; a cname on Cray XC.
    guid : object[R]
        Hexadecimal text without `0x`, or None.
    group, row, col : int32[R]
        Place in a dragonfly; on a tree `group` is the pod. -1 is unknown.
    level : int32[R]
        0 for leaf switches, growing towards the roots; -1 if the fabric has no levels.
    coords : int32[R, d]
        Torus coordinates; d is 0 elsewhere.
    """

    name: Text
    guid: Text
    group: Int32
    row: Int32
    col: Int32
    level: Int32
    coords: Int32

    def __init__(
        self,
        name: ArrayLike,
        *,
        guid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        row: ArrayLike | None = None,
        col: ArrayLike | None = None,
        level: ArrayLike | None = None,
        coords: ArrayLike | None = None,
    ) -> None:
        length = len(np.atleast_1d(np.asarray(name, object)))
        places = {"group": group, "row": row, "col": col, "level": level}
        columns: dict[str, tuple[ArrayLike | None, Any, Any]] = {
            "name": (name, object, None),
            "guid": (guid, object, None),
        }
        _set_columns(self, length, columns | {key: (values, np.int32, -1) for key, values in places.items()})
        points = _freeze_array(np.empty((length, 0)) if coords is None else coords, np.int32)
        if points.ndim != 2 or len(points) != length:
            raise BadInput(f"Routers.coords has shape {points.shape}, expected ({length}, dimensions)")
        object.__setattr__(self, "coords", points)
        if len(set(self.name)) != length:
            names: set[str] = set()
            twice = next(name for name in self.name if name in names or names.add(name))  # type: ignore[func-returns-value]
            raise BadInput(f"two routers are named {twice!r}")

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True, eq=False, init=False)
class Endpoints:
    """Endpoints, where nodes attach, as arrays of length E.

    Attributes
    ----------
    router : int32[E]
        The router to which it attaches.
    port : int32[E]
        The router's port; on Cray XC the NIC's first processor tile (40 + 2 x NIC).
    node : object[E]
        The node's name; several endpoints of one node share it.
    nid : int64[E]
        Cray node id, -1 elsewhere.
    component_id : int64[E]
        LDMS's `component_id`; the nid by default, -1 if unknown.
    role : uint8[E]
        Index into `ROLES`.
    guid : object[E]
        Port GUID as hexadecimal text, or None.
    """

    router: Int32
    port: Int32
    node: Text
    nid: Int64
    component_id: Int64
    role: NDArray[np.uint8]
    guid: Text

    def __init__(
        self,
        router: ArrayLike,
        *,
        port: ArrayLike | None = None,
        node: ArrayLike | None = None,
        nid: ArrayLike | None = None,
        component_id: ArrayLike | None = None,
        role: ArrayLike | None = None,
        guid: ArrayLike | None = None,
    ) -> None:
        length = len(np.atleast_1d(np.asarray(router)))
        names = [f"node{e:05d}" for e in range(length)] if node is None else node
        columns: dict[str, tuple[ArrayLike | None, Any, Any]] = {
            "router": (router, np.int32, -1),
            "port": (port, np.int32, -1),
            "node": (names, object, None),
            "nid": (nid, np.int64, -1),
            "component_id": (nid if component_id is None else component_id, np.int64, -1),
            "role": (role, np.uint8, 0),
            "guid": (guid, object, None),
        }
        _set_columns(self, length, columns)
        if length and int(self.role.max()) >= len(ROLES):
            raise BadInput(f"an endpoint's role has code {int(self.role.max())}, expected below {len(ROLES)}")

    def __len__(self) -> int:
        return len(self.router)

    @property
    def role_names(self) -> list[str]:
        """Return the role of every endpoint as text."""
        return [str(ROLES[code]) for code in self.role]


@dataclass(frozen=True, eq=False, init=False)
class Links:
    """Directed links as arrays of length L.

    Attributes
    ----------
    src, dst : int32[L]
        Vertices (router r is r, endpoint e is R + e).
    src_port, dst_port : int32[L]
        The port at each end; 0 at an endpoint with one port, -1 if unknown.
    link_class : uint8[L]
        Index into `classes`.
    bandwidth_bps : float64[L]
        Bandwidth of one cable in bits per second; NaN if unknown. A link's capacity is bandwidth_bps x multiplicity.
    multiplicity : int32[L]
        Number of parallel cables in this entry. Importers and generators write one entry per cable (1).
    """

    src: Int32
    dst: Int32
    src_port: Int32
    dst_port: Int32
    link_class: NDArray[np.uint8]
    bandwidth_bps: NDArray[np.float64]
    multiplicity: Int32
    classes: tuple[LinkClass, ...]

    def __init__(
        self,
        src: ArrayLike,
        dst: ArrayLike,
        *,
        src_port: ArrayLike | None = None,
        dst_port: ArrayLike | None = None,
        link_class: ArrayLike | None = None,
        bandwidth_bps: ArrayLike | None = None,
        multiplicity: ArrayLike | None = None,
        classes: Sequence[str] = (LinkClass.LINK,),
    ) -> None:
        length = len(np.atleast_1d(np.asarray(src)))
        ends = {"src": src, "dst": dst, "src_port": src_port, "dst_port": dst_port}
        columns: dict[str, tuple[ArrayLike | None, Any, Any]] = {
            key: (values, np.int32, -1) for key, values in ends.items()
        }
        columns["link_class"] = (link_class, np.uint8, 0)
        columns["bandwidth_bps"] = (bandwidth_bps, np.float64, np.nan)
        columns["multiplicity"] = (multiplicity, np.int32, 1)
        _set_columns(self, length, columns)
        object.__setattr__(self, "classes", tuple(LinkClass(class_name) for class_name in classes))
        if length and int(self.link_class.max()) >= len(self.classes):
            raise BadInput(f"a link's class has code {int(self.link_class.max())}, expected below {len(self.classes)}")
        if length and int(self.multiplicity.min()) < 1:
            raise BadInput("a link's multiplicity is below 1")
        if np.any(self.bandwidth_bps <= 0):
            raise BadInput("a link's bandwidth is not above zero")

    def __len__(self) -> int:
        return len(self.src)

    @property
    def class_names(self) -> list[str]:
        """Return the class of every link as text."""
        return [str(self.classes[code]) for code in self.link_class]


def both_directions(
    a: ArrayLike,
    b: ArrayLike,
    a_port: ArrayLike,
    b_port: ArrayLike,
    forward: ArrayLike,
    backward: ArrayLike,
    bandwidth_bps: ArrayLike,
    classes: Sequence[LinkClass],
) -> Links:
    """Return two links per cable: cable i becomes link 2i (a to b, class `forward`) and link 2i + 1 (b to a, class `backward`).

    Parameters
    ----------
    a, b : int[C]
        Vertices.
    a_port, b_port : int[C]
    forward, backward : int[C] or int
        Codes into `classes`.
    bandwidth_bps : float[C] or float
    """
    cables = len(np.atleast_1d(np.asarray(a)))

    def interleave(first: ArrayLike, second: ArrayLike, dtype: Any) -> NDArray[Any]:
        out = np.empty(2 * cables, dtype)
        out[0::2] = first
        out[1::2] = second
        return out

    return Links(
        src=interleave(a, b, np.int32),
        dst=interleave(b, a, np.int32),
        src_port=interleave(a_port, b_port, np.int32),
        dst_port=interleave(b_port, a_port, np.int32),
        link_class=interleave(forward, backward, np.uint8),
        bandwidth_bps=interleave(bandwidth_bps, bandwidth_bps, np.float64),
        classes=tuple(classes),
    )
