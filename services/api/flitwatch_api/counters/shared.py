"""Responses of counter routes that all viewers share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from flitwatch_api.answers import CachedAnswer, cache_json, tagged_response
from flitwatch_api.fabric.topology import Topology
from flitwatch_api.platform import Platform
from flitwatch_api.shared_answers import OF_COUNTERS
from flitwatch_db.core.columns import Connection

#: Computes a response: its content, or the finished response.
Work = Callable[[Connection], Awaitable[Any]]
#: A response that is soon outdated is not worth a higher level.
LEVEL = 1


async def topology_of(platform: Platform, fabric: str) -> Topology:
    """Return a fabric's current topology, using a connection that is released afterwards. Raise NotFound.

    A caller that waits for shared work must not hold a connection, because the work needs one.
    """
    async with platform.reading() as conn:
        return await platform.topologies.get(conn, fabric)


async def serve_shared(
    platform: Platform,
    request: Request,
    topology: Topology,
    query: tuple[Hashable, ...],
    work: Work,
    kinds: frozenset[str] = OF_COUNTERS,
    vary: str | None = None,
) -> Response:
    """Return the response to a query about a fabric, with its entity tag.

    Parameters
    ----------
    query : tuple
        Everything that determines the response apart from the topology, including the caller's permissions.
    work : callable
    kinds : frozenset of str
        Events that change the response.
    vary : str, optional
        The request header that selects another form of the response.
    """

    async def make() -> CachedAnswer:
        async with platform.reading() as conn:
            content = await work(conn)
        return content if isinstance(content, CachedAnswer) else await asyncio.to_thread(cache_json, content, LEVEL)

    cached_answer = await platform.answers.get((*topology.key, *query), topology.head.fabric_id, kinds, make)
    return tagged_response(request, cached_answer, vary)
