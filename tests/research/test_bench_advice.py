"""`flitwatch bench advice` counts any answer that is not advice as refused."""

from __future__ import annotations

import asyncio

import pytest

from flitwatch_research.commands.bench_advice import GROUPS, NODES_PER_GROUP, _measure_advice

NAMES = [f"n{number}" for number in range(GROUPS * NODES_PER_GROUP)]


@pytest.mark.parametrize(
    ("answer", "known", "refused"),
    [
        (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy", 0, 5),
        (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy", 0, 5),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<p/>", 0, 5),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", 0, 5),
        # No length, and a connection that ends before the answer does.
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", 0, 5),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", 0, 5),
        (b"", 0, 5),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n{"expected_slowdown":{}}', 5, 0),
    ],
)
def test_an_answer_that_is_no_advice_is_counted(answer: bytes, known: int, refused: int) -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readline():
            length = 0
            while (head := await reader.readline()) not in (b"\r\n", b""):
                if head.lower().startswith(b"content-length:"):
                    length = int(head.split(b":")[1])
            await reader.readexactly(length)
            writer.write(answer)
            if b"Connection: close" in answer or b"Length: 9" in answer or not answer:
                break
        writer.close()

    async def measure() -> dict:
        async with await asyncio.start_server(reply, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            return dict(await asyncio.wait_for(_measure_advice(port, 5.0, 1, 1, 1, NAMES), 30))

    got = asyncio.run(measure())
    assert (got["questions"], got["with_slowdown"], got["refused"]) == (5, known, refused)


def test_a_connection_that_the_server_closed_as_it_idled_is_no_refusal() -> None:
    """Every connection answers one question and then ends without a word, as a server does with one that idles."""
    answer = b'HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n{"expected_slowdown":{}}'

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
        writer.write(answer)
        await writer.drain()
        writer.close()

    async def measure() -> dict:
        async with await asyncio.start_server(reply, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            return dict(await asyncio.wait_for(_measure_advice(port, 5.0, 1, 1, 1, NAMES), 30))

    got = asyncio.run(measure())
    assert (got["questions"], got["with_slowdown"], got["refused"]) == (5, 5, 0)
