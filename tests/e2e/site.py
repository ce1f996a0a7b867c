"""A site with measured fabrics: Edison's counters, and topologies without counters; its API and the built page on one port.

`python -m e2e.site DATA [COMMAND...]` (in tests/) fills a temporary database from the folder DATA and serves it: to COMMAND, which gets the address in
FLITWATCH_URL, or until it is interrupted. `make screenshots` uses it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "web" / "dist"
#: Edison's measured day: the option of `flitwatch import dragonview` for each file below the folder of measured data.
EDISON = {
    "--links": "cray-wiring/links-edison.txt",
    "--counters": "edison-dragonview/dnd_net_counters.21.csv",
    "--jobs": "edison-dragonview/dnd_jobs.21.csv",
}


def flitwatch(*arguments: str | Path) -> str:
    """Run a command of the product and return what it printed; its failure is the caller's."""
    command = [sys.executable, "-m", "flitwatch.main", *map(os.fspath, arguments)]
    return subprocess.run(command, check=True, timeout=300, stdout=subprocess.PIPE, text=True).stdout


def import_of_edison(data: Path) -> list[str]:
    """Words of the command that imports it; `data` is the folder as the program sees it."""
    return ["import", "dragonview", *(word for option, name in EDISON.items() for word in (option, f"{data / name}"))]


def fill(url: str, data: Path) -> None:
    """Import Edison (measured, 140 routers counted), Selene and Theta (topology only) as a user does."""
    flitwatch(*import_of_edison(data), "--db", url)
    flitwatch("import", "fabric", data / "infiniband/selene.storage.txt", "--db", url)
    flitwatch("import", "fabric", data / "cray-wiring/theta.interconnect", "--db", url)


@contextmanager
def served(url: str, anonymous: str = "user") -> Iterator[str]:
    """The API over that database and the built page; yields the address. `anonymous`: the role of who has not signed in."""
    from api.conftest import serving

    from flitwatch_api.settings import Settings

    with serving(Settings(db=url, web=PAGE, api_anonymous=anonymous)) as api:
        yield api.url


def main(data: Path, command: list[str]) -> int:
    """Serve the measured fabrics in `data` to a command, or to whoever opens the address that is printed."""
    from flitwatch_db.migrations import migrate_database
    from flitwatch_ops.embedded import Embedded

    server = Embedded(Path(tempfile.mkdtemp(prefix="flitwatch-site-")), durable=False)
    server.start()
    try:
        migrate_database(server.url)
        fill(server.url, data)
        with served(server.url) as url:
            if command:
                return subprocess.run(command, env={**os.environ, "FLITWATCH_URL": url}, check=False).returncode
            print(url, flush=True)
            with suppress(KeyboardInterrupt):
                signal.pause()
            return 0
    finally:
        server.destroy()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
