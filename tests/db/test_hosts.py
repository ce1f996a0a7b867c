"""Identity of hosts: one rule for accounting, runs, counters and fabrics, both in the database and in the program."""

from __future__ import annotations

import io
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict
from support.databases import PLACE

from flitwatch_db import async_pool, build_conninfo, connect
from flitwatch_db.core import logins
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store
from flitwatch_db.runs import store as runs
from flitwatch_domain.fabric import Endpoints, Fabric, FabricKind, Links, Routers, Technology
from flitwatch_domain.hosts import find_host, host_key
from flitwatch_domain.importers import ibnetdiscover, read_fabric
from flitwatch_domain.jobs import Job
from flitwatch_domain.logins import read_passwords
from flitwatch_domain.runs import Run, RunStep
from flitwatch_ingest.sources import sacct
from flitwatch_ingest.sources.pbs import PbsReader
from flitwatch_ingest.writer.ports import FabricPorts, Owner
from flitwatch_ops.embedded import Embedded
from flitwatch_stream.table_connection import open_connection as connect_to_log

UTC = ZoneInfo("UTC")

plain = st.from_regex(r"[a-z]{1,4}[0-9]{1,3}", fullmatch=True)

domains = st.sampled_from(["", ".hpc.example", ".Cluster", ".local"])


@st.composite
def spelling(draw: st.DrawFn, name: str) -> str:
    """A way to write a host."""
    cased = "".join(draw(st.sampled_from([char, char.upper()])) for char in name)
    return cased + draw(domains)


@given(st.data(), st.lists(plain, min_size=1, max_size=6, unique=True))
def test_a_host_is_found_however_it_is_written(data: st.DataObject, names: list[str]) -> None:
    known = [data.draw(spelling(name)) for name in names]
    for name, written in zip(names, known, strict=True):
        if "." not in written:
            assert find_host(data.draw(spelling(name)), known) == written
        assert find_host(name, known) == written and find_host(written.swapcase(), known) == written


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


def test_hosts_of_two_domains_are_two_hosts() -> None:
    known = ["c1.a", "c1.b", "c2.a", "10.0.0.1", "10.0.0.2"]
    assert find_host("C1.A", known) == "c1.a" and find_host("c1.c", known) is None and find_host("c1", known) is None
    assert find_host("c2", known) == "c2.a" and find_host("c2.b", known) is None
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
    [("Node03", "node03"), ("node04.hpc.example", "node04"), ("node05", "NODE05.hpc.example"), ("c1", "c1")],
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
