"""Counters of the links of one run: as a CSV file, or for the links with the most stalls."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain import cray
from flitwatch_domain.fabric import FabricKind
from flitwatch_domain.network_noise.observations import NIC_HZ
from flitwatch_simulation.packet.machine import Machine

_TOTALS = ("bytes", "packets", "flits", "stall_ns")


#: A directed link by the names of its ends.
LinkEnds = TypedDict("LinkEnds", {"link": int, "src": str, "dst": str, "src_port": int, "dst_port": int, "class": str})


class LinkStalls(LinkEnds):
    """A link with its sums over VCs; stalls and credit waits in ns."""

    bytes: int
    packets: int
    flits: int
    stall_ns: int
    credit_wait_ns: int


def per_vc(result: packet.Result) -> NDArray[np.int64]:
    """Return bytes, packets, flits and stalls (ns) by link and VC: shape [links, vcs, 4]."""
    raw = result.raw
    return np.stack([raw["vc_bytes"], raw["vc_packets"], raw["vc_flits"], raw["vc_stall_ps"] // 1000], axis=2)


def write_links_csv(path: Path, machine: Machine, result: packet.Result, classes: Sequence[str] = ()) -> None:
    """Write one line per directed link: ends, class, bytes, packets, flits, stalls and credit waits, and the same per VC, and per traffic class if any."""
    columns = per_vc(result)
    vcs = columns.shape[1]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        header = ["link", "src", "dst", "src_port", "dst_port", "class", *_TOTALS, "credit_wait_ns"]
        names = [f"vc{vc // len(classes)}_{classes[vc % len(classes)]}" if classes else f"vc{vc}" for vc in range(vcs)]
        writer.writerow([*header, *(f"{name}_{what}" for name in names for what in _TOTALS)])
        for link in range(len(machine.fabric.links)):
            ends = _link_ends(machine, link)
            writer.writerow(
                [
                    *ends.values(),
                    *columns[link].sum(axis=0).tolist(),
                    int(result.raw["link_wait_ps"][link]) // 1000,
                    *columns[link].ravel().tolist(),
                ]
            )


def worst_links(machine: Machine, result: packet.Result, count: int) -> list[LinkStalls]:
    """Return the links with the longest stalls, worst first; links without stalls are omitted."""
    totals = per_vc(result).sum(axis=1)
    order = np.argsort(-totals[:, 3], kind="stable")[:count]
    return [
        {
            **_link_ends(machine, int(link)),
            "bytes": int(totals[link, 0]),
            "packets": int(totals[link, 1]),
            "flits": int(totals[link, 2]),
            "stall_ns": int(totals[link, 3]),
            "credit_wait_ns": int(result.raw["link_wait_ps"][link]) // 1000,
        }
        for link in order
        if totals[link, 3]
    ]


def _link_ends(machine: Machine, link: int) -> LinkEnds:
    fabric, links = machine.fabric, machine.fabric.links
    return {
        "link": link,
        "src": fabric.vertex_name(int(links.src[link])),
        "dst": fabric.vertex_name(int(links.dst[link])),
        "src_port": int(links.src_port[link]),
        "dst_port": int(links.dst_port[link]),
        "class": links.classes[links.link_class[link]],
    }


#: Clock of an Aries router and its NICs.
ROUTER_HZ = NIC_HZ
_ARIES_VCS = 8
_WORD_BYTES = 4

Row = tuple[str, str, int]


def vendor_counters(machine: Machine, result: packet.Result) -> Iterator[Row]:
    """Yield (component, counter, value) of every port and NIC by the vendor's names; links with unknown port numbers are omitted.

    Aries: a link is counted at the input queue of its receiving tile. A tile has eight virtual channels; hops beyond the eighth, which occur only on
    non-minimal paths through a router, are added to the last. Stalls are cycles of the router's clock. NIC counters exist with the NIC protocol.
    Other fabrics: counters of InfiniBand ports, at the sending port. Data are in words of four bytes, as in adapters; a tick of PortXmitWait is one
    nanosecond.
    """
    if machine.fabric.kind is FabricKind.DRAGONFLY:
        yield from _aries_tiles(machine, result)
        yield from _aries_nics(machine, result)
    else:
        yield from _infiniband_ports(machine, result)


def write_vendor_csv(path: Path, machine: Machine, result: packet.Result) -> None:
    """Write the same as CSV `component,counter,value`."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["component", "counter", "value"])
        writer.writerows(vendor_counters(machine, result))


def _aries_tiles(machine: Machine, result: packet.Result) -> Iterator[Row]:
    fabric, links, raw = machine.fabric, machine.fabric.links, result.raw
    routers = len(fabric.routers)
    arrives = np.flatnonzero((links.dst < routers) & (links.dst_port >= 0))
    for link in arrives:
        component, port = fabric.vertex_name(int(links.dst[link])), int(links.dst_port[link])
        tile = f"{port // cray.TILE_COLUMNS}_{port % cray.TILE_COLUMNS}"
        prefix = f"AR_RTR_{'PT_' if links.src[link] >= routers else ''}{tile}_INQ_PRF_"
        for vc in range(_ARIES_VCS):
            these = slice(vc, None) if vc == _ARIES_VCS - 1 else slice(vc, vc + 1)
            flits = int(raw["vc_flits"][link, these].sum())
            packets = int(raw["vc_packets"][link, these].sum())
            if packets:
                yield component, f"{prefix}INCOMING_FLIT_VC{vc}", flits
                yield component, f"{prefix}INCOMING_PKT_VC{vc}_FILTER_FLIT{vc}_CNT", packets
        stall = round(int(raw["vc_stall_ps"][link].sum()) * 1e-12 * ROUTER_HZ)
        yield component, f"{prefix}{'REQ_' if links.src[link] >= routers else ''}ROWBUS_STALL_CNT", stall


def _aries_nics(machine: Machine, result: packet.Result) -> Iterator[Row]:
    raw, routers = result.raw, len(machine.fabric.routers)
    for endpoint, packets in enumerate(np.asarray(raw["nic_request_packets"]).tolist()):
        component = machine.fabric.vertex_name(routers + endpoint)
        yield component, "AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_PKTS", packets
        yield component, "AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_FLITS", int(raw["nic_request_flits"][endpoint])
        stalled = round(int(raw["nic_stalled_ps"][endpoint]) * 1e-12 * NIC_HZ)
        yield component, "AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_STALLED", stalled
        yield component, "AR_NIC_ORB_PRF_NET_RSP_TRACK_2", round(int(raw["nic_latency_ps"][endpoint]) * 1e-6)
        yield component, "AR_NIC_NETMON_ORB_EVENT_CNTR_RSP_NET_TRACK", int(raw["nic_responses"][endpoint])


def _infiniband_ports(machine: Machine, result: packet.Result) -> Iterator[Row]:
    fabric, links, raw = machine.fabric, machine.fabric.links, result.raw
    vcs = raw["vc_bytes"].shape[1]
    for link in range(len(links)):
        port = int(links.src_port[link])
        if port < 0:
            continue
        component = f"{fabric.vertex_name(int(links.src[link]))}/{port}"
        yield component, "PortXmitData", int(raw["vc_bytes"][link].sum()) // _WORD_BYTES
        yield component, "PortXmitPkts", int(raw["vc_packets"][link].sum())
        yield component, "PortXmitWait", int(raw["link_wait_ps"][link]) // 1000
        for vl in range(vcs):
            yield component, f"PortXmitDataVL{vl}", int(raw["vc_bytes"][link, vl]) // _WORD_BYTES
            yield component, f"PortXmitPktsVL{vl}", int(raw["vc_packets"][link, vl])
