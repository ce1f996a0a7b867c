"""Linear forwarding tables of a tree: each switch's output port for every LID of every endpoint (`lmc`), complete and free of loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.cabling import Cabling, ports_of
from flitwatch_routing.lmc import lids_each
from flitwatch_routing.tree import Tree

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Solution(TypedDict):
    """Choices in the optimiser's form, by slots of endpoints.

    Attributes
    ----------
    leaf, dest : ints (choices,)        leaves and the destination slots of their traffic
    spine_of : ints (choices,)          the spine of each choice
    core_of, down_of : ints (spines * slots,), (cores * slots,)        the core above, the spine below
    core_used, down_used : uint8 of the same shapes        whether the choice carries traffic
    """

    leaf: Ints
    dest: Ints
    spine_of: Ints
    core_of: Ints
    core_used: NDArray[np.uint8]
    down_of: Ints
    down_used: NDArray[np.uint8]


def tables_of(tree: Tree, solution: Solution, fabric: Fabric, cabling: Cabling | None = None) -> Ints:
    """Return output ports (routers, endpoints * 2^lmc) from the optimiser's solution; -1 only if an endpoint is not on a leaf, or unreachable by up*/down*.

    Entries without traffic are filled with destination modulo choices over working links, so that every pair stays connected.
    `cabling` determines how entries share several cables between two switches.
    """
    pods, leaves, hosts, spines, groups, _cores = tree.shape
    slots = pods * leaves * hosts
    per_group = spines // groups if groups else 0
    dest = np.arange(slots)
    pod_of, leaf_of = dest // (leaves * hosts), dest // hosts
    up_leaf, up_spine, down_core, down_spine = tree.link_numbers()
    fall = down_spine[:, leaf_of % leaves]  # (spines, slots): link to the leaf
    arrives = (fall >= 0) & (np.arange(pods * spines)[:, None] // spines == pod_of)
    core_link = _core_links(tree, down_core, solution, arrives, pod_of, per_group)
    spine_link = _spine_links(tree, up_spine, solution, arrives, fall, core_link >= 0, per_group)
    leaf_link = _leaf_links(tree, up_leaf, solution, spine_link >= 0, leaf_of)
    ports = ports_of(tree, np.concatenate([leaf_link, spine_link, core_link]), cabling or Cabling())
    ports[leaf_of, dest] = tree.host_port[leaf_of, dest % hosts]
    result = np.full((len(fabric.routers.name), slots), -1)
    routers = tree.switches()
    result[routers[routers >= 0]] = ports[routers >= 0]
    return np.where(tree.slot_of_endpoint >= 0, result[:, tree.slot_of_endpoint], -1)


#: The spine of every (leaf, slot), the core of every (spine, slot), the lower spine of every (core, slot); -1 for none. Flat.
Choices = tuple[NDArray[np.int16], NDArray[np.int16], NDArray[np.int16]]


def choices_of(tree: Tree, ports: Ints) -> Choices:
    """Return the choices in tables of ports (routers, endpoints); -1 if an entry is missing or uses a missing link."""
    pods, leaves, hosts, spines, groups, _ = tree.shape
    slots = pods * leaves * hosts
    by_slot = np.full((len(ports), slots), -1)
    placed = tree.slot_of_endpoint >= 0
    by_slot[:, tree.slot_of_endpoint[placed]] = ports[:, placed]
    below = (
        tree.down_port_core[:, np.arange(slots) // (leaves * hosts)] if groups else np.zeros((0, slots, 1, 1), np.int64)
    )
    return (
        _find_choice(
            tree.leaf,
            by_slot,
            np.broadcast_to(tree.up_port_leaf[:, None], (pods * leaves, slots, *tree.up_port_leaf.shape[1:])),
        ),
        _find_choice(
            tree.spine,
            by_slot,
            np.broadcast_to(tree.up_port_spine[:, None], (pods * spines, slots, *tree.up_port_spine.shape[1:])),
        ),
        _find_choice(tree.core, by_slot, below),
    )


def _find_choice(routers: Ints, ports: Ints, links: Ints) -> NDArray[np.int16]:
    """Return the first of links (routers, slots, choices, cables) with the port in a router's table."""
    choice = np.full(links.shape[:2], -1, np.int16)
    for at, router in enumerate(routers.tolist()):
        if router >= 0 and links.shape[2]:
            same = (links[at] == ports[router][:, None, None]).any(axis=2) & (ports[router] >= 0)[:, None]
            choice[at] = np.where(same.any(axis=1), same.argmax(axis=1), -1)
    return choice.reshape(-1)


def keep_loaded_choices(tree: Tree, solution: Solution, loaded: Choices) -> Solution:
    """Return the solution with loaded choices in all places without traffic."""
    leaves = tree.shape[0] * tree.shape[1]
    slots = leaves * tree.shape[2]
    spine, core, down = (choice.astype(np.int64) for choice in loaded)
    leaf, dest = np.divmod(np.arange(leaves * slots), slots)
    spine[solution["leaf"] * slots + solution["dest"]] = solution["spine_of"]
    return {
        "leaf": leaf,
        "dest": dest,
        "spine_of": spine,
        "core_of": np.where(solution["core_used"], solution["core_of"], core),
        "core_used": np.ones(len(core), np.uint8),
        "down_of": np.where(solution["down_used"], solution["down_of"], down),
        "down_used": np.ones(len(down), np.uint8),
    }


def _fill_choices(wanted: Ints, usable: NDArray[np.bool_]) -> Ints:
    """Return the wanted choice (n, slots) if usable (n, slots, choices), else the next usable one; -1 for none."""
    choices = usable.shape[2]
    first = np.where(wanted >= 0, wanted, np.arange(usable.shape[1]) % choices)
    result = np.full(first.shape, -1)
    for turn in range(choices):
        now = (first + turn) % choices
        good = (result < 0) & np.take_along_axis(usable, now[:, :, None], axis=2)[:, :, 0]
        result[good] = now[good]
    return result


def _select_links(wanted: Ints, links: Ints, usable: NDArray[np.bool_]) -> Ints:
    """Return the link of `links` (n, slots, choices) chosen by `_fill_choices`; -1 for none."""
    chosen = _fill_choices(wanted, usable)
    link = np.take_along_axis(links, np.maximum(chosen, 0)[:, :, None], axis=2)[:, :, 0]
    return np.where(chosen >= 0, link, -1)


def _core_links(
    tree: Tree, down_core: Ints, solution: Solution, arrives: NDArray[np.bool_], pod_of: Ints, per_group: int
) -> Ints:
    """Return the link (cores, slots) down from each core; -1 if there is none."""
    _pods, _, _, spines, groups, cores = tree.shape
    slots = len(pod_of)
    result = np.full((groups * cores, slots), -1)
    used = solution["down_used"].reshape(groups * cores, slots).astype(bool)
    preference = np.where(used, solution["down_of"].reshape(groups * cores, slots), -1)
    for group in range(groups):
        here = slice(group * cores, (group + 1) * cores)
        spine_at = pod_of[:, None] * spines + group * per_group + np.arange(per_group)  # (slots, q)
        links = down_core[here][:, pod_of, :]  # (cores, slots, q)
        usable = (links >= 0) & arrives[spine_at, np.arange(slots)[:, None]]
        result[here] = _select_links(preference[here], links, usable)
    return result


def _spine_links(
    tree: Tree,
    up_spine: Ints,
    solution: Solution,
    arrives: NDArray[np.bool_],
    fall: Ints,
    core_ok: NDArray[np.bool_],
    per_group: int,
) -> Ints:
    """Return the link (spines, slots) of each spine, down in its own pod, otherwise up to a core; -1 if there is neither."""
    _, _, _, spines, groups, cores = tree.shape
    if not groups:
        return np.where(arrives, fall, -1)
    slots = fall.shape[1]
    used = solution["core_used"].reshape(-1, slots).astype(bool)
    preference = np.where(used, solution["core_of"].reshape(-1, slots), -1)
    group_of = np.arange(len(fall)) % spines // per_group
    above = core_ok.reshape(groups, cores, slots).transpose(0, 2, 1)[group_of]  # (spines, slots, cores)
    links = np.broadcast_to(up_spine[:, None, :], above.shape)
    up = _select_links(preference, links, (links >= 0) & above)
    own_pod = np.arange(len(fall))[:, None] // spines == np.arange(slots) // (slots // tree.shape[0])
    return np.where(own_pod, np.where(arrives, fall, -1), up)


def _leaf_links(tree: Tree, up_leaf: Ints, solution: Solution, spine_ok: NDArray[np.bool_], leaf_of: Ints) -> Ints:
    """Return the link (leaves, slots) up from each leaf; -1 if none reaches the endpoint, and for the leaf's own endpoints."""
    pods, leaves, _hosts, spines, _, _ = tree.shape
    slots = len(leaf_of)
    preference = np.full((pods * leaves, slots), -1)
    preference[solution["leaf"], solution["dest"]] = solution["spine_of"]
    reach = spine_ok.reshape(pods, spines, slots).transpose(0, 2, 1)
    result = np.full((pods * leaves, slots), -1)
    for leaf in range(pods * leaves):
        links = np.broadcast_to(up_leaf[leaf], (1, slots, spines))
        result[leaf] = _select_links(preference[leaf : leaf + 1], links, (links >= 0) & reach[leaf // leaves][None])[0]
    result[leaf_of, np.arange(slots)] = -1
    return result


@dataclass(frozen=True)
class RouteCheck:
    """valid: no loops, no holes;  loops, holes: pairs (source leaf, LID of an endpoint);  load: bytes per directed link, in the fabric's order;
    lost: bytes that never arrive;  where: description of the first hole and the first loop, with switch, port and endpoint
    """

    valid: bool
    loops: int
    holes: int
    load: Floats
    lost: float = 0.0
    where: tuple[str, ...] = ()


def check_routes(
    fabric: Fabric,
    ports: Ints,
    traffic: tuple[NDArray, NDArray, NDArray] | None = None,
    unknown: NDArray[np.bool_] | None = None,
    lmc: int = 0,
) -> RouteCheck:
    """Follow the tables from every switch with endpoints to every LID of every endpoint except the `unknown` (endpoints,), and sum traffic by link.

    A hole is a path that ends before its endpoint: without an entry, at a port without a cable, or at another endpoint. Raise BadInput if the shape of `ports`
    is not (routers, endpoints * 2^lmc). Traffic is spread evenly over an endpoint's LIDs.
    """
    routers, endpoints, each = len(fabric.routers.name), len(fabric.endpoints.router), lids_each(lmc)
    if ports.shape != (routers, endpoints * each):
        of = f" of {each} LIDs" if lmc else ""
        raise BadInput(
            f"tables for {ports.shape[0]} switches and {ports.shape[1]} {'LIDs' if lmc else 'endpoints'}; the fabric has {routers} and {endpoints}{of}"
        )
    links = fabric.links
    link_of = links_by_port(fabric, int(ports.max(initial=0)))
    sources = np.unique(fabric.endpoints.router)
    weight = _by_leaf(fabric, traffic)
    load = np.zeros(len(links.src))
    known_ends = np.arange(endpoints * each) if unknown is None else np.flatnonzero(np.repeat(~unknown, each))
    at = np.repeat(sources, len(known_ends)).astype(np.int64)
    to: Ints = np.tile(known_ends, len(sources))
    bytes_ = weight[np.ix_(sources, known_ends // each)].reshape(-1) / each
    holes, lost_bytes = 0, 0.0
    where: tuple[str, ...] = ()
    for _ in range(routers + 1):
        port = ports[at, to]
        link = np.where(port >= 0, link_of[at, np.maximum(port, 0)], -1)
        has_link = link >= 0
        np.add.at(load, link[has_link], bytes_[has_link])
        following = np.where(has_link, links.dst[np.maximum(link, 0)].astype(np.int64), -1)
        lost = ~has_link | ((following >= routers) & (following != routers + to // each))
        if lost.any() and not where:
            first = int(np.argmax(lost))
            where = (
                _describe_hole(fabric, int(at[first]), int(to[first]), int(port[first]), int(following[first]), each),
            )
        holes += int(lost.sum())
        lost_bytes += float(bytes_[lost].sum())
        going = has_link & (following < routers)
        if not going.any():
            return RouteCheck(holes == 0, 0, holes, load, lost_bytes, where)
        at, to, bytes_ = following[going], to[going], bytes_[going]
    loop = f"a loop through {fabric.routers.name[at[0]]} on the path to {_describe_endpoint(fabric, int(to[0]), each)}"
    return RouteCheck(False, len(at), holes, load, lost_bytes + float(bytes_.sum()), (*where, loop))


def links_by_port(fabric: Fabric, highest: int = 0) -> Ints:
    """Return the link at (router, port), -1 for none; the array covers at least ports up to `highest`."""
    links, routers = fabric.links, len(fabric.routers.name)
    from_router = np.flatnonzero((links.src < routers) & (links.src_port >= 0))
    link_of = np.full((routers, max(int(links.src_port.max(initial=0)), highest) + 1), -1)
    link_of[links.src[from_router], links.src_port[from_router]] = from_router
    return link_of


def way_of(fabric: Fabric, ports: Ints) -> Ints:
    """Return the link of each entry of `ports` (routers, destinations); -1 without an entry, or without a cable at its port."""
    link_of = links_by_port(fabric, int(ports.max(initial=0)))
    return np.where(ports >= 0, np.take_along_axis(link_of, np.maximum(ports, 0), axis=1), -1)


def _describe_hole(fabric: Fabric, router: int, column: int, port: int, reached: int, each: int) -> str:
    name, to = fabric.routers.name[router], _describe_endpoint(fabric, column, each)
    if port < 0:
        return f"{name} has no entry for {to}"
    if reached < 0:
        return f"{name} sends {to} to port {port}, which has no cable"
    return f"{name} sends {to} to port {port}, where {fabric.vertex_name(reached)} is"


def _describe_endpoint(fabric: Fabric, column: int, each: int) -> str:
    endpoint, offset = divmod(column, each)
    return f"endpoint {endpoint} ({fabric.endpoints.node[endpoint]})" + (f" at its LID + {offset}" if offset else "")


def _by_leaf(fabric: Fabric, traffic: tuple[NDArray, NDArray, NDArray] | None) -> Floats:
    routers, endpoints = len(fabric.routers.name), len(fabric.endpoints.router)
    weight = np.zeros((routers, endpoints))
    if traffic is not None:
        src, dst, size = traffic
        np.add.at(weight, (fabric.endpoints.router[src], dst), np.where(src == dst, 0.0, size))
    return weight
