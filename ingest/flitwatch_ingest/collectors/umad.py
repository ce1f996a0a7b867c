"""Management datagrams of this host's adapter through libibumad, the library of infiniband-diags."""

from __future__ import annotations

import ctypes
import errno
import os
import types
from typing import Self

from flitwatch_domain.errors import MissingDependency, Unavailable
from flitwatch_ingest.sources import pma

NAME, LIBRARY = "libibumad", "libibumad.so.3"
#: Temporary errors.
_LATER = frozenset({errno.ETIMEDOUT, errno.EAGAIN, errno.EINTR})


class Port:
    """An open port of the adapter for questions to performance-management agents; a context manager.

    Parameters
    ----------
    ca : str
        The adapter (empty: the first that is up).
    ca_port : int
        Its port (0: the first that is up).

    Raises
    ------
    MissingDependency
        The library is not installed.
    Unavailable
        The port does not exist, or this user may not open it.
    """

    def __init__(self, ca: str = "", ca_port: int = 0) -> None:
        try:
            self._library = ctypes.CDLL(LIBRARY, use_errno=True)
        except OSError as missing:
            raise MissingDependency(f"{NAME} cannot be loaded: {missing}", advice="Install infiniband-diags.") from None
        self._library.umad_size.restype = ctypes.c_size_t
        self._library.umad_init()
        ctypes.set_errno(0)
        self._fd = self._library.umad_open_port(ca.encode() or None, ca_port)
        if self._fd < 0:
            raise Unavailable(f"{NAME} opens no port: {self._describe_error(self._fd)}")
        # Opening the first port chooses the kernel's interface, and thereby the length of the header.
        self._head = int(self._library.umad_size())
        self._answer = ctypes.create_string_buffer(self._head + pma.SIZE)
        self._agent = self._library.umad_register(self._fd, pma.CLASS, 1, 0, None)
        if self._agent < 0:
            reason = self._describe_error(self._agent)
            self.close()
            raise Unavailable(f"{NAME} opens no port for performance management: {reason}")

    def close(self) -> None:
        self._library.umad_close_port(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        self.close()

    def send(self, target: pma.Target, mad: bytes, timeout_s: float) -> str:
        """Send a question. Return the reason if it cannot be sent, else an empty text."""
        question = ctypes.create_string_buffer(self._head + pma.SIZE)
        key = ctypes.c_int32(target.queue_key)
        self._library.umad_set_addr(question, target.lid, target.queue_pair, target.level, key)
        ctypes.memmove(ctypes.addressof(question) + self._head, mad, pma.SIZE)
        ctypes.set_errno(0)
        done = self._library.umad_send(self._fd, self._agent, question, pma.SIZE, int(timeout_s * 1000), 0)
        return self._describe_error(done) if done < 0 else ""

    def receive(self, timeout_s: float) -> tuple[bytes, bool] | None:
        """Return an answer with True, or a question that the adapter gave up with False; None after the timeout. Raise Unavailable if the adapter is
        gone."""
        length = ctypes.c_int(pma.SIZE)
        wait_ms = max(1, int(timeout_s * 1000))
        agent = self._library.umad_recv(self._fd, self._answer, ctypes.byref(length), wait_ms)
        if agent < 0:
            # A signal ends the wait with another result and its own errno.
            if -agent in _LATER or ctypes.get_errno() in _LATER:
                return None
            raise Unavailable(f"{NAME} lost the port: {self._describe_error(agent)}")
        status = self._library.umad_status(self._answer)
        return self._answer.raw[self._head :], status in (0, errno.ENOMEM)

    def _describe_error(self, code: int) -> str:
        """Return an error as text; the library returns -1 or a negative errno."""
        number = ctypes.get_errno() or -code
        return os.strerror(number)
