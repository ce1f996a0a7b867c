"""The platform's processes on a database with two servers: `python -m integration.clustered_platform OWNER_URL HOME PORT` runs their supervisor."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from integration.patroni_cluster import Cluster, Node
from integration.platform import Platform
from support.waiting import eventually

from flitwatch.commands.up import serve_platform
from flitwatch.exposure import exposure_of
from flitwatch_ops.supervisor import Server, read_running_state

#: The folder of the package that this module is in.
TESTS = Path(__file__).parents[1]
START_S = 120.0
#: Of the node whose host was lost.
PRIMARY = "primary"


class ClusteredPlatform(Platform):
    """The platform as a site runs it on servers of its own: `flitwatch db logins`, then the services with the URLs that it prints.

    Parameters
    ----------
    home, data : Path
    quick : bool
        See `integration.patroni_cluster.Cluster`.
    """

    def __init__(self, home: Path, data: Path, quick: bool = False) -> None:
        super().__init__(home, "embedded", data)
        self.cluster = Cluster(home / "cluster", quick)
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._lost: Node | None = None

    def start(self, port: int) -> None:
        (self.home / "log").mkdir()
        self.cluster.start()
        url = self.cluster.owner_url()
        argv = self.command("db", "logins", "--db", url, "--folder", str(self.home / "logins"), "--own", "--json")
        made = subprocess.run(argv, env=self.environment, capture_output=True, text=True, timeout=START_S)
        assert made.returncode == 0, made.stderr[-2000:]
        argv = [sys.executable, "-m", __name__, json.loads(made.stdout)["owner"], str(self.home), str(port)]
        with open(self.home / "log" / "supervisor.log", "ab") as log:
            self._supervisor = subprocess.Popen(argv, env=self.environment, stdout=log, stderr=log, cwd=TESTS)
        eventually(
            lambda: (read_running_state(self.home) or {}).get("state") == "running",
            START_S,
            0.1,
            what="the platform to run",
            process=self._supervisor,
            detail=lambda: (self.home / "log" / "supervisor.log").read_text()[-2000:],
        )

    def stop(self) -> None:
        super().stop()
        if self._supervisor is not None:
            self._supervisor.wait(START_S)
        self.cluster.stop()

    def servers(self) -> dict[str, int | None]:
        node = self.cluster.primary()
        return {PRIMARY: None if node is None else node.pid()}

    def kill(self, victim: str) -> None:
        if victim != PRIMARY:
            return super().kill(victim)
        self._lost = self.cluster.primary()
        assert self._lost is not None, "nobody writes"
        self._lost.kill()

    def mend(self) -> None:
        """Have the host back that was lost; return once its server follows the one that took over."""
        assert self._lost is not None
        self.cluster.begin(self._lost)
        self.cluster.wait_followed()


def main(url: str, port: int) -> None:
    """Supervise the services; the servers are Patroni's."""
    database = Server("database", lambda: url, lambda: None, "the cluster's database")
    reached = exposure_of("127.0.0.1", (), None, False, usual="viewer")
    serve_platform(
        [database], "embedded", "127.0.0.1", port, "none", None, reached, lambda line: print(line, flush=True)
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[3]))
