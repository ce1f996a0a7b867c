"""A second host: a network namespace whose only link to the platform can be cut. Needs root and iproute2."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

NEAR, FAR = "10.213.77.1", "10.213.77.2"


def can_be_had() -> bool:
    """Whether this machine lets us make a namespace."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    name = f"fwtry{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode == 0
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return made


class Host:
    """The far host; the platform stays on the near one. A context manager.

    The platform listens on 127.0.0.1 and on Unix sockets only, so a relay on the near end of the link carries connections to it; what is cut is the link.
    """

    def __init__(self) -> None:
        self.name = f"fw{os.getpid()}"
        self._near, self._far = f"{self.name}n"[-15:], f"{self.name}f"[-15:]
        self._relays: list[subprocess.Popen] = []

    def __enter__(self) -> Host:
        _ip("netns", "add", self.name)
        try:
            _ip("link", "add", self._near, "type", "veth", "peer", "name", self._far)
            _ip("link", "set", self._far, "netns", self.name)
            _ip("addr", "add", f"{NEAR}/30", "dev", self._near)
            _ip("link", "set", self._near, "up")
            for words in (f"addr add {FAR}/30 dev {self._far}", f"link set {self._far} up", "link set lo up"):
                _ip("-n", self.name, *words.split())
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for relay in self._relays:
            relay.kill()
            relay.wait()
        # The link goes with the namespace that holds one end of it.
        subprocess.run(["ip", "link", "del", self._near], capture_output=True)
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True)

    def command(self, argv: list[str]) -> list[str]:
        """A command that runs on the far host, in the same process."""
        return ["ip", "netns", "exec", self.name, *argv]

    def reach(self, log: str) -> str:
        """Make the platform's log reachable from the far host; return its URL there."""
        if log.startswith("kafka://"):
            # Kafka tells its clients to come to 127.0.0.1: over there a second relay stands at that address.
            port = int(log.rsplit(":", 1)[1].strip("/"))
            self._relay([], f"{NEAR}:{port}", f"127.0.0.1:{port}")
            self._relay(self.command([]), f"127.0.0.1:{port}", f"{NEAR}:{port}")
            return log
        parts = urlsplit(log)
        self._relay([], f"{NEAR}:5432", f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432")
        return f"postgresql://{parts.username}@{NEAR}:5432{parts.path}?passfile={parse_qs(parts.query)['passfile'][0]}"

    def _relay(self, prefix: list[str], listen: str, target: str) -> None:
        self._relays.append(subprocess.Popen([*prefix, sys.executable, __file__, listen, target]))
        time.sleep(1.0)
        assert self._relays[-1].poll() is None, f"the relay from {listen} to {target} ended"

    def cut(self) -> None:
        """Pull the cable."""
        _ip("link", "set", self._near, "down")

    def mend(self) -> None:
        """Put it back."""
        _ip("link", "set", self._near, "up")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while block := await reader.read(65536):
            writer.write(block)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def _relay(listen: str, target: str) -> None:
    async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if target.startswith("/"):
                other = await asyncio.open_unix_connection(target)
            else:
                host, _, port = target.rpartition(":")
                other = await asyncio.open_connection(host, int(port))
        except OSError:
            writer.close()
            return
        await asyncio.gather(_carry(reader, other[1]), _carry(other[0], writer))

    host, _, port = listen.rpartition(":")
    async with await asyncio.start_server(joined, host, int(port)) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_relay(*sys.argv[1:]))
