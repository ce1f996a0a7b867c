"""Counters of SONiC switches, and what of them is stored."""

from __future__ import annotations

from collections import defaultdict

from support.ethernet import LEAVES, PORTS, SWITCHES

from flitwatch_db import connect

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
