"""Lanes by source and destination: two schemes that InfiniBand switches cannot implement, to measure the cost of aliasing (Taffet 2021, 4.4.2 and 4.4.3)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric

Ints = NDArray[np.int64]
#: Number of lanes of the Galois-field scheme, and links of its paths: inside a leaf, inside a pod, between pods.
GALOIS_VLS, GALOIS_HOPS = 5, 6
_MIXED = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True)
class Paths:
    """Paths of pairs, for choosing lanes.

    Attributes
    ----------
    src, dst : (pairs,) endpoints
    links : (pairs, hops) links of each path, -1 after its end
    ports : (routers, endpoints) forwarding tables
    """

    src: Ints
    dst: Ints
    links: Ints
    ports: Ints


@dataclass(frozen=True)
class RandomLanes:
    """The strategy "v VL Random": a lane drawn for every (switch, source, destination)."""

    vls: int
    seed: int

    def of(self, fabric: Fabric, paths: Paths) -> Ints:
        """Return (pairs, hops) lanes; values after a path's end are undefined."""
        at = np.asarray(fabric.links.src, np.int64)[paths.links]
        return _draw_lanes(self.vls, self.seed, at, paths.src[:, None], paths.dst[:, None])


@dataclass(frozen=True)
class GaloisLanes:
    """Scheme of five lanes in which two paths share both lane and link on at most two thirds of their links.

    A pair's last five lanes between pods are the digits of a_d alpha^s + b_d in GF(5^5), with random a_d and b_d for every destination. Inside a pod, the
    last three are an element of GF(5^3). The first lane inside a pod differs for each destination with the same first three links; every other lane is
    random. Between pods, the property requires round-robin tables such as ftree's.
    """

    seed: int
    vls: int = GALOIS_VLS

    def of(self, fabric: Fabric, paths: Paths) -> Ints:
        """Return (pairs, hops) lanes; values after a path's end are undefined. Raise BadRequest if a path has more than six links, or there are too
        many endpoints for the fields."""
        self._check(fabric, paths)
        length = (paths.links >= 0).sum(axis=1)
        hop = np.arange(paths.links.shape[1])
        lane = _draw_lanes(self.vls, self.seed, hop, paths.src[:, None], paths.dst[:, None])
        for links, tail in ((6, 5), (4, 3)):
            here = np.flatnonzero(length == links)
            if not len(here):
                continue  # a job inside a pod, or inside a leaf
            lane[here, 1 : 1 + tail] = self._tail_lanes(
                tail, len(fabric.endpoints.router), paths.src[here], paths.dst[here]
            )
        if len(here := np.flatnonzero(length == 4)):
            lane[here, 0] = self._choose_first_lane(fabric, paths, here)
        return lane

    def _tail_lanes(self, degree: int, endpoints: int, src: Ints, dst: Ints) -> Ints:
        elements = element_powers(GALOIS_VLS, degree)
        rng = np.random.default_rng([self.seed, degree])
        factor = rng.integers(0, len(elements), endpoints)
        summand = rng.integers(0, GALOIS_VLS, (endpoints, degree))
        return (elements[(factor[dst] + src) % len(elements)] + summand[dst]) % GALOIS_VLS

    def _choose_first_lane(self, fabric: Fabric, paths: Paths, here: Ints) -> Ints:
        """Return the lane of the k-th destination with the same first three links: the k-th in a random order of the lanes."""
        links = paths.links[here]
        by = np.arange(GALOIS_VLS)
        key = _hash_parts(self.seed + 1, links[:, 1, None], links[:, 2, None], paths.src[here][:, None], by)
        order = np.argsort(key, axis=1)
        return order[np.arange(len(here)), self._count_lower_destinations(fabric, paths, here) % GALOIS_VLS]

    def _count_lower_destinations(self, fabric: Fabric, paths: Paths, here: Ints) -> Ints:
        """Count the lower-numbered destinations of the same leaf with the same up/down path from the same leaf."""
        leaf_of = np.asarray(fabric.endpoints.router, np.int64)
        source, dst, links = leaf_of[paths.src[here]], paths.dst[here], paths.links[here]
        spine = np.asarray(fabric.links.dst, np.int64)[links[:, 1]]
        place = np.zeros(len(here), np.int64)
        of_leaf = [np.flatnonzero(leaf_of == leaf) for leaf in range(int(leaf_of.max()) + 1)]
        for number in range(max(map(len, of_leaf))):
            other = np.array([ends[number] if number < len(ends) else -1 for ends in of_leaf])[leaf_of[dst]]
            same = (paths.ports[source, other] == paths.ports[source, dst]) & (
                paths.ports[spine, other] == paths.ports[spine, dst]
            )
            place += same & (other >= 0) & (other < dst)
        return place

    def _check(self, fabric: Fabric, paths: Paths) -> None:
        leaf = np.asarray(fabric.endpoints.router)
        ends = np.arange(len(leaf))
        apart = len(np.unique(np.stack([leaf, ends % (GALOIS_VLS**3 - 1)]), axis=1)[0]) == len(leaf)
        if paths.links.shape[1] > GALOIS_HOPS or len(leaf) >= GALOIS_VLS**5 or not apart:
            raise BadRequest(
                f"lanes by Galois fields support only trees of three levels with fewer than {GALOIS_VLS**5} endpoints, whose numbers on a leaf differ modulo {GALOIS_VLS**3 - 1}",
                advice="Use random lanes",
            )


#: Lanes that depend on a pair's source and destination.
PairLanes = RandomLanes | GaloisLanes


def _draw_lanes(vls: int, seed: int, *parts: Ints) -> Ints:
    """Return a deterministic lane below `vls` for each combination."""
    return (_hash_parts(seed, *parts) % np.uint64(vls)).astype(np.int64)


def _hash_parts(seed: int, *parts: Ints) -> NDArray[np.uint64]:
    """Return a 64-bit hash of every combination of integers (splitmix64, one part after the other)."""
    state = np.full(1, (seed * 0x9E3779B97F4A7C15 + 1) % 2**64, np.uint64)
    for part in parts:
        state = _mix_bits(state ^ _mix_bits(part.astype(np.uint64)))
    return state


def _mix_bits(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    value = value + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in zip((np.uint64(30), np.uint64(27)), _MIXED, strict=True):
        value = (value ^ (value >> shift)) * factor
    return value ^ (value >> np.uint64(31))


@cache
def element_powers(prime: int, degree: int) -> NDArray[np.uint8]:
    """Return (prime^degree - 1, degree) digits of 1, x, x^2, ... modulo a primitive polynomial: every element except zero, once.

    The polynomial is the first one for which x has full order, found by search.
    """
    count = prime**degree - 1
    for low in itertools.product(range(prime), repeat=degree):
        elements = _power_cycle(prime, low, count)
        if len(elements) == count:
            return np.array(elements, np.uint8)
    raise AssertionError(f"every field of {prime}^{degree} elements has a primitive polynomial")


def _power_cycle(prime: int, low: tuple[int, ...], most: int) -> list[tuple[int, ...]]:
    """Return powers of x modulo x^n - sum low[k] x^k until they return to 1; an empty list after `most` powers."""
    unit = (1, *[0] * (len(low) - 1))
    element = unit
    elements: list[tuple[int, ...]] = []
    while len(elements) < most:
        elements.append(element)
        carry = element[-1]
        element = tuple((a + carry * b) % prime for a, b in zip((0, *element[:-1]), low, strict=True))
        if element == unit:
            return elements
    return []
