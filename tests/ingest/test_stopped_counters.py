"""A device's counter that stopped at its largest value counts nothing that is known: not zero, whichever source tells of it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters.modern import INFINIBAND
from flitwatch_domain.importers import read_fabric
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.ldms_csv import CsvCollector
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.writer.drain import drain_log
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
def test_a_wait_that_stopped_is_unknown_and_the_data_beside_it_count(
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


def test_the_catalogue_says_which_counters_stop() -> None:
    """InfiniBand specification 1.4, 16.1.3.5: those of PortCounters that feed a column."""
    assert {kind.name: kind.bits for kind in INFINIBAND if kind.bits} == {
        "port_xmit_wait": 32, "symbol_error": 16, "port_rcv_errors": 16, "port_xmit_discards": 16, "xmt_data_sl{sl}": 32, "port_vl_xmit_wait{vl}": 16
    }  # fmt: skip
