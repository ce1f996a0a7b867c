"""Answers of counter routes that all viewers share."""

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

#: The work of an answer: its content, or the answer as it is to be sent.
Work = Callable[[Connection], Awaitable[Any]]
#: An answer that is soon out of date is not worth more time.
LEVEL = 1


async def topology_of(platform: Platform, fabric: str) -> Topology:
    """The topology of a fabric as it is now, by a connection that is given back; NotFound.

    Anyone who waits for shared work must hold no connection: the work needs one.
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
    """The answer of a query about a fabric, with its entity tag.

    Parameters
    ----------
    query : tuple
        All that the answer depends on alongside the topology, what the caller may see included.
    work : callable
    kinds : frozenset of str
        Events that change it.
    vary : str, optional
        The request's header that another form of it hangs on.
    """

    async def make() -> CachedAnswer:
        async with platform.reading() as conn:
            content = await work(conn)
        return content if isinstance(content, CachedAnswer) else await asyncio.to_thread(cache_json, content, LEVEL)

    cached_answer = await platform.answers.get((*topology.key, *query), topology.head.fabric_id, kinds, make)
    return tagged_response(request, cached_answer, vary)
