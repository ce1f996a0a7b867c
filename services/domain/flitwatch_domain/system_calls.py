"""System calls and options of Linux that a Python may lack: that of the packages is built against headers of 2012, before these existed."""

from __future__ import annotations

import ctypes
import os

#: Option of a TCP socket: bytes that it takes before they can be sent (linux/tcp.h).
TCP_NOTSENT_LOWAT = 25
#: `pidfd_open` has the same number on all processors (asm-generic/unistd.h).
_PIDFD_OPEN = 434
#: Close the file if the process becomes another program (linux/memfd.h).
_MFD_CLOEXEC = 1

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def open_memory_file(name: str) -> int:
    """Return the descriptor of a new file that exists only in memory, until it is closed; see memfd_create(2) for errors (OSError)."""
    return _check(_libc.memfd_create(name.encode(), ctypes.c_uint(_MFD_CLOEXEC)))


def open_process(pid: int) -> int:
    """Return a descriptor that becomes readable when a process ends; see pidfd_open(2) for errors (OSError)."""
    return _check(_libc.syscall(ctypes.c_long(_PIDFD_OPEN), ctypes.c_int(pid), ctypes.c_uint(0)))


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
