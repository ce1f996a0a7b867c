"""Files in memory and ends of processes, by the kernel's own calls."""

from __future__ import annotations

import errno
import os
import select
import subprocess
from pathlib import Path

import pytest

from flitwatch_domain.system_calls import open_memory_file, open_process


def test_a_file_in_memory_is_read_by_its_path_and_gone_when_closed() -> None:
    descriptor = open_memory_file("runs.csv")
    place = Path(f"/proc/self/fd/{descriptor}")
    with os.fdopen(descriptor, "wb") as file:
        file.write(b"a,b\n")
        file.flush()
        assert place.read_bytes() == b"a,b\n" and os.readlink(place) == "/memfd:runs.csv (deleted)"
        assert not os.get_inheritable(descriptor)
    assert not place.exists()


def test_the_end_of_a_process_that_is_not_a_child_can_be_waited_for() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 300 & echo $!; wait"], stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        other = int(shell.stdout.readline())
        ended = open_process(other)
        try:
            assert select.select([ended], [], [], 0)[0] == []
            os.kill(other, 9)
            assert select.select([ended], [], [], 60)[0] == [ended]
        finally:
            os.close(ended)


def test_a_process_that_does_not_exist_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError) as refused:
        open_process(2**22 + 1)
    assert refused.value.errno == errno.ESRCH
