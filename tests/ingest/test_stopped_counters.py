"""A device's counter at its maximum has an unknown increment, not zero, for any source."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import orjson
import pytest
import yaml
from click.testing import CliRunner
from ingest.writing import drain_log

from flitwatch.command_line import cli
from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import identify_counter
from flitwatch_domain.counters.modern import INFINIBAND
from flitwatch_domain.fabric import Technology
from flitwatch_domain.importers import ibnetdiscover, read_fabric
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.ldms_csv import CsvCollector
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.exporters.intake import Intake
from flitwatch_ingest.exporters.sample import Sample
from flitwatch_ingest.exporters.table import MetricTable
from flitwatch_ingest.sources import perfquery
from flitwatch_stream.backends import open_log

BEGIN_S, CEILING = 1_764_320_000, 2**32 - 1
FABRIC = """switchguid=0xa00100(a00100)
Switch\t40 "S-0000000000a00100"\t\t# "leafA" enhanced port 0 lid 2 lmc 0
[1]\t"H-0000000000b00101"[1](b00101) \t\t# "c01 mlx5_0" lid 11 4xHDR

caguid=0xb00101
Ca\t1 "H-0000000000b00101"\t\t# "c01 mlx5_0"
[1](b00101) \t"S-0000000000a00100"[1]\t\t# lid 11 lmc 0 "leafA" lid 2 4xHDR
"""


@pytest.fixture
def machine(embedded_db: str, tmp_path: Path) -> str:
    (tmp_path / "fabric.txt").write_text(FABRIC)
    with connect(embedded_db, role="writer") as conn:
        fabrics.save_fabric(conn, read_fabric(tmp_path / "fabric.txt"))
    return embedded_db


def written(url: str, owner: dict[str, object], waits: list[int]) -> None:
    """Samples every ten seconds, of which each moves 1,000 words."""
    with open_log(url) as log, log.producer() as producer:
        for number, wait in enumerate(waits):
            record = {
                "timestamp": BEGIN_S + 10.0 * number,
                **owner,
                "port_xmit_data": 1000 * number,
                "port_xmit_wait": wait,
            }
            producer.append("ldms.ibmad", orjson.dumps(record))
        producer.flush()
    drain_log(url, url)


@pytest.mark.parametrize(
    ("waits", "known"),
    [
        ([0, 100, 200, 300], [True, True, True]),
        ([CEILING - 100, CEILING, CEILING, CEILING], [False, False, False]),
        ([CEILING - 100, CEILING - 50, CEILING, CEILING], [True, False, False]),
        ([CEILING - 1, CEILING - 1, CEILING - 1, CEILING - 1], [True, True, True]),
    ],
)
def test_a_wait_that_stopped_is_unknown_and_the_data_alongside_it_count(
    machine: str, waits: list[int], known: list[bool]
) -> None:
    written(machine, {"ProducerName": "c01", "ca_name": "mlx5_0", "port": 1}, waits)
    with connect(machine, role="reader") as conn:
        rows = conn.execute("SELECT tx_bytes, tx_wait_cycles IS NOT NULL FROM endpoint_1s ORDER BY ts").fetchall()
    assert rows == [(4000.0, one) for one in known]


def test_so_is_the_wait_of_a_switch_s_port(machine: str) -> None:
    written(machine, {"node_guid": "0xa00100", "port": 1}, [CEILING - 9, CEILING, CEILING, CEILING])
    with connect(machine, role="reader") as conn:
        rows = conn.execute("SELECT flits[2], stall_cycles[2] FROM port_10s WHERE flits[2] IS NOT NULL").fetchall()
        sums = conn.execute("SELECT rt_flits, rt_stall_cycles FROM router_1s").fetchall()
    assert rows and all(row == (1000.0, None) for row in rows), rows
    assert sums and all(row == (1000.0, None) for row in sums), sums


@pytest.mark.shared
def test_the_case_of_an_ibmad_sampler(shared: Path, embedded_db: str) -> None:
    case = shared / "cases/ldms-saturated-wait"
    with connect(embedded_db, role="writer") as conn:
        fabrics.save_fabric(conn, read_fabric(case / "fabric.txt"))
    with open_log(embedded_db) as log, log.producer() as producer:
        publisher = Publisher(producer)
        collector = CsvCollector([case / "ibmad_sampler"], publisher, Checkpoint(None), follow=False, host="h")
        collector.once()
        collector.close()
        publisher.flush()
    drain_log(embedded_db, embedded_db)
    with connect(embedded_db, role="reader") as conn:
        rows = conn.execute("SELECT tx_bytes, tx_wait_cycles FROM endpoint_1s ORDER BY ts").fetchall()
    assert rows == [(1e9, None)] * 3
    done = CliRunner().invoke(cli, ["import", "ldms-csv", str(case / "ibmad_sampler"), "--json", "--db", embedded_db])
    report = json.loads(next(line for line in done.output.splitlines() if line.startswith("{")))
    assert report["saturated"] == {"port_xmit_wait": 3}
    assert "port_xmit_wait: 3 values are the counter's largest" in " ".join(done.output.split())


def test_the_catalogue_says_which_counters_stop() -> None:
    """InfiniBand specification 1.4, 16.1.3.5: those of PortCounters that feed a column."""
    assert {kind.name: kind.bits for kind in INFINIBAND if kind.bits} == {
        "port_xmit_data": 32, "port_rcv_data": 32, "port_xmit_packets": 32, "port_rcv_packets": 32, "port_xmit_wait": 32, "symbol_error": 16,
        "link_error_recovery": 8, "link_downed": 8, "port_rcv_errors": 16, "port_rcv_remote_physical_errors": 16, "port_rcv_switch_relay_errors": 16,
        "port_xmit_discards": 16, "port_xmit_constraint_errors": 8, "port_rcv_constraint_errors": 8, "local_link_integrity_errors": 4,
        "excessive_buffer_overrun_errors": 4, "vl15_dropped": 16, "xmt_data_sl{sl}": 32, "port_vl_xmit_wait{vl}": 16
    }  # fmt: skip


#: Counters of an adapter's port that feed a column, by it.
FEEDING = {kind.name: kind for kind in INFINIBAND if kind.endpoint_column and "{" not in kind.name}
#: Topics of the sources that write such counters, with the columns that say whose port it is.
OWNERS: dict[str, dict[str, object]] = {
    "ldms.ibmad": {"ProducerName": "c01", "ca_name": "mlx5_0", "port": 1},
    "ldms.sysclassib": {"ProducerName": "C01.hpc.example", "ca_name": "mlx5_0", "port": 1},
    "ldms.ib_port": {"guid": "b00101", "port": 1},
    "ldms.ib_prometheus": {
        "instance": "all",
        "hostname": "C01",
        "node_name": "",
        "device": "mlx5_0",
        "guid": "",
        "port": 1,
    },
}


#: Topics of the sources whose records name a host, with the column that does; and what else says whose port it is.
NAMED: dict[str, tuple[str, dict[str, object]]] = {
    "ldms.ibmad": ("ProducerName", {"ca_name": "mlx5_0", "port": 1}),
    "ldms.ibnet": ("producer", {"ca_name": "mlx5_0", "port": 1}),
    "ldms.sysclassib": ("ProducerName", {"ca_name": "mlx5_0", "port": 1}),
    "ldms.ib_prometheus": ("hostname", {"instance": "all", "node_name": "", "device": "mlx5_0", "guid": "", "port": 1}),
    "ldms.ib_port": ("node_name", {"instance": "all", "port": 1}),
}
SPELLED = ("{}", "{}.hpc.example", "{}-ib0", "{}-IB0.hpc.example")


@pytest.mark.parametrize("topic", NAMED)
def test_a_host_of_any_source_is_the_one_of_the_fabric(topic: str, embedded_db: str) -> None:
    """Each spelling in the fabric with each spelling in the records, in capitals or not; another domain is another host."""
    column, owner = NAMED[topic]
    pairs = [
        (known, sent) for known in SPELLED for sent in SPELLED if "." not in known or "." not in sent or known == sent
    ]
    section = 'switchguid=0xa00100(a00100)\nSwitch\t40 "S-0000000000a00100"\t\t# "leafA" enhanced port 0 lid 2 lmc 0\n'
    for at, (known, _) in enumerate(pairs):
        section += f'[{at + 1}]\t"H-0000000000b0{at:04d}"[1](b0{at:04d}) \t\t# "{known.format(f"C{at:02d}")} mlx5_0" lid {11 + at} 4xHDR\n'
    with connect(embedded_db, role="writer") as conn:
        fabrics.save_fabric(conn, ibnetdiscover.parse_fabric(section, "f", "f"))
    with open_log(embedded_db) as log, log.producer() as producer:
        for number in range(2):
            for at, (_, sent) in enumerate([*pairs, ("", "{}.other.example")]):
                sender = {column: sent.format(f"c{at:02d}")}
                record = {"timestamp": BEGIN_S + 10.0 * number, **owner, **sender, "port_xmit_data": (at + 1) * number}
                producer.append(topic, orjson.dumps(record))
        producer.flush()
    drain_log(embedded_db, embedded_db)
    with connect(embedded_db, role="reader") as conn:
        booked = dict(conn.execute("SELECT endpoint, tx_bytes FROM endpoint_1s").fetchall())
    assert booked == {at: 4.0 * (at + 1) for at in range(len(pairs))}


@pytest.mark.parametrize(("below", "wide"), [(0, False), (1, False), (0, True), (1, True)])
@pytest.mark.parametrize("topic", OWNERS)
def test_each_counter_of_each_source_is_unknown_at_its_largest_value(
    machine: str, topic: str, below: int, wide: bool
) -> None:
    last = {name: (2**64 - 1 if wide else kind.ceiling) - below for name, kind in FEEDING.items()}
    first = {name: value - 100 * (name != "symbol_error") for name, value in last.items()}
    with open_log(machine) as log, log.producer() as producer:
        for number, counters in enumerate((first, last, last)):
            record = {"timestamp": BEGIN_S + 10.0 * number, **OWNERS[topic], **counters}
            producer.append(topic, orjson.dumps(record))
        producer.flush()
    drain_log(machine, machine)
    columns = sorted({kind.endpoint_column or "" for kind in FEEDING.values()})
    with connect(machine, role="reader") as conn:
        rows = conn.execute(f"SELECT {', '.join(columns)} FROM endpoint_1s ORDER BY ts".encode()).fetchall()
    assert len(rows) == 2 * below or not any(value is not None for row in rows for value in row)
    if below:
        assert all(value is not None for row in rows for value in row) and any(rows[0])


def test_each_counter_of_a_subnet_is_saturated_at_its_largest_value() -> None:
    for kind in INFINIBAND:
        words = kind.name.replace("{sl}", "3").replace("{vl}", "7").split("_")
        name = "".join({"vl": "VL", "vl15": "VL15"}.get(word, word.capitalize()) for word in words)
        name = name.replace("Sl3", "SL3").replace("Vl7", "VL7").replace("Packets", "Pkts")
        assert perfquery.find_saturated({name: kind.ceiling}) == {name}, name
        assert perfquery.find_saturated({name: kind.ceiling - 1}) == set(), name


TABLE = yaml.safe_load((files("flitwatch_ingest.exporters") / "prometheus.yaml").read_text())
ROWS = [
    (exporter["name"], name, metric)
    for exporter in TABLE["exporters"]
    for name, metric in exporter.get("metrics", {}).items()
    if exporter["technology"] == "infiniband"
]


def test_each_metric_of_each_exporter_is_saturated_where_its_counter_is(machine: str) -> None:
    labels = dict.fromkeys(("guid", "local_guid", "node_guid", "port_guid", "Node_GUID", "node_desc"), "0xa00100")
    labels |= dict.fromkeys(("port", "local_port", "port_num", "PortNumber"), "1") | {"instance": "c01", "device": "m"}
    ordered = tuple(sorted(labels.items()))
    with open_log(machine) as log, log.producer() as producer:
        intake = Intake(MetricTable(), Publisher(producer))
        for exporter, name, metric in ROWS:
            use = identify_counter(metric["counter"], Technology.INFINIBAND)
            if use is None or not use.kind.feeds or use.kind.ceiling >= 2**53:
                continue
            largest = use.kind.ceiling * metric.get("divide", 1)
            results = [
                dict(intake.take("scrape", [Sample(name, ordered, float(value), 1000 * BEGIN_S)]).results)
                for value in (largest, largest - metric.get("divide", 1))
            ]
            assert results == [{"saturated": 1}, {"published": 1}], (exporter, name)
