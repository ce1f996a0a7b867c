"""Uploaded files, stored from a request to the database piece by piece."""

from __future__ import annotations

from fastapi import Request

from flitwatch_api.platform import Platform
from flitwatch_api.security import SMALLER_FILE
from flitwatch_db.tasks import files
from flitwatch_domain.errors import TooCostly


async def receive_file(request: Request, platform: Platform, number: int) -> int:
    """Store a request's body as the content of a file, and return its number of bytes.

    Raises
    ------
    TooCostly
        The body exceeds the file limit.
    NotFound
        The file was deleted meanwhile.
    """
    buffer, size, count = bytearray(), 0, 0
    async for block in request.stream():
        buffer += block
        size += len(block)
        if size > files.MAX_FILE_BYTES:
            raise TooCostly(
                f"the file is too long; the limit MAX_FILE_BYTES is {files.MAX_FILE_BYTES:,}", advice=SMALLER_FILE
            )
        while len(buffer) >= files.PIECE_BYTES:
            await _store_piece(platform, number, count, bytes(buffer[: files.PIECE_BYTES]))
            del buffer[: files.PIECE_BYTES]
            count += 1
    if buffer:
        await _store_piece(platform, number, count, bytes(buffer))
    await platform.in_thread("writer", lambda conn: files.complete_file(conn, number, size))
    return size


async def _store_piece(platform: Platform, number: int, count: int, content: bytes) -> None:
    await platform.in_thread("writer", lambda conn: files.append_piece(conn, number, count, content))
