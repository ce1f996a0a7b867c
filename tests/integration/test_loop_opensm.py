"""The loop closed on a real OpenSM: counters of ibsim's ports, the database, a matrix, tables, loaded, read back, taken back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from ingest.subnet import Subnet
from noise_core import flow_ibsim

from flitwatch.main import main
from flitwatch_db import connect
from flitwatch_db.diagnosis import measured
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import xgft
from flitwatch_ingest.writer.drain import drain
from flitwatch_routing import lft
from flitwatch_routing.forwarding import check
from flitwatch_routing.switch_lids import unreached

pytestmark = pytest.mark.integration

TREE = xgft(2, [4, 4], [1, 2])
WORD_BYTES = 4
#: What the site's configuration says besides; it must stay.
CONFIGURATION = "# the site's own\nsubnet_prefix 0xfe80000000000000\nrouting_engine minhop\nmax_wire_smps 4\n"


@pytest.fixture
def subnet(tmp_path: Path) -> Iterator[Subnet]:
    flow_ibsim.require()
    site = tmp_path / "opensm"
    site.mkdir()
    (site / "opensm.conf").write_text(CONFIGURATION + f"dump_files_dir {site}\n")
    found = Subnet(tmp_path, TREE, "-F", str(site / "opensm.conf"), "-D", "0x43")
    yield found
    found.close()


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
    load, links = check(fabric, ports, flows).load, fabric.links
    routers = len(fabric.routers)
    np.add.at(load, [int(np.flatnonzero(links.src == routers + s)[0]) for s in flows[0]], flows[2])
    switches, adapters = lft.guids(fabric)
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


def ours(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    """What a command of ours prints."""
    capsys.readouterr()
    main([*words, "--json"])
    return json.loads(capsys.readouterr().out)


def test_from_counters_to_tables_and_back(
    embedded_db: str, subnet: Subnet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "opensm"
    before = (site / "opensm.conf").read_bytes()
    subnet.collect(embedded_db, "--adapters")
    an_hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    ours(capsys, "import", "routes", str(site / "opensm-lfts.dump"), "--fabric", "tree", "--at", an_hour_ago, "--db", embedded_db)  # fmt: skip
    with connect(embedded_db) as conn:
        fabric = fabrics.load(conn, "tree")
    old = loaded(subnet, fabric, "old.lfts")
    flows = planted(fabric, old.ports)
    time.sleep(1.1)
    subnet.set_counters(counted(subnet, fabric, old.ports, flows), "PortCountersExtended")
    subnet.collect(embedded_db, "--adapters")
    drain(embedded_db, embedded_db, limit_s=60)

    made = ours(capsys, "loop", "run", "--fabric", "tree", "--window", "10m", "--time-limit", "2", "--reconstruct-limit", "20", "--db", embedded_db)  # fmt: skip
    assert made["verdict"] == "load" and made["simulated"] is False, made["reason"]
    loads = made["max_load_bytes"]
    assert loads["before"] == pytest.approx(flows[2].sum(), rel=0.01) == pytest.approx(loads["measured"], rel=0.01)
    assert loads["after"] < 0.6 * loads["before"]

    number = str(made["recommendation"])
    command = ["loop", "apply", number, "--opensm", str(site), "--db", embedded_db]
    everything = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    dry = ours(capsys, *command, "--dry-run")
    assert dry["entries_changed"] > 0 and dry["staged"] is False
    with pytest.raises(SystemExit):
        ours(capsys, *command)
    assert "Nobody approved this" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == everything

    applied = ours(capsys, *command, "--yes")
    staged = lft.read_dump(Path(applied["tables"]), fabric)
    assert "max_wire_smps 4" in (site / "opensm.conf").read_text()
    subnet.route("-F", str(site / "opensm.conf"), "-D", "0x43")
    new = loaded(subnet, fabric, "new.lfts")
    assert (new.ports == staged.ports).all() and (new.ports != old.ports).any()
    assert new.switch_ports is not None and not len(unreached(fabric, new.switch_ports))
    between = fabric.router_links()
    assert check(fabric, new.ports, flows).load[between].max() == pytest.approx(loads["after"], rel=0.01)

    # The same traffic once more, counted where the loaded tables lead it: the database shows the busiest link relieved as predicted.
    again = float(time.time()) // 10 * 10 + 10
    while time.time() < again:
        time.sleep(0.2)
    subnet.collect(embedded_db, "--adapters")
    time.sleep(1.1)
    subnet.set_counters(
        grown(counted(subnet, fabric, old.ports, flows), counted(subnet, fabric, new.ports, flows)),
        "PortCountersExtended",
    )
    subnet.collect(embedded_db, "--adapters")
    drain(embedded_db, embedded_db, limit_s=60)
    with connect(embedded_db) as conn:
        row = fabrics.get(conn, "tree")
        carried = measured.link_bytes(conn, row.fabric_id, fabric, again, time.time()).carried
    assert np.nanmax(carried[between]) == pytest.approx(loads["after"], rel=0.01)
    assert np.nanmax(carried[between]) < 0.6 * loads["measured"]

    assert ours(capsys, "loop", "rollback", number, "--db", embedded_db)["restored"]
    assert (site / "opensm.conf").read_bytes() == before
    subnet.route("-F", str(site / "opensm.conf"), "-D", "0x43")
    assert (loaded(subnet, fabric, "again.lfts").ports == old.ports).all()
    with connect(embedded_db) as conn:
        said = conn.execute("SELECT action, target FROM audit WHERE action LIKE 'loop %' ORDER BY audit_id").fetchall()
    assert said == [("loop apply", f"recommendations/{number}"), ("loop rollback", f"recommendations/{number}")]
