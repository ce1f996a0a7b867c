"""`flitwatch mcp` with a client of the protocol."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

mcp = pytest.importorskip("mcp")


@asynccontextmanager
async def assistant(*words: str) -> AsyncIterator[Any]:
    """A client of the command, which runs as a process of its own."""
    started = mcp.StdioServerParameters(command=sys.executable, args=["-m", "flitwatch.main", "mcp", *words])
    async with mcp.Client(started, read_timeout_seconds=60) as client:
        yield client


async def told(client: Any, tool: str, **given: object) -> dict:
    """A tool's answer, which is the same as text and as data."""
    found = await client.call_tool(tool, given)
    (text,) = found.content
    assert not found.is_error, text.text
    assert json.loads(text.text) == found.structured_content
    return found.structured_content
