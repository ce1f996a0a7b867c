"""Identity of hosts: one rule for accounting, runs, counters and fabrics, both in the database and in the program."""

from __future__ import annotations

import io
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import orjson
import psycopg
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest.scheduler_records import ON_HOSTS, read_only_job
from psycopg.conninfo import conninfo_to_dict
from support import ethernet, slingshot_templates
from support.databases import PLACE
from support.ufm import documents_of as ufm_documents

from flitwatch.command_line import cli
from flitwatch.commands.import_ import import_
from flitwatch.commands.imports.fabric import store_fabric
from flitwatch_core.codec import Ledger, Role
from flitwatch_db import async_pool, build_conninfo, connect
from flitwatch_db.core import logins
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.ingest import imports
from flitwatch_db.jobs import store
from flitwatch_db.runs import store as runs
from flitwatch_domain.data_sources import DATA_SOURCES
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Endpoints, Fabric, FabricKind, Links, Routers, Technology
from flitwatch_domain.hostlist import expand_hosts
from flitwatch_domain.hosts import find_host, host_key, shorten_hosts
from flitwatch_domain.importers import (
    ibnetdiscover,
    interconnect,
    neighbours,
    read_fabric,
    slingshot,
    slingshot_template,
    ufm,
)
from flitwatch_domain.importers.read import FORMATS, rename_hosts
from flitwatch_domain.jobs import Job
from flitwatch_domain.logins import read_passwords
from flitwatch_domain.runs import Run, RunStep
from flitwatch_ingest.schemas import RowKind, json_schema
from flitwatch_ingest.sources import sacct
from flitwatch_ingest.sources.pbs import PbsReader
from flitwatch_ingest.writer.places import Places
from flitwatch_ingest.writer.ports import FabricPorts, Owner, owner_of
from flitwatch_ops.embedded import Embedded
from flitwatch_stream.table_connection import open_connection as connect_to_log

UTC = ZoneInfo("UTC")

plain = st.from_regex(r"[a-z]{1,4}[0-9]{1,3}", fullmatch=True)

domains = st.sampled_from(["", ".hpc.example", ".Cluster", ".local"])
interfaces = st.sampled_from(["", "", "-ib0", "-IB", "-opa", "-hsn12"])


@st.composite
def spelling(draw: st.DrawFn, name: str) -> str:
    """A way to write a host."""
    cased = "".join(draw(st.sampled_from([char, char.upper()])) for char in name)
    return cased + draw(interfaces) + draw(domains)


@given(st.data(), st.lists(plain, min_size=1, max_size=6, unique=True))
def test_a_host_is_found_however_it_is_written(data: st.DataObject, names: list[str]) -> None:
    known = [data.draw(spelling(name)) for name in names]
    for name, written in zip(names, known, strict=True):
        if "." not in written:
            assert find_host(data.draw(spelling(name)), known) == written
        assert find_host(name, known) == written and find_host(written.swapcase(), known) == written


def test_interfaces_that_are_hosts_or_switches_of_their_own_stay_apart() -> None:
    known = ["r1-ib1", "r1-ib2", "n1", "n2-ib0", "n2-ib1", "storage-ib0"]
    assert [find_host(name, known) for name in ("R1-IB2.hpc.example", "r1-ib3", "n1-ib0", "n2", "n2-ib1", "storage")] == [
        "r1-ib2", None, "n1", None, "n2-ib1", None
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sender", "endpoint"),
    [("c1.b", 1), ("C1.A", 0), ("c1.c", None), ("c1", None), ("c2-ib0:9100", 2), ("C2.hpc.example", 2), ("c2-ib1", 2)],
)
def test_counters_of_a_host_of_another_domain_are_nobody_s(sender: str, endpoint: int | None) -> None:
    fabric = machine(["c1.a", "c1.b", "c2"])
    found = FabricPorts(fabric).find(Owner(hosts=(sender.partition(":")[0],), port=1), [])
    assert (None if found is None else found.endpoint) == endpoint


SECTION = """Switch 4 "S-00000000000000a1" # "leaf" enhanced port 0 lid 31 lmc 0
[1] "H-00000000000000b0"[1](b0) # "{described}" lid 1 4xHDR
[2] "H-00000000000000b2"[1](b2) # "other1 mlx5_0" lid 2 4xHDR
"""


@given(
    st.data(),
    plain,
    st.sampled_from(
        [" HCA-1", " mlx5_0", "\tmlx5_0", "-mlx5_0", " mlx5_bond_0", " hfi1_0", " ibp65s0", "  mlx5_0 ", ""]
    ),
)
def test_a_host_of_a_topology_has_the_counters_that_it_sends(data: st.DataObject, name: str, adapter: str) -> None:
    described = data.draw(spelling(name)) + adapter
    fabric = ibnetdiscover.parse_fabric(SECTION.format(described=described), "f", "f")
    assert host_key(fabric.endpoints.node[0]) == name
    sender = data.draw(spelling(name))
    if "." in fabric.endpoints.node[0] and "." in sender:
        sender = sender.partition(".")[0]
    found = FabricPorts(fabric).find(Owner(hosts=(sender,), port=1), [])
    assert found is not None and found.endpoint == 0, (described, sender, found)


@given(st.data(), plain)
def test_a_switch_has_the_counters_that_it_sends_however_it_is_spelled(data: st.DataObject, name: str) -> None:
    known, sent = data.draw(spelling(name)), data.draw(spelling(name))
    text = SECTION.format(described="other2 mlx5_0").replace("leaf", known)
    found = FabricPorts(ibnetdiscover.parse_fabric(text, "f", "f")).find(Owner(names=(sent,), port=2), [])
    two_domains = "." in known and "." in sent and known.lower() != sent.lower()
    assert (found is None) if two_domains else (found is not None and (found.router, found.port) == (0, 2))


#: By the topology's format: what writes a fabric with one adapter for each host. In Cray's and Slingshot's a place has one spelling.
def _by_ibnetdiscover(hosts: list[str]) -> Fabric:
    text = 'switchguid=0xa1(a1)\nSwitch 40 "S-00000000000000a1" # "leaf1" enhanced port 0 lid 99 lmc 0\n'
    for at, host in enumerate(hosts, 1):
        text += f'[{at}] "H-{at:016x}"[1]({at:x}) # "{host} mlx5_0" lid {at} 4xHDR\n'
    return ibnetdiscover.parse_fabric(text, "f", "f")


def _by_ufm(hosts: list[str]) -> Fabric:
    documents = ufm_documents([(host, "mlx5_0", "leaf1", at) for at, host in enumerate(hosts, 1)])
    return ufm.parse_fabric(json.dumps(documents), "f", "f")


def _by_sonic(hosts: list[str]) -> Fabric:
    tables = ethernet.application("spine1") | {"LLDP_LOC_CHASSIS": {"lldp_loc_sys_name": "leaf1"}}
    tables = {key: row for key, row in tables.items() if not key.startswith("LLDP_ENTRY")}
    for at, host in enumerate(hosts):
        card = f"b8:ce:f6:00:01:{at:02x}"
        tables[f"LLDP_ENTRY_TABLE:Ethernet{4 * at}"] = ethernet.neighbour(
            host, card, card, "01 00", "ens1f0np0", by_mac=True
        )
    return neighbours.parse_fabric(json.dumps(tables), "f", "f")


def _by_lldpd(hosts: list[str]) -> Fabric:
    near = [
        {
            f"swp{at}": {
                "chassis": {host: {"id": {"type": "mac", "value": f"b8:ce:f6:00:01:{at:02x}"}, "capability": [{"type": "Station", "enabled": True}]}},
                "port": {"id": {"type": "mac", "value": f"b8:ce:f6:00:01:{at:02x}"}, "descr": "ens1f0np0"},
            }
        }
        for at, host in enumerate(hosts, 1)
    ]  # fmt: skip
    return neighbours.parse_fabric(json.dumps({"lldp": {"interface": near}}), "f", "leaf1")


def _by_openconfig(hosts: list[str]) -> Fabric:
    near = [
        {
            "name": f"Ethernet{at}",
            "neighbors": {
                "neighbor": [{"id": "1", "state": {"system-name": host, "port-id": f"b8:ce:f6:00:01:{at:02x}", "port-id-type": "MAC_ADDRESS"}}]
            },
        }
        for at, host in enumerate(hosts, 1)
    ]  # fmt: skip
    tree = {"state": {"system-name": "leaf1"}, "interfaces": {"interface": near}}
    return neighbours.parse_fabric(json.dumps({"openconfig-lldp:lldp": tree}), "f", "f")


def _by_slingshot(hosts: list[str]) -> Fabric:
    links = [f"x3000c0r41j{at}p0-{host}h0" for at, host in enumerate(hosts, 1)]
    return slingshot.parse_fabric("\n".join(["x3000c0r41j13p0-x3001c0r41j31p0", *links]), "f", "f")


def _by_template(hosts: list[str]) -> Fabric:
    document = slingshot_templates.planted()
    ports = [
        slingshot_templates.port("x1000c0r1", at, f"j{at}p0", dst_port=f"{host}h0") for at, host in enumerate(hosts, 1)
    ]
    document["switches"][-1]["edgePorts"] = ports
    return slingshot_template.parse_fabric(json.dumps(document), "f", "f")


def _by_cray(hosts: list[str]) -> Fabric:
    text = "c0-0c0s0a0l00(0:0:0) green -> c0-0c0s1a0l00(0:0:1)\nc0-0c0s1a0l00(0:0:1) green -> c0-0c0s0a0l00(0:0:0)\n"
    for router in ("c0-0c0s0a0", "c0-0c0s1a0"):
        text += "".join(f"{router}l5{tile}(0:0:{router[7]}) ptile -> processor\n" for tile in range(8))
    return interconnect.parse_fabric(text, "f", "f")


free = st.lists(plain, min_size=1, max_size=4, unique=True)
TOPOLOGIES: dict[str, tuple[Callable[[list[str]], Fabric], st.SearchStrategy[list[str]], bool]] = {
    "ibnetdiscover": (_by_ibnetdiscover, free, True),
    "ufm": (_by_ufm, free, True),
    "lldp": (_by_sonic, free, True),
    "lldp of lldpd": (_by_lldpd, free, True),
    "lldp of OpenConfig": (_by_openconfig, free, True),
    "slingshot": (_by_slingshot, st.just(["x3000c0s1b0n0", "x3000c0s1b1n0"]), False),
    "slingshot's template": (_by_template, st.just(["x1000c0s1b0n0", "x1000c0s1b1n0"]), False),
    "cray": (_by_cray, st.just(["nid00000", "nid00005"]), False),
}

#: By the collector's topic: how a host is written in its records.
COUNTERS: dict[str, tuple[str, dict[str, object]]] = {
    "ibmad": ("ProducerName", {"ca_name": "mlx5_0", "port": 1, "port_xmit_data": 1}),
    "ibnet": ("producer", {"ca_name": "mlx5_0", "port": 1, "port_xmit_data": 1}),
    "sysclassib": ("ProducerName", {"ca_name": "mlx5_0", "port": 1, "port_xmit_data": 1}),
    "ib_prometheus": ("hostname", {"device": "mlx5_0", "port": 1, "port_xmit_data": 1}),
    "ib_port": ("node_name", {"port": 1, "port_xmit_data": 1}),
    "opa2": ("ProducerName", {"port_xmit_data": 1}),
    "opa_prometheus": ("hostname", {"port": 1, "port_xmit_data": 1}),
    "slingshot_metrics": ("ProducerName", {"nics.name": "cxi0", "nics.hni_tx_paused_0": 1}),
    "cxi_sampler": ("ProducerName", {"iface_name": "hsn0", "hni_tx_paused_0": 1}),
    "cxi_prometheus": ("hostname", {"device": "cxi0", "hni_tx_paused_0": 1}),
    "aries_nic_mmr": ("ProducerName", {"AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_FLITS": 1}),
    "ethernet_port": ("node_name", {"port": "", "SAI_PORT_STAT_IF_OUT_OCTETS": 1}),
}
#: Sources of the page "Connect your own data", commands of `flitwatch import` and formats of topologies: where each is tested, or why its records name no host.
WHERE = {
    **dict.fromkeys(("cray", "ibnetdiscover", "lldp", "slingshot", "ufm"), "TOPOLOGIES"),
    **dict.fromkeys(("sacct", "flux", "clustercockpit", "pbs"), "ON_HOSTS"),
    **dict.fromkeys(("scrape", "remote_write", "otlp", "prometheus"), "COUNTERS: the exporters' topics"),
    "ldms-csv": "COUNTERS: the samplers' topics",
    "infiniband": "GUIDs name ports; its topology is ibnetdiscover's",
    "sonic": "switches name ports (test_a_switch_has_the_counters_that_it_sends_however_it_is_spelled); its topology is LLDP's",
    "gnmi": "as sonic",
    "ncl": "test_jobs_and_runs_have_a_place_whichever_came_first",
    "api": "as ncl: the ranks of runs",
    "fabric": "TOPOLOGIES",
    "swf": "the format has no nodes",
    "dragonview": "nodes have places (group, row, column, number) and no names",
    "routes": "GUIDs and LIDs name switches and adapters",
    "noise": "its measurements name no host",
    "runs": "its runs name users and no host",
}


#: The formats of topologies whose adapters count by a source's names; a job is on any fabric.
COUNTED_ON = {"aries": ("cray",), "slingshot": ("slingshot", "slingshot's template"), "cxi": ("slingshot", "slingshot's template"), "ethernet": ("lldp", "lldp of lldpd", "lldp of OpenConfig")}  # fmt: skip
PAIRS = [(topology, source) for topology in TOPOLOGIES for source in ON_HOSTS]
PAIRS += [
    (topology, source)
    for source in COUNTERS
    for topology in COUNTED_ON.get(source.partition("_")[0], ("ibnetdiscover", "ufm"))
]


def test_each_source_of_the_product_is_tested_or_names_no_host() -> None:
    named = {name for source in DATA_SOURCES for name in source.sources}
    commands = set(import_.commands)
    assert set(WHERE) == named | commands | (set(FORMATS) - {"auto"})


@pytest.mark.parametrize(("topology", "source"), PAIRS)
@settings(max_examples=8)
@given(st.data())
def test_a_host_of_any_source_is_the_one_of_any_topology(topology: str, source: str, data: st.DataObject) -> None:
    draw_fabric, hosts, is_free = TOPOLOGIES[topology]
    names = data.draw(hosts)
    known = [data.draw(spelling(name)) for name in names] if is_free else names
    fabric = draw_fabric(known)
    written = [data.draw(spelling(name)) for name in names]
    # Two domains are two hosts.
    written = [
        mine.partition(".")[0] if "." in mine and "." in node and mine.lower() != node.lower() else mine
        for mine, node in zip(written, known, strict=True)
    ]
    nodes = list(fabric.endpoints.node)
    wanted = {name: next(at for at, node in enumerate(nodes) if host_key(node) == name) for name in names}
    if source in ON_HOSTS:
        write, reader = ON_HOSTS[source]
        read = expand_hosts(read_only_job(reader(), write(written)).node_list)
        hosts_of_job = {name: find_host(name, nodes) for name in read}
        ends = {host_key(name): None if host is None else nodes.index(host) for name, host in hosts_of_job.items()}
    else:
        column, record = COUNTERS[source]
        records = [{"timestamp": 1.5, column: name, **record} for name in written]
        ends = {name: find_end(fabric, source, record) for name, record in zip(names, records, strict=True)}
    assert ends == wanted, (known, written)


def find_end(fabric: Fabric, topic: str, record: dict[str, object]) -> int | None:
    """The endpoint of a record's counters, as the writer finds it."""
    schema = json_schema(topic, orjson.dumps(record))
    identity = "".join(f"{record[column.name]}\x1f" for column in schema.columns if column.role is Role.IDENTITY)
    port = FabricPorts(fabric).find(owner_of(schema, identity), [])
    return None if port is None else port.endpoint


def test_names_are_short_where_the_domain_tells_nothing() -> None:
    assert shorten_hosts(["c1.a.", "C1.A", "c2.a", "c2.b", "10.0.0.1"]) == {
        "c1.a.": "C1", "C1.A": "C1", "10.0.0.1": "10.0.0.1"
    }  # fmt: skip


def test_hosts_of_two_domains_are_two_hosts() -> None:
    known = ["c1.a", "c1.b", "c2.a", "10.0.0.1", "10.0.0.2"]
    assert find_host("C1.A", known) == "c1.a" and find_host("c1.c", known) is None and find_host("c1", known) is None
    assert find_host("c2", known) == "c2.a" and find_host("c2.b", known) is None
    # Names from DNS end in a dot.
    assert find_host("c1.b.", known) == "c1.b" and find_host("c1.B", ["c1.a.", "c1.b."]) == "c1.b."
    assert find_host("10.0.0.2", known) == "10.0.0.2" and find_host("10", known) is None


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
    | st.ip_addresses(v=4).map(str)
    | st.ip_addresses(v=6).map(str)
)
def test_the_database_has_the_same_rule(conn_once: psycopg.Connection, name: str) -> None:
    row = conn_once.execute("SELECT host_of(%s)", [name]).fetchone()
    assert row is not None and row[0] == host_key(name)


@pytest.fixture(scope="module")
def conn_once(_embedded_template):  # type: ignore[no-untyped-def]
    url = _embedded_template.create()
    with connect(url, role="reader", autocommit=True) as conn:
        yield conn
    _embedded_template.drop(url)


def machine(nodes: list[str]) -> Fabric:
    ends = len(nodes)
    links = Links(src=np.r_[1 + np.arange(ends), np.zeros(ends)], dst=np.r_[np.zeros(ends), 1 + np.arange(ends)])
    return Fabric(
        "m",
        FabricKind.FAT_TREE,
        Technology.INFINIBAND,
        Routers(name=["leaf"], level=[0]),
        Endpoints([0] * ends, node=nodes),
        links,
    )


@pytest.mark.parametrize("first", ["fabric", "jobs"])
@pytest.mark.parametrize(
    ("on_fabric", "in_records"),
    [
        ("Node03", "node03"),
        ("node04.hpc.example", "node04"),
        ("node05", "NODE05.hpc.example"),
        ("c1", "c1"),
        ("node06-ib0", "node06"),
        ("Node07", "node07-IB0.hpc.example"),
        ("node08.hpc.example", "Node08.hpc.example."),
    ],
)
def test_jobs_and_runs_have_a_place_whichever_came_first(
    first: str, on_fabric: str, in_records: str, embedded_db: str
) -> None:
    with connect(embedded_db, role="writer") as conn:
        if first == "fabric":
            fabrics.save_fabric(conn, machine([on_fabric, "other1"]))
        store.upsert_jobs(conn, [Job("c", "1", "RUNNING", start_s=1_790_000_000, nodes=1, node_list=in_records)])
        if first == "jobs":
            fabrics.save_fabric(conn, machine([on_fabric, "other1"]))
        run = runs.upsert_run(conn, Run("r", "app", "1", 1_790_000_000, (0,), nodes=(on_fabric,)))
        runs.upsert_steps(conn, run, [RunStep(0, np.array([10**9], np.int64))])
        assert conn.execute("SELECT node, endpoint, router FROM job_node").fetchall() == [(in_records, 0, 0)]
        assert conn.execute("SELECT endpoint FROM run_rank").fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# nodes\n10.1.0.7\tnid000007 nid000007-nmn x3000c0s1b0n0 # first\n10.1.0.8 x3000c0s1b1n0 nid000008\n", ["nid000007", "nid000008"]),
        ("X3000C0S1B0N0.local nid000007\n", ["nid000007", "x3000c0s1b1n0"]),
    ],
)  # fmt: skip
def test_hosts_have_the_names_of_a_file(tmp_path: Path, text: str, expected: list[str]) -> None:
    file = tmp_path / "hosts"
    file.write_text(text)
    fabric = rename_hosts(_by_slingshot(["x3000c0s1b0n0", "x3000c0s1b1n0"]), file)
    assert list(fabric.endpoints.node) == expected
    # Counters may be sent under either name.
    for sender in ("x3000c0s1b0n0", "NID000007"):
        port = FabricPorts(fabric).find(Owner(hosts=(sender,), adapter="cxi0"), [])
        assert port is not None and port.endpoint == 0


def test_a_node_name_map_names_hosts_by_their_guid(tmp_path: Path) -> None:
    file = tmp_path / "map"
    file.write_text('0x0000000000000001 "login1"\n0xa1 "leaf"\n')
    assert list(rename_hosts(_by_ibnetdiscover(["c01", "c02"]), file).endpoints.node) == ["login1", "c02"]
    for wrong, reason in (
        ("10.0.0.1 other\n", "names no host"),
        ("c01 c02\n", "names no host"),
        ("c01 x\nc02 x\n", "the same name"),
    ):
        file.write_text(wrong)
        with pytest.raises(BadInput, match=reason):
            rename_hosts(_by_ibnetdiscover(["c01", "c02"]), file)


def test_a_file_of_names_tells_hosts_of_two_domains_apart(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("c1.a login1\nC1.B login2\nc1 login3\n")
    assert list(rename_hosts(machine(["c1.a", "c1.b"]), file).endpoints.node) == ["login1", "login2"]


#: Imports whose records name no host have no coverage.
WITHOUT_HOSTS = {"routes", "noise", "runs"}


@pytest.mark.shared
@pytest.mark.parametrize("command", sorted(set(import_.commands) - WITHOUT_HOSTS - {"dragonview"}))
def test_each_import_reports_its_coverage(command: str, shared: Path, embedded_db: str, tmp_path: Path) -> None:
    """Nothing has a place without a fabric; dragonview, which has its own fabric: tests/cli/test_import_fabric.py."""
    file = tmp_path / "input"
    if command in ON_HOSTS:
        write, _ = ON_HOSTS[command]
        file.write_text(write(["c01", "c02"]))
    elif command == "swf":
        file.write_text("; UnixStartTime: 1717747200\n1 0 2 60 4 -1 -1 4 -1 -1 1 1 1 1 1 -1 -1 -1\n")
    elif command == "fabric":
        file.write_text(SECTION.format(described="c01 mlx5_0"))
        with connect(embedded_db, role="writer") as conn:
            store.upsert_jobs(
                conn, [Job("c", str(at), "RUNNING", node_list=name) for at, name in enumerate(("C01", "c09"))]
            )
    else:
        file = {"ncl": shared / "samples/ariesncl/ok", "ldms-csv": shared / "cases/ldms-saturated-wait/ibmad_sampler"}[
            command
        ]
    done = CliRunner().invoke(cli, ["import", command, str(file), "--json", "--db", embedded_db])
    assert done.exit_code in (0, 4), done.output
    report = json.loads(next(line for line in done.output.splitlines() if line.startswith("{")))
    coverage = [
        report.get("counter_records" if command == "ldms-csv" else "jobs"),
        report["placed"],
        report["unplaced_examples"],
    ]
    assert coverage == {
        "swf": [1, 0, []],
        "fabric": [2, 1, ["c09"]],
        "ncl": [0, 0, []],
        "ldms-csv": [4, 0, report["unplaced_examples"]],
    }.get(command, [1, 0, ["c01", "c02"]])
    assert command != "ldms-csv" or len(report["unplaced_examples"]) == 1


@pytest.mark.parametrize(
    ("rank", "endpoint"), [("c1.a", 0), ("C1.A", 0), ("c1", 0), ("c1-ib0", 0), ("c1.b", None), ("c2", None)]
)
def test_a_rank_on_a_host_of_another_domain_has_no_place(rank: str, endpoint: int | None, embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        fabrics.save_fabric(conn, machine(["c1.a", "c2"]))
        store.upsert_jobs(conn, [Job("c", "1", "RUNNING", start_s=1_790_000_000, nodes=1, node_list="c1.a")])
        run = runs.upsert_run(conn, Run("r", "app", "1", 1_790_000_000, (0,), nodes=(rank,)))
        runs.upsert_steps(conn, run, [RunStep(0, np.array([10**9], np.int64))])
        assert conn.execute("SELECT endpoint FROM run_rank").fetchall() == [(endpoint,)]


def test_a_job_whose_record_has_no_number_of_nodes_has_that_of_its_list(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        listed = [("1", None, "c[1-3],c2"), ("2", 5, "c[1-3]"), ("3", None, None)]
        store.upsert_jobs(
            conn, [Job("c", name, "RUNNING", nodes=nodes, node_list=text) for name, nodes, text in listed]
        )
        assert conn.execute("SELECT nodes FROM job ORDER BY job_id").fetchall() == [(3,), (5,), (None,)]


@pytest.mark.parametrize(
    ("before", "after", "host", "ends"),
    [
        (["c1", "c2"], ["c0", "c1", "c2"], "C2", [2]),
        (["c1", "c2"], ["c2", "c1"], "C2", [0]),
        (["c1", "c2"], ["c1", "c3"], "C2", [None]),
        (["c1", "c2"], ["c1", "c2"], "C2", [1]),
        (["c.a", "c.b"], ["c.b", "c.a"], "c.b", [0]),
        (["c1", "c2"], ["c1", "c2", "c2"], "C2", [1, 2]),
    ],
)
def test_jobs_follow_their_hosts_when_the_topology_is_replaced(
    before: list[str], after: list[str], host: str, ends: list[int | None], embedded_db: str
) -> None:
    """A collector replaces a topology when a host or an adapter appears or is gone: then other hosts have other numbers."""
    with connect(embedded_db, role="owner") as conn:
        fabrics.save_fabric(conn, machine(before))
        running = Job("c", "1", "RUNNING", start_s=1_790_000_000, node_list=host)
        ended = Job("c", "2", "COMPLETED", start_s=1_780_000_000, end_s=1_780_000_900, node_list=host)
        # The record of its end has not come.
        forgotten = Job("c", "3", "COMPLETED", start_s=1_780_000_000, node_list=host)
        store.upsert_jobs(conn, [running, ended, forgotten])
        run = runs.upsert_run(conn, Run("r", "app", "1", 1_790_000_000, (0,), nodes=(host,)))
        runs.upsert_steps(conn, run, [RunStep(0, np.array([10**9], np.int64))])
        fabrics.save_fabric(conn, machine(after), replace=True)
        places = conn.execute("SELECT job_id, endpoint FROM job_node JOIN job USING (job_pk) ORDER BY 1, 2").fetchall()
        # A job that has ended keeps the number of its counters.
        assert places == [*(("1", end) for end in ends), ("2", 1), ("3", 1)]
        assert conn.execute("SELECT endpoint FROM run_rank").fetchall() == [(ends[0],)]


def test_an_ended_job_with_a_missing_host_keeps_its_places(embedded_db: str) -> None:
    with connect(embedded_db, role="owner") as conn:
        fabrics.save_fabric(conn, machine(["c1", "c2"]))
        ended = Job("c", "1", "COMPLETED", start_s=1_780_000_000, end_s=1_780_000_900, node_list="c1,c2,c9")
        store.upsert_jobs(conn, [ended])
        fabrics.save_fabric(conn, machine(["c1", "c3"]), replace=True)
        places = conn.execute("SELECT node, endpoint FROM job_node ORDER BY 1").fetchall()
        assert places == [("c1", 0), ("c2", 1), ("c9", None)]


def test_a_topology_s_coverage_is_that_of_the_newest_week(embedded_db: str) -> None:
    newest_s, day_s = 1_790_000_000, 86_400
    starts = {"1": newest_s, "2": newest_s - 6 * day_s, "3": newest_s - 8 * day_s}
    with connect(embedded_db, role="owner") as conn:
        fabric_id = fabrics.save_fabric(conn, machine(["c1"]))
        jobs = [
            Job("c", f"{name}{host[1:]}", "RUNNING", start_s=start_s, node_list=host)
            for name, start_s in starts.items()
            for host in ("c1", f"c9{name}")
        ]
        # A simulated machine is another one.
        demo = Job("demo", "9", "RUNNING", start_s=newest_s + 100 * day_s, node_list="c99", simulated=True)
        store.upsert_jobs(conn, [*jobs, demo])
        assert imports.count_jobs_of_fabric(conn, fabric_id) == (4, 2, ["c91", "c92"])


def test_a_replaced_topology_keeps_the_numbers_of_what_is_still_there(
    embedded_db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counters and ended jobs are stored by number: a new switch in the middle gave all behind it to others."""

    def topology(*leaves: int) -> Fabric:
        sections = [
            f'Switch 4 "S-{leaf:016x}" # "leaf{leaf}" enhanced port 0 lid {leaf} lmc 0\n'
            f'[1] "H-{leaf + 16:016x}"[1]({leaf + 16:x}) # "c{leaf} mlx5_0" lid {leaf + 16} 4xHDR\n'
            for leaf in leaves
        ]
        return ibnetdiscover.parse_fabric("".join(sections), "f", "f")

    names = "SELECT array_agg(r.name ORDER BY r.router) FROM router r"
    place = "SELECT e.node, r.name FROM job_node n JOIN endpoint e USING (fabric_id, endpoint) JOIN router r ON r.router = n.router"
    with connect(embedded_db, role="owner") as conn:
        store_fabric(conn, topology(1, 3))
        store.upsert_jobs(
            conn, [Job("c", "1", "COMPLETED", start_s=1_780_000_000, end_s=1_780_000_900, node_list="c3")]
        )
        for leaves, numbered, is_reused in (
            ((1, 2, 3), ["leaf1", "leaf3", "leaf2"], False),
            ((3, 2, 1), ["leaf1", "leaf3", "leaf2"], False),
            ((2, 3), ["leaf2", "leaf3"], True),
        ):
            store_fabric(conn, topology(*leaves), replace=True)
            assert conn.execute(names.encode()).fetchall() == [(numbered,)]
            assert conn.execute(place.encode()).fetchall() == [("c3", "leaf3")]
            reused = "earlier counters of leaf1 (leaf2) are shown under the names in brackets"
            assert (reused in " ".join(capsys.readouterr().err.split())) == is_reused
        # The same file is the same topology, whatever its numbers.
        version = fabrics.list_versions(conn)
        store_fabric(conn, topology(2, 3))
        assert fabrics.list_versions(conn) == version


@pytest.mark.parametrize(("cluster", "placed_on"), [("a", "fa"), ("b", "fb"), ("c", "plain"), ("default", "fb")])
def test_a_job_is_not_on_the_fabric_of_another_cluster(cluster: str, placed_on: str, embedded_db: str) -> None:
    """Clusters of one accounting number their nodes alike. Of a job without a cluster, the newest fabric is taken."""
    with connect(embedded_db, role="owner") as conn:
        for name, of in (("plain", None), ("fa", "a"), ("fb", "b")):
            labelled = {"cluster": of} if of else {}
            fabrics.save_fabric(conn, replace(machine(["c1", "c2"]), name=name, attributes=labelled))
            conn.commit()
        store.upsert_jobs(conn, [Job(cluster, "1", "RUNNING", node_list="c1")])
        placed = "SELECT f.name FROM job_node JOIN fabric f USING (fabric_id)"
        assert conn.execute(placed.encode()).fetchall() == [(placed_on,)]
        conn.execute("DELETE FROM job")
        for table in ("link", "endpoint", "router", "fabric"):
            conn.execute(
                f"DELETE FROM {table} WHERE fabric_id = (SELECT fabric_id FROM fabric WHERE name = 'plain')".encode()
            )
        store.upsert_jobs(conn, [Job(cluster, "2", "RUNNING", node_list="c1")])
        assert conn.execute(placed.encode()).fetchall() == ([] if cluster == "c" else [(placed_on,)])


def test_the_writer_reads_a_topology_again_that_has_other_hosts(embedded_db: str) -> None:
    places = Places(Ledger())
    with connect(embedded_db, role="owner", autocommit=True) as conn:
        fabrics.save_fabric(conn, machine(["c1", "c2"]))
        places.refresh(conn)
        assert not places.changed(conn)
        fabrics.save_fabric(conn, machine(["c2", "c3"]), replace=True)
        assert places.changed(conn)
        places.refresh(conn)
        found = places.find(RowKind.PORT, None, Owner(hosts=("c2",), port=1), "")
        assert found.endpoints[-1] == 0 and not places.changed(conn)


@pytest.mark.shared
def test_the_case_of_domains_and_case(shared: Path, embedded_db: str) -> None:
    case = shared / "cases/host-domain-and-case"
    with connect(embedded_db, role="writer") as conn:
        fabrics.save_fabric(conn, read_fabric(case / "fabric.txt", "auto", None))
        jobs, _ = sacct.decode_jobs((case / "jobs.txt").read_bytes(), "jobs.txt", zone=UTC)
        pbs = PbsReader(UTC)
        found = [*pbs.read(io.BytesIO((case / "20240607").read_bytes()), "20240607"), *pbs.rest()]
        store.upsert_jobs(conn, [*jobs, *(job for job, _ in found)])  # type: ignore[misc]
        placed = conn.execute("SELECT count(*), count(endpoint) FROM job_node").fetchone()
    assert placed == (5, 5)


# A URL of several servers, of which one writes and the others follow it.


RECOVERS = "SELECT pg_is_in_recovery()"

SEVERAL = "postgresql://ann@a.example.org:5432,b.example.org:5433/flitwatch?connect_timeout=3"


@pytest.fixture(scope="module")
def standby_first() -> Iterator[str]:
    """The URL of a server that only follows and of one that writes, in this order."""
    folder = Path(tempfile.mkdtemp(prefix="flitwatch-hosts-", dir=PLACE))
    folder.chmod(0o711)
    writes = Embedded(folder / "writes", durable=False, settings={"wal_level": "replica"})
    writes.start()
    writes.stop()
    subprocess.run(["cp", "-a", str(writes.folder), str(folder / "follows")], check=True)
    follows = Embedded(folder / "follows", durable=False, settings={"wal_level": "replica"})
    (follows.data / "standby.signal").touch()
    with follows, writes:
        hosts = [str(conninfo_to_dict(server.url)["host"]) for server in (follows, writes)]
        yield logins.make_url(
            "flitwatch", "flitwatch", {"host": ",".join(hosts), "passfile": logins.file_of(writes.logins, logins.OWNER)}
        )
    follows.destroy()
    writes.destroy()
    folder.rmdir()


@pytest.mark.system("processes")
def test_a_connection_is_made_to_the_server_that_writes(standby_first: str) -> None:
    with connect(standby_first) as conn:
        assert conn.execute(RECOVERS).fetchone() == (False,)


async def test_a_pool_of_the_api_holds_connections_to_the_server_that_writes(standby_first: str) -> None:
    async with async_pool(standby_first) as some, some.connection() as conn:
        assert await (await conn.execute(RECOVERS)).fetchone() == (False,)


def test_the_log_is_read_where_it_is_written(standby_first: str) -> None:
    with connect_to_log(standby_first, "test") as conn:
        assert conn.execute(RECOVERS).fetchone() == (False,)


def test_a_url_may_ask_for_any_server() -> None:
    assert conninfo_to_dict(build_conninfo(SEVERAL))["target_session_attrs"] == "primary"
    asked = conninfo_to_dict(build_conninfo(SEVERAL + "&target_session_attrs=any"))
    assert (asked["target_session_attrs"], asked["connect_timeout"]) == ("any", "3")


def test_a_services_url_names_all_servers_and_how_they_are_reached(tmp_path: Path) -> None:
    given = conninfo_to_dict(logins.url_of(SEVERAL + "&target_session_attrs=read-write", tmp_path, "writer"))
    assert (given["host"], given["port"]) == ("a.example.org,b.example.org", "5432,5433")
    assert (given["connect_timeout"], given["target_session_attrs"]) == ("3", "read-write")


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("*:*:flitwatch", True),
        ("a.example.org:5432:flitwatch", True),
        ("b.example.org:5433:flitwatch", True),
        ("b.example.org:5432:flitwatch", False),
        ("c.example.org:5432:flitwatch", False),
    ],
)
def test_a_password_of_one_of_the_servers_is_found(tmp_path: Path, line: str, known: bool) -> None:
    file = tmp_path / "pgpass"
    file.write_text(f"{line}:flitwatch_writer:secret\n")
    file.chmod(0o600)
    given = conninfo_to_dict(SEVERAL)
    assert read_passwords(file, given) == ({"flitwatch_writer": "secret"} if known else {})
    one_port = given | {"port": "5433"}
    assert read_passwords(file, one_port) == (
        {"flitwatch_writer": "secret"} if line.startswith(("*", "b.example.org:5433")) else {}
    )
