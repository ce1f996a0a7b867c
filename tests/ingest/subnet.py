"""A simulated subnet with a running OpenSM, and `flitwatch` on its first host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from noise_core import flow_ibsim
from routing import opensm

from flitwatch_domain.fabric import Fabric
from flitwatch_routing import lft


class Subnet:
    """ibsim with a fabric, brought up by OpenSM with `arguments`; `close` ends it."""

    def __init__(self, folder: Path, fabric: Fabric, *arguments: str) -> None:
        self.folder = folder
        #: Whether libibumad in a process of ours reaches the simulator; without it, only perfquery does.
        self.by_library = False
        switches, ports = lft.list_guids(fabric)
        self.switches = [f"S-{guid:016x}" for guid in switches]
        self.adapters = [f"H-{guid - 1:016x}" for guid in ports]
        (folder / "fabric.topo").write_text(opensm.ibsim_text(fabric))
        programs = folder / "bin"
        programs.mkdir()
        for tool in ("ibnetdiscover", "perfquery"):
            # The simulator's library belongs into the tools alone, not into Python.
            script = f'#!/bin/sh\nLD_PRELOAD={flow_ibsim.UMAD2SIM} exec /usr/sbin/{tool} "$@"\n'
            (programs / tool).write_text(script)
            (programs / tool).chmod(0o755)
        self.environment = os.environ | {
            "PATH": f"{programs}:{os.environ.get('PATH', '')}:/usr/sbin",
            "IBSIM_SOCKNAME": f"flitwatch-{os.getpid()}-{folder.name}",
            "SIM_HOST": self.adapters[0],
            "FLITWATCH_HOME": str(folder / "home"),
        }
        self.simulator = subprocess.Popen(
            ["ibsim", "-s", str(folder / "fabric.topo")],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        time.sleep(1.0)
        self.route(*(arguments or ("-R", "minhop")))

    def route(self, *arguments: str) -> None:
        """Run OpenSM until it has swept the subnet once."""
        self.inside("opensm", *arguments, "-o", "-f", str(self.folder / "log"))

    def _tools(self) -> dict[str, str]:
        return self.environment | {
            "LD_PRELOAD": str(flow_ibsim.UMAD2SIM),
            "OSM_TMP_DIR": str(self.folder),
            "OSM_CACHE_DIR": str(self.folder),
        }

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a program on the first host; the caller ends it."""
        return subprocess.Popen(
            words, env=self._tools(), cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def inside(self, *words: str) -> str:
        """Run a program on the first host."""
        return subprocess.run(
            words,
            env=self._tools(),
            cwd=self.folder,
            timeout=120,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def count(self, switch: int, port: int, **counters: int) -> None:
        """Let a switch's port have counted this."""
        self.set_counters({(self.switches[switch], port): counters})

    def set_counters(self, counters: dict[tuple[str, int], dict[str, int]], attribute: str = "PortCounters") -> None:
        """Let ports, by device and number, have counted this."""
        self.command(
            *(
                f'PerformanceSet "{device}"[{port}] {attribute}.{name}={value}'
                for (device, port), values in counters.items()
                for name, value in values.items()
            )
        )

    def command(self, *lines: str) -> None:
        """Tell the simulator."""
        assert self.simulator.stdin is not None
        self.simulator.stdin.write("".join(f"{line}\n" for line in lines))
        self.simulator.stdin.flush()
        time.sleep(0.3)

    def collect(self, url: str, *options: str) -> dict:
        """What `flitwatch collect infiniband --once --json` prints."""
        done = self.flitwatch("collect", "infiniband", "--once", "--db", url, "--fabric", "tree", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) | {"said": done.stderr}

    def flitwatch(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of ours, with `--json`."""
        inside = {"LD_PRELOAD": str(flow_ibsim.UMAD2SIM)} if self.by_library else {}
        return subprocess.run(
            [sys.executable, "-m", "flitwatch.main", *words, "--json"],
            env=self.environment | inside,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def close(self) -> None:
        """End the simulator."""
        self.simulator.terminate()
        self.simulator.wait(10)
