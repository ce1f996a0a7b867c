"""A site with measured fabrics: Edison's counters, and topologies without a counter; its API and the built page on one port.

`python -m e2e.site` (in tests/) serves it until it is told to stop; `make screenshots` uses that.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "web" / "dist"


def flitwatch(*arguments: str | Path) -> None:
    """Run a command of the product; its failure is the caller's."""
    command = [sys.executable, "-m", "flitwatch.main", *map(os.fspath, arguments)]
    subprocess.run(command, check=True, timeout=300, stdout=subprocess.DEVNULL)


def fill(url: str, data: Path) -> None:
    """Import Edison (measured, 140 routers counted), Selene and Theta (topology only) as a user does."""
    edison = data / "edison-dragonview"
    flitwatch("import", "dragonview", "--db", url, "--links", data / "cray-wiring/links-edison.txt",
              "--counters", edison / "dnd_net_counters.21.csv", "--jobs", edison / "dnd_jobs.21.csv")  # fmt: skip
    flitwatch("import", "fabric", data / "infiniband/selene.storage.txt", "--db", url)
    flitwatch("import", "fabric", data / "cray-wiring/theta.interconnect", "--db", url)


@contextmanager
def served(url: str) -> Iterator[str]:
    """The API over that database and the built page; yields the address."""
    from api.conftest import serving

    from flitwatch_api.settings import Settings

    with serving(Settings(db=url, web=PAGE)) as api:
        yield api.url
