"""A real OpenSM over a simulated fabric: it writes ibsim's topology file, runs the manager, and returns its dump."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flitwatch_research import core_topology as topology

SWITCH_GUID, ADAPTER_GUID = 0x0002C90000100000, 0x0002C90000200000
UMAD2SIM = Path("/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so")


def require() -> None:
    """Skip where OpenSM or ibsim are not installed."""
    for program in ("ibsim", "opensm", "ibnetdiscover"):
        if shutil.which(program) is None and not Path("/usr/sbin", program).exists():
            pytest.skip(f"needs {program} (Debian: opensm ibsim-utils infiniband-diags)")
    if not UMAD2SIM.exists():
        pytest.skip(f"needs {UMAD2SIM} (Debian: ibsim-utils)")


def ibsim_text(core: topology.Topology) -> str:
    """The fabric in ibsim's format; adapters lie four GUIDs apart, for a port's GUID is its adapter's plus one."""
    routers = core.routers

    def name(vertex: int) -> str:
        if vertex < routers:
            return f"S-{SWITCH_GUID + vertex:016x}"
        return f"H-{ADAPTER_GUID + 4 * (vertex - routers):016x}"

    ports: dict[int, list[str]] = {}
    for src, dst, out, back in zip(core.src, core.dst, core.src_port, core.dst_port, strict=True):
        line = f'[{out}]\t"{name(int(dst))}"[{back}]'
        ports.setdefault(int(src), []).append(line)
    blocks = []
    for vertex in [routers, *range(routers), *range(routers + 1, routers + core.endpoints)]:  # the first hosts OpenSM
        switch = vertex < routers
        guid = name(vertex)[2:]
        head = f"switchguid=0x{guid}({guid})\nSwitch" if switch else f"caguid=0x{guid}\nHca"
        width = max(int(core.src_port[core.src == vertex].max()), 1)
        label = f"s{vertex}" if switch else f"n{vertex - routers}"
        blocks.append("\n".join([f'{head}\t{width} "{name(vertex)}"\t\t# "{label}"', *ports[vertex]]))
    return "\n\n".join(blocks) + "\n"


def run_opensm(
    text: str,
    engine: str,
    folder: Path,
    tables: Path | None = None,
    host: int = ADAPTER_GUID,
    discover: bool = True,
    lmc: int = 0,
    then: Callable[[Callable[..., str]], None] | None = None,
) -> tuple[Path, Path]:
    """Route `text` by `engine` (`file`: from `tables`), the manager on adapter `host`, with 2^lmc LIDs an adapter; returns the dump of forwarding tables
    and the output of ibnetdiscover. `then` is called with a function that runs a command on the host and returns its output."""
    topology_file, dump = folder / "fabric.topo", folder / "opensm-lfts.dump"
    topology_file.write_text(text)
    environment = os.environ | {
        "PATH": os.environ.get("PATH", "") + ":/usr/sbin",
        "IBSIM_SOCKNAME": f"flitwatch-{os.getpid()}-{folder.name}",
        "OSM_TMP_DIR": str(folder),
        "OSM_CACHE_DIR": str(folder),
    }
    inside = environment | {"LD_PRELOAD": str(UMAD2SIM), "SIM_HOST": f"H-{host:016x}"}
    sizes = ["-N", "8192", "-S", "2048", "-P", "100000"]
    with subprocess.Popen(
        ["ibsim", "-s", "-n", *sizes, str(topology_file)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    ) as simulator:
        try:
            time.sleep(1.0)
            command = ["opensm", "-R", f"{engine},no_fallback", "-o", "-e", "-f", str(folder / "log"), "-D", "0x43"]
            if lmc:
                command += ["--lmc", str(lmc)]
            if tables is not None:
                command += ["-U", str(tables.resolve())]
            subprocess.run(command, env=inside, cwd=folder, timeout=600, check=True, capture_output=True)
            if then is not None:
                then(
                    lambda *words: (
                        subprocess.run(
                            words, env=inside, cwd=folder, timeout=60, check=True, capture_output=True, text=True
                        ).stdout
                    )
                )
            if not discover:
                return dump, folder / "discovered.txt"
            found = subprocess.run(
                ["ibnetdiscover"], env=inside, cwd=folder, timeout=60, check=True, capture_output=True
            )
        finally:
            simulator.terminate()
    discovered = folder / "discovered.txt"
    discovered.write_bytes(found.stdout)
    return dump, discovered
