"""The servers of a benchmark, in a temporary folder, with the durability of a site's."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flitwatch_ops.home import home_folder

Stack = Literal["full", "embedded"]


@dataclass(frozen=True)
class Servers:
    """Running servers.

    Attributes
    ----------
    url, log_url : str
    processes : dict of str to int
        Process ids by part: `database`, and `log` if it is a separate server.
    """

    url: str
    log_url: str
    processes: dict[str, int]


@contextmanager
def start_servers(stack: Stack) -> Iterator[Servers]:
    """Start database and log; both are removed at the end."""
    from flitwatch_db.migrations import migrate_database

    home_folder().mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=home_folder()))
    with ExitStack() as closing:
        closing.callback(shutil.rmtree, folder, ignore_errors=True)
        if stack == "embedded":
            from flitwatch_ops.embedded import Embedded

            database = Embedded(folder / "pg")
            closing.callback(database.destroy)
            url = log_url = database.start()
            processes = {"database": database.pid() or 0}
        else:
            from flitwatch_ops.stack.kafka import Kafka
            from flitwatch_ops.stack.timescale import Timescale

            broker, timescale = Kafka(folder / "kafka"), Timescale(folder / "timescale")
            closing.callback(broker.destroy)
            log_url = broker.start()
            closing.callback(timescale.destroy)
            url = timescale.start()
            processes = {"database": timescale.pid() or 0, "log": broker.pid() or 0}
        migrate_database(url)
        yield Servers(url, log_url, processes)
