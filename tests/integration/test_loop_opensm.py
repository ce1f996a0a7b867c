"""The closed loop on a real OpenSM: counters of ibsim's ports, the database, a matrix, and tables that are loaded, read back and rolled back."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from ingest.subnet import Subnet
from ingest.writing import drain_log
from noise_core import flow_ibsim
from support.databases import Server
from support.waiting import eventually

from flitwatch.main import main
from flitwatch_db import connect
from flitwatch_db.diagnosis import measured
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_xgft
from flitwatch_routing import lft
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.service_levels import levels_of
from flitwatch_routing.switch_lids import find_unreached

pytestmark = [pytest.mark.system("schedulers"), pytest.mark.integration]

TREE = build_xgft(2, [4, 4], [1, 2])
WORD_BYTES = 4
#: What the site's configuration says besides; it must stay.
CONFIGURATION = (
    "# the site's own\nsubnet_prefix 0xfe80000000000000\nrouting_engine minhop\nmax_wire_smps 4\nforce_log_flush TRUE\n"
)


def loaded(subnet: Subnet, fabric: Fabric, name: str) -> lft.Dump:
    """What the switches hold, asked one by one."""
    at = subnet.folder / name
    at.write_text(subnet.inside("dump_fts"))
    return lft.read_dump(at, fabric)


def planted(fabric: Fabric, ports: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One node sends to several on other leaves that the loaded tables all reach by the same spine: half of the links would do."""
    source = 1
    leaf = int(fabric.endpoints.router[source])
    away = np.flatnonzero(fabric.endpoints.router != leaf)
    shared = [away[ports[leaf, away] == port] for port in np.unique(ports[leaf, away])]
    to = max(shared, key=len)[:4]
    return np.full(len(to), source), to, np.array([4e8, 2.8e8, 2.4e8, 1.2e8])[: len(to)]


def counted(subnet: Subnet, fabric: Fabric, ports: np.ndarray, flows: tuple) -> dict[tuple[str, int], dict[str, int]]:
    """Words that each sending port counts."""
    load, links = check_routes(fabric, ports, flows).load, fabric.links
    routers = len(fabric.routers)
    np.add.at(load, [int(np.flatnonzero(links.src == routers + s)[0]) for s in flows[0]], flows[2])
    switches, adapters = lft.list_guids(fabric)
    found = {}
    for link in np.flatnonzero(load).tolist():
        at, port = int(links.src[link]), max(int(links.src_port[link]), 1)
        device = f"S-{switches[at]:016x}" if at < routers else f"H-{adapters[at - routers] - 1:016x}"
        found[device, port] = {"PortXmitData": int(load[link]) // WORD_BYTES}
    return found


def grown(before: dict[tuple[str, int], dict[str, int]], more: dict[tuple[str, int], dict[str, int]]) -> dict:
    """Counters that stood at `before` and counted `more` since."""
    ports = before.keys() | more.keys()
    words = {at: sum(part.get(at, {}).get("PortXmitData", 0) for part in (before, more)) for at in ports}
    return {at: {"PortXmitData": count} for at, count in words.items()}


@dataclass(frozen=True)
class Measured:
    """A subnet that OpenSM routed, and what its ports counted of known flows: topology, tables and counters in a database.

    Attributes
    ----------
    url : str
        The database.
    site : Path
        OpenSM's folder.
    old : lft.Dump
        The tables under which was counted; each test leaves them loaded.
    flows : (source[k], destination[k], bytes[k])
    to : str
        The end of what was counted of the flows.
    """

    url: str
    subnet: Subnet
    site: Path
    fabric: Fabric
    old: lft.Dump
    flows: tuple[np.ndarray, np.ndarray, np.ndarray]
    to: str


@pytest.fixture(scope="module")
def measured_subnet(_embedded_template: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    flow_ibsim.require()
    folder = tmp_path_factory.mktemp("loop")
    site = folder / "opensm"
    site.mkdir()
    (site / "opensm.conf").write_text(CONFIGURATION + f"dump_files_dir {site}\n")
    with contextlib.ExitStack() as stack:
        url = _embedded_template.create()
        stack.callback(_embedded_template.drop, url)
        subnet = Subnet(folder, TREE, "-F", str(site / "opensm.conf"), "-D", "0x43")
        stack.callback(subnet.close)
        subnet.collect(url, "--adapters")
        an_hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
        main(["import", "routes", str(site / "opensm-lfts.dump"), "--fabric", "tree", "--at", an_hour_ago, "--db", url, "--json"])  # fmt: skip
        with connect(url) as conn:
            fabric = fabrics.load_fabric(conn, "tree")
        old = loaded(subnet, fabric, "old.lfts")
        flows = planted(fabric, old.ports)
        time.sleep(1.1)
        subnet.set_counters(counted(subnet, fabric, old.ports, flows), "PortCountersExtended")
        subnet.collect(url, "--adapters")
        drain_log(url, url, limit_s=60)
        yield Measured(url, subnet, site, fabric, old, flows, datetime.now(UTC).isoformat())


def ours(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    """What a command of ours prints."""
    capsys.readouterr()
    main([*words, "--json"])
    return json.loads(capsys.readouterr().out)


def test_from_counters_to_tables_and_back(measured_subnet: Measured, capsys: pytest.CaptureFixture[str]) -> None:
    url, subnet, site, fabric = (getattr(measured_subnet, name) for name in ("url", "subnet", "site", "fabric"))
    old, flows = measured_subnet.old, measured_subnet.flows
    before = (site / "opensm.conf").read_bytes()
    made = ours(capsys, "loop", "run", "--fabric", "tree", "--window", "10m", "--to", measured_subnet.to, "--time-limit", "2", "--reconstruct-limit", "20", "--db", url)  # fmt: skip
    assert made["verdict"] == "load" and made["simulated"] is False, made["reason"]
    loads = made["max_load_bytes"]
    assert loads["before"] == pytest.approx(flows[2].sum(), rel=0.01) == pytest.approx(loads["measured"], rel=0.01)
    assert loads["after"] < 0.6 * loads["before"]

    number = str(made["recommendation"])
    command = ["loop", "apply", number, "--opensm", str(site), "--db", url]
    everything = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    dry = ours(capsys, *command, "--dry-run")
    assert dry["entries_changed"] > 0 and dry["staged"] is False
    with pytest.raises(SystemExit):
        ours(capsys, *command)
    assert "This change is not approved" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == everything

    applied = ours(capsys, *command, "--yes")
    staged = lft.read_dump(Path(applied["tables"]), fabric)
    assert "max_wire_smps 4" in (site / "opensm.conf").read_text()
    subnet.route("-F", str(site / "opensm.conf"), "-D", "0x43")
    new = loaded(subnet, fabric, "new.lfts")
    assert (new.ports == staged.ports).all() and (new.ports != old.ports).any()
    assert new.switch_ports is not None and not len(find_unreached(fabric, new.switch_ports))
    between = fabric.router_links()
    assert check_routes(fabric, new.ports, flows).load[between].max() == pytest.approx(loads["after"], rel=0.01)

    # The same traffic once more, counted where the loaded tables lead it: the database shows the busiest link relieved as predicted.
    again = float(time.time()) // 10 * 10 + 10
    while time.time() < again:
        time.sleep(0.2)
    subnet.collect(url, "--adapters")
    time.sleep(1.1)
    subnet.set_counters(
        grown(counted(subnet, fabric, old.ports, flows), counted(subnet, fabric, new.ports, flows)),
        "PortCountersExtended",
    )
    subnet.collect(url, "--adapters")
    drain_log(url, url, limit_s=60)
    with connect(url) as conn:
        row = fabrics.get_fabric_row(conn, "tree")
        carried = measured.link_bytes(conn, row.fabric_id, fabric, again, time.time()).carried
    assert np.nanmax(carried[between]) == pytest.approx(loads["after"], rel=0.01)
    assert np.nanmax(carried[between]) < 0.6 * loads["measured"]

    assert ours(capsys, "loop", "rollback", number, "--db", url)["restored"]
    assert (site / "opensm.conf").read_bytes() == before
    subnet.route("-F", str(site / "opensm.conf"), "-D", "0x43")
    assert (loaded(subnet, fabric, "again.lfts").ports == old.ports).all()
    with connect(url) as conn:
        said = conn.execute(
            "SELECT action FROM audit WHERE action LIKE 'loop %%' AND target = %s ORDER BY audit_id",
            [f"recommendations/{number}"],
        ).fetchall()
    assert said == [("loop apply",), ("loop rollback",)]


def lids_of(subnet: Subnet) -> dict[int, int]:
    """The lowest LID of each port GUID, as OpenSM notes them."""
    lines = (subnet.folder / "guid2lid").read_text().splitlines()
    return {int(line.split()[0], 16): int(line.split()[1], 16) for line in lines if line.strip()}


def path_levels(subnet: Subnet, site: Path, pairs: list[tuple[int, int]]) -> list[int]:
    """The service level that OpenSM answers for each pair (endpoints)."""
    lids, ports = lids_of(subnet), lft.list_guids(TREE)[1]
    (subnet.folder / "answers.log").unlink(missing_ok=True)
    manager = subnet.start("opensm", "-F", str(site / "opensm.conf"), "-f", str(subnet.folder / "answers.log"))
    try:
        log = subnet.folder / "answers.log"
        eventually(
            lambda: log.exists() and "SUBNET UP" in log.read_text(), every_s=0.2, what="OpenSM to bring the subnet up"
        )
        found = []
        for src, dst in pairs:
            said = subnet.inside("saquery", "PR", "--src-to-dst", f"{lids[ports[src]]}:{lids[ports[dst]]}")
            level = re.search(r"\n\s+sl\.+0x([0-9a-f]+)", said)
            assert level is not None, said
            found.append(int(level[1], 16))
        return found
    finally:
        manager.terminate()
        manager.wait(20)


def test_service_levels_and_several_lids_are_loaded_and_taken_back(
    measured_subnet: Measured, capsys: pytest.CaptureFixture[str]
) -> None:
    url, subnet, site, fabric = (getattr(measured_subnet, name) for name in ("url", "subnet", "site", "fabric"))
    old = measured_subnet.old
    before = (site / "opensm.conf").read_bytes()
    made = ours(capsys, "loop", "run", "--fabric", "tree", "--window", "10m", "--to", measured_subnet.to, "--time-limit", "2", "--reconstruct-limit", "20", "--sl", "4", "--vl", "2", "--lmc", "1", "--db", url)  # fmt: skip
    assert made["verdict"] == "load" and made["lmc"] == 1, made["reason"]
    number = str(made["recommendation"])
    applied = ours(capsys, "loop", "apply", number, "--opensm", str(site), "--yes", "--db", url)
    staged = lft.read_dump(Path(applied["tables"]), fabric, 1)
    with pytest.raises(SystemExit):
        ours(capsys, "loop", "verify", number, "--db", url)
    subnet.route("-F", str(site / "opensm.conf"), "-D", "0x43")

    verified = ours(capsys, "loop", "verify", number, "--db", url)
    assert verified["loaded"] and verified["entries_different"] == verified["lanes_different"] == 0
    # Not by OpenSM's word alone: the switches asked one by one.
    asked = subnet.folder / "asked.lfts"
    asked.write_text(subnet.inside("dump_fts"))
    assert (lft.read_ports(asked, fabric, 1) == staged.ports).all()
    adapter = str(lids_of(subnet)[lft.list_guids(TREE)[1][3]])
    table = next(line for line in subnet.inside("smpquery", "sl2vl", adapter).splitlines() if "in  0, out  0" in line)
    assert [int(one) for one in table.split("|")[1:-1]] == [0, 1] * 8, "an adapter asked for its lanes"

    levels = levels_of(fabric, 4, 2, seed=1)
    pairs = [(src, dst) for src in range(0, 16, 3) for dst in range(1, 16, 4) if src != dst]
    src, dst = (np.array(one) for one in zip(*pairs, strict=True))
    assert path_levels(subnet, site, pairs) == levels.of(src, dst).tolist()

    back = ours(capsys, "loop", "rollback", number, "--db", url)
    assert back["restored"] and "level 0 and lane 0 again" in back["next"]
    assert (site / "opensm.conf").read_bytes() == before and not Path(applied["policy"]).exists()
    subnet.route("-F", str(site / "opensm.conf"), "-D", "0x43")
    assert (loaded(subnet, fabric, "again.lfts").ports == old.ports).all()
    assert set(path_levels(subnet, site, pairs)) == {0}
