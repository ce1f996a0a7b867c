"""Routes of remotes: their machines, and everything that can be read of them."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response, StreamingResponse

from flitwatch_api.answers import json_response
from flitwatch_api.events.hub import RelayedStream
from flitwatch_api.events.stream_access import StreamAccess
from flitwatch_api.people.browsers import network_of
from flitwatch_api.people.callers import counted_as
from flitwatch_api.platform import ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_api.remotes import relay
from flitwatch_api.remotes.schemas import RemoteList
from flitwatch_domain.access import Caller
from flitwatch_domain.errors import NotFound

http = APIRouter(prefix="/remotes", tags=["remotes"], responses=RESPONSES)


@http.get("", response_model=RemoteList)
async def remotes(request: Request, platform: ThePlatform) -> Response:
    """Other platforms whose machines can be seen from here, each with its machines or the reason why they cannot be seen now."""
    caller: Caller | None = request.state.caller
    return json_response(
        RemoteList(items=list(await asyncio.gather(*(remote.of(caller) for remote in platform.remotes.values()))))
    )


@http.get(
    "/{remote}/{path:path}",
    response_class=Response,
    responses={200: {"content": {"*/*": {}}, "description": "The remote's answer at /api/v1/{path}."}},
)
async def read_remote(
    request: Request,
    platform: ThePlatform,
    remote: Annotated[str, Path(max_length=40)],
    path: Annotated[str, Path(max_length=2000, description="Below the remote's /api/v1, with the same parameters.")],
) -> Response:
    """Return a remote's answer unchanged. Nothing can be changed there from here."""
    remote_machines = platform.remotes.get(remote)
    if remote_machines is None:
        raise NotFound(f"no remote is called {remote[:40]!r}", advice="GET /api/v1/remotes lists them.")
    client, caller = remote_machines.client, request.state.caller
    raw = request.scope.get("raw_path") or request.url.path.encode()
    target = relay.below_base(raw, request.scope["query_string"], f"/remotes/{remote}".encode())
    (await client.access()).check(client.name, caller)
    headers = {name: value for name in relay.ASKED_WITH if (value := request.headers.get(name)) is not None}
    # Without a wish of the caller, our own client would ask for what the caller cannot unpack.
    headers.setdefault("accept-encoding", "identity")
    if path != "events":
        return await relay.hand_on(client.name, await client.open(target, headers))
    stream, stack = RelayedStream(), ExitStack()
    stack.enter_context(platform.hub.subscribe(counted_as(caller, network_of(request)), stream))
    try:
        response = await client.open(target, headers)
    except BaseException:
        stack.close()
        raise
    if response.status_code != 200:
        stack.close()
        return await relay.hand_on(client.name, response)
    event_stream = relay.hand_on_events(response, stream, stack, StreamAccess(request))
    return StreamingResponse(event_stream, media_type=relay.EVENTS, headers=relay.headers_of(response))
