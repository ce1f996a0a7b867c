"""Counters of the links of one run: as a CSV file, or for the links with the most stalls."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
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
