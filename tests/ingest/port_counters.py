"""Fabrics with port counters, and the stored values."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable

from ingest.writing import append, drain_log
from support.ethernet import LEAVES, PORTS, SWITCHES

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import LANES
from flitwatch_domain.fabric import Endpoints, Fabric, FabricKind, Links, Routers, Technology
from flitwatch_domain.importers import ibnetdiscover
from flitwatch_stream.backends import open_log

#: Two leaves; node n1 has compute adapters mlx5_0, mlx5_1 and mlx5_6, node n2 one whose name the fabric does not know.
RAILS = """
switchguid=0xa1(a1)
Switch	4 "S-00000000000000a1"		# "MF0;leaf-1:MQM8700/U1" enhanced port 0 lid 31 lmc 0
[1]	"H-00000000000000b0"[1](b0) 		# "n1 mlx5_0" lid 1 4xHDR
[2]	"H-00000000000000b1"[1](b1) 		# "n1 mlx5_1" lid 2 4xHDR
[4]	"S-00000000000000a2"[4]		# "MF0;leaf-2:MQM8700/U1" lid 32 4xHDR

switchguid=0xa2(a2)
Switch	4 "S-00000000000000a2"		# "MF0;leaf-2:MQM8700/U1" enhanced port 0 lid 32 lmc 0
[1]	"H-00000000000000b6"[1](b6) 		# "n1 mlx5_6" lid 3 4xHDR
[2]	"H-00000000000000c0"[1](c0) 		# "n2" lid 4 4xHDR
[4]	"S-00000000000000a1"[4]		# "MF0;leaf-1:MQM8700/U1" lid 31 4xHDR

Ca	1 "H-00000000000000b0"		# "n1 mlx5_0"
[1](b0) 	"S-00000000000000a1"[1]		# lid 1 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 31 4xHDR
Ca	1 "H-00000000000000b1"		# "n1 mlx5_1"
[1](b1) 	"S-00000000000000a1"[2]		# lid 2 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 31 4xHDR
Ca	1 "H-00000000000000b6"		# "n1 mlx5_6"
[1](b6) 	"S-00000000000000a2"[1]		# lid 3 lmc 0 "MF0;leaf-2:MQM8700/U1" lid 32 4xHDR
Ca	1 "H-00000000000000c0"		# "n2"
[1](c0) 	"S-00000000000000a2"[2]		# lid 4 lmc 0 "MF0;leaf-2:MQM8700/U1" lid 32 4xHDR
"""


def stored_fabric(url: str, text: str = RAILS, name: str = "ib") -> int:
    with connect(url) as conn:
        return fabrics.save_fabric(conn, ibnetdiscover.parse_fabric(text, name, name))


def carry(url: str, topic: str, records: Iterable[dict]) -> None:
    with open_log(url) as log:
        append(log, topic, [json.dumps(record).encode() for record in records])
    drain_log(url, url)


def endpoint_words(url: str, column: str = "tx_bytes") -> dict[str, float]:
    """Sums by the name of node and switch port."""
    with connect(url) as conn:
        rows = conn.execute(
            f"SELECT f.name || ' ' || e.node || ' ' || coalesce(e.guid, e.endpoint::text), sum({column}) FROM endpoint_1s s"
            " JOIN endpoint e USING (fabric_id, endpoint) JOIN fabric f USING (fabric_id) GROUP BY 1 ORDER BY 1".encode()
        ).fetchall()
    return {name: float(value) for name, value in rows}


def observed(url: str) -> int:
    with connect(url) as conn:
        row = conn.execute("SELECT count(*) FROM observation").fetchone()
    assert row is not None
    return int(row[0])


def reasons(url: str) -> set[str]:
    with connect(url) as conn:
        rows = conn.execute(
            "SELECT DISTINCT jsonb_array_elements_text(payload -> 'reasons') FROM event WHERE kind = 'unplaced'"
        ).fetchall()
    return {row[0] for row in rows}


def slingshot(url: str) -> None:
    """A switch with two nodes of two NICs each."""
    ends = Endpoints(
        [0, 0, 0, 0],
        port=[0, 1, 2, 3],
        node=["x1000c0s0b0n0", "x1000c0s0b0n0", "x1000c0s0b0n1", "x1000c0s0b0n1"],
        component_id=[1, 1, 2, 2],
    )
    links = Links([1, 2, 3, 4], [0, 0, 0, 0], src_port=[0] * 4, dst_port=[0, 1, 2, 3])
    fabric = Fabric("ss", FabricKind.DRAGONFLY, Technology.SLINGSHOT, Routers(["x1000c0r0"]), ends, links)
    with connect(url) as conn:
        fabrics.save_fabric(conn, fabric)


def lanes(url: str, table: str, array: str) -> dict[tuple[int, int, int], float]:
    """Sums by router or endpoint, port and lane; lanes that nobody counted are not there."""
    device = table.partition("_")[0]
    with connect(url) as conn:
        rows = conn.execute(
            f"SELECT {device}, (n - 1) / {LANES}, (n - 1) % {LANES}, sum(v) FROM {table},"
            f" unnest({array}) WITH ORDINALITY AS lane (v, n) WHERE v IS NOT NULL GROUP BY 1, 2, 3".encode()
        ).fetchall()
    return {(int(d), int(port), int(lane)): float(count) for d, port, lane, count in rows}


def named(url: str) -> list[tuple[str, str]]:
    """Metric and reason of each dead letter."""
    with connect(url) as conn:
        rows = conn.execute("SELECT where_, reason FROM dead_letter").fetchall()
    return [(where.split()[-1], reason) for where, reason in rows]


def switch_ports(url: str) -> dict[tuple[str, int], tuple[float, float]]:
    """Flits and stalls of a switch's ports, over all buckets."""
    with connect(url) as conn:
        rows = conn.execute(
            "SELECT r.name, p.flits, p.stall_cycles FROM port_10s p JOIN router r USING (fabric_id, router)"
        ).fetchall()
    found: dict[tuple[str, int], tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for name, flits, stalls in rows:
        for port, (flit, stall) in enumerate(zip(flits, stalls, strict=True)):
            if flit or stall:
                before = found[name, port]
                found[name, port] = (before[0] + (flit or 0), before[1] + (stall or 0))
    return dict(found)


# Counters of SONiC switches, and what of them is stored.


#: The cabled ports of a leaf, and of a spine.
CABLED = {switch: [f"Ethernet{n}" for n in (PORTS if switch in LEAVES else PORTS[:2])] for switch in SWITCHES}


def counted(second: int, start: int = 10**15) -> dict[str, dict[str, int]]:
    """By port: each counter grows by a step of its own a second."""
    return {
        f"Ethernet{port}": {
            "SAI_PORT_STAT_IF_OUT_OCTETS": start + (1000 + port) * second,
            "SAI_PORT_STAT_IF_IN_OCTETS": start + 7 * second,
            "SAI_PORT_STAT_IF_OUT_UCAST_PKTS": start + 5 * second,
            "SAI_PORT_STAT_IF_OUT_NON_UCAST_PKTS": start + second,
            "SAI_PORT_STAT_PFC_3_RX_PKTS": 11 * second,
            "SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US": start + (20 + port) * second,
            "SAI_PORT_STAT_PFC_4_RX_PAUSE_DURATION_US": start + 2 * second,
            "SAI_PORT_STAT_ETHER_IN_PKTS_64_OCTETS": second,
            "SAI_PORT_STAT_OF_TOMORROW": 3 * second,
        }
        for port in PORTS
    }


def queued(second: int) -> dict[str, dict[int, dict[str, int]]]:
    """Queues 3 and 4, and 9, which is for multicast."""
    return {
        f"Ethernet{port}": {
            queue: {
                "SAI_QUEUE_STAT_BYTES": (100 * queue + port) * second,
                "SAI_QUEUE_STAT_PACKETS": queue * second,
                "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": 13 * second,
                "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": 4096,
                "PFC_WD_STATUS": 0,
            }
            for queue in (3, 4, 9)
        }
        for port in PORTS
    }


def by_port(url: str) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Flits, stalls and packets by switch and the port's name."""
    with connect(url) as conn:
        names = conn.execute("SELECT attributes -> 'port_names' FROM fabric").fetchone()
        rows = conn.execute(
            "SELECT r.router, r.name, p.flits, p.stall_cycles, p.packets FROM port_10s p JOIN router r USING (fabric_id, router)"
        ).fetchall()
    assert names is not None
    found: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for router, name, *arrays in rows:
        for at, values in enumerate(arrays):
            for port, value in enumerate(values or ()):
                if value:
                    found[name, names[0][router][port]][at] += value
    return {key: tuple(sums) for key, sums in found.items()}  # type: ignore[misc]
