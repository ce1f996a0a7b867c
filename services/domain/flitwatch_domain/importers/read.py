"""Read a fabric from a file after detecting its format."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from flitwatch_domain.counters.units import tick_of
from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Fabric, Technology, cables
from flitwatch_domain.fabric.endpoint_names import plain_guid
from flitwatch_domain.fabric.model import check_name
from flitwatch_domain.hosts import find_host, host_key, read_host_names
from flitwatch_domain.importers import ibnetdiscover, interconnect, neighbours, slingshot, slingshot_template, ufm
from flitwatch_domain.importers.text import numbered_lines, read_text

#: Values of `--format`.
FORMATS = ("auto", "cray", "ibnetdiscover", "lldp", "slingshot", "ufm")


def _parse_slingshot(text: str, where: str, name: str) -> Fabric:
    """Parse the fabric manager's links or its template."""
    parse = slingshot_template.parse_fabric if slingshot_template.looks_like(text) else slingshot.parse_fabric
    return parse(text, where, name)


_PARSERS = {
    "cray": interconnect.parse_fabric,
    "ibnetdiscover": ibnetdiscover.parse_fabric,
    "lldp": neighbours.parse_fabric,
    "slingshot": _parse_slingshot,
    "ufm": ufm.parse_fabric,
}


def read_fabric(path: str | Path, format: str = "auto", name: str | None = None) -> Fabric:
    """Read a fabric.

    Parameters
    ----------
    path : str or Path
        Output of Cray's `rtr --interconnect`, of `ibnetdiscover`, Slingshot's links (`fmctl get links`) or its template, UFM's links (`GET /ufmRest/resources/links`),
        or LLDP neighbours of Ethernet switches, which can also be a folder with one file per switch, named after it.
    format : str
        One of `FORMATS`; `auto` detects the format from the first lines.
    name : str, optional
        The fabric's name; by default the file's name without its extension.

    Raises
    ------
    BadInput
        If a line is unreadable or contradicts another; the message gives file and line.
    """
    if format not in FORMATS:
        raise BadRequest(f"unknown fabric format {format!r}", advice=f"Choose one of {', '.join(FORMATS)}.")
    if Path(path).is_dir() and format in ("auto", "lldp"):
        fabric = _of_folder(Path(path), name or default_name(path))
    else:
        text = read_text(path)
        chosen = detect_format(text, str(path)) if format == "auto" else format
        fabric = _PARSERS[chosen](text, str(path), name or default_name(path))
    return replace(fabric, warnings=(*fabric.warnings, *cables.describe_slow_cables(fabric), *_unknown_ticks(fabric)))


def rename_hosts(fabric: Fabric, path: str | Path) -> Fabric:
    """Give hosts the names that jobs have: a line of a file (`flitwatch_domain.hosts.read_host_names`) that names a host of the fabric, or its
    adapter's GUID, gives it the first other name. Counters are found by the topology's name too, in attribute `topology_nodes`. Raise BadInput if the
    file names no host of the fabric, or gives two hosts the same name."""
    ends = fabric.endpoints
    owners = fabric.attributes.get("adapter_guids") or [None] * len(ends)
    alike: defaultdict[str, list[str]] = defaultdict(list)
    by_guid: dict[str, str] = {}
    for node, *guids in zip(map(str, ends.node), ends.guid, owners, strict=True):
        alike[host_key(node)].append(node)
        by_guid |= {plain_guid(guid): node for guid in guids if guid is not None}
    by_guid.pop("", None)
    named: dict[str, str] = {}
    for names in read_host_names(read_text(path)):
        nodes_by_name = {
            name: find_host(name, alike.get(host_key(name), ())) or by_guid.get(plain_guid(name)) for name in names
        }
        own = {name: node for name, node in nodes_by_name.items() if node}
        others = [name for name in names if name not in own]
        if own and others:
            named |= dict.fromkeys(own.values(), others[0])
    if not named:
        raise BadInput(
            "names no host of the fabric", where=str(path), advice="Expected lines such as `x1000c0s0b0n0 nid001000`."
        )
    nodes = [named.get(str(node), str(node)) for node in ends.node]
    if len(set(nodes)) < len(set(ends.node)):
        raise BadInput("gives two hosts of the fabric the same name", where=str(path))
    for node in nodes:
        check_name("host", node, str(path))
    attributes = {**fabric.attributes, "topology_nodes": [str(node) for node in ends.node]}
    return replace(fabric, endpoints=replace(ends, node=np.array(nodes, object)), attributes=attributes)


def _unknown_ticks(fabric: Fabric) -> list[str]:
    """Return the InfiniBand switches whose device is undocumented."""
    if fabric.technology is not Technology.INFINIBAND:
        return []
    count, texts = len(fabric.routers), fabric.attributes.get("descriptions") or []
    ids = fabric.attributes.get("device_ids") or [None] * count
    unknown = [at for at, one in enumerate(ids) if tick_of(one, texts[at] if texts else "") is None]
    if not unknown:
        return []
    devices = ", ".join(sorted({f"{ids[at]:#x}" for at in unknown})[:5])
    return [
        f"{len(unknown)} of {count} switches have a device id ({devices}) that no document names: their stalls and lost bandwidth are unknown"
    ]


def _of_folder(folder: Path, name: str) -> Fabric:
    """Read LLDP neighbours from one file per switch."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    if not files:
        raise BadInput(
            "is an empty folder", where=str(folder), advice="Expected one file with LLDP neighbours per switch."
        )
    return neighbours.parse_files({default_name(file): read_text(file) for file in files}, str(folder), name)


_BEGINNING = 1 << 16
_IBNETDISCOVER = "Give the output of `ibnetdiscover` on a host of the fabric."
#: Known but unsupported outputs: how they begin, their name, and what to use instead. After ^, no pattern spans line feeds: its time would be quadratic.
_NOT_READ = (
    (re.compile(r"^\s*NodeDesc;SystemImageGUID;PortNum;"), "the counters of opaextractperf", "Collect them with LDMS's sampler opa2: flitwatch collect ldms-csv."),
    (re.compile(r"^(?:NodeGUID;|.*;PortGUID;|Rate;|[ \t]*Rate;NodeGUID)", re.MULTILINE), "a table of an opaextract program", _IBNETDISCOVER),
    (re.compile(r"<Report\b|^[ \t]*(?:Link|Node|Fabric|Route) (?:Summary|Information)\b|\bNodeGUID\s+Port\s+Type\s+Name", re.MULTILINE), "a report of opareport", _IBNETDISCOVER),
    (re.compile(r"\A\s*(?:#.*\n\s*)*0x[0-9a-fA-F]{1,16}\s+\"[^\"]*\"\s*$", re.MULTILINE), "a node-name map", "Give the output of `ibnetdiscover --node-name-map FILE`, which contains the names."),
    (re.compile(r"^(?:CA|Switch): .*:$|==\(\s*[0-9]+X\s", re.MULTILINE), "the output of iblinkinfo", _IBNETDISCOVER),
    (re.compile(r"^(?:Ca|Switch)\s+: 0x[0-9a-fA-F]+ ports", re.MULTILINE), "the list of `ibnetdiscover --list`, which leaves the links out", "Give the output of `ibnetdiscover` without options."),
)  # fmt: skip


def detect_format(text: str, where: str) -> str:
    """Return the format of a topology's text: one of `FORMATS`."""
    if slingshot.DOCUMENTS.match(text) or slingshot_template.looks_like(text):
        return "slingshot"
    if ufm.DOCUMENT.match(text):
        return "ufm"
    if neighbours.looks_like(text):
        return "lldp"
    for position, (_, raw) in enumerate(numbered_lines(text)):
        line = ibnetdiscover.TERMINAL.sub("", raw)
        if ibnetdiscover.PORTS_LINE.match(line):
            raise BadInput(
                "is the list of ports that `ibnetdiscover --ports` prints, which leaves the devices out",
                where=where,
                advice="Give the output of `ibnetdiscover` without --ports.",
            )
        if interconnect.LINE.match(line):
            return "cray"
        if ibnetdiscover.SECTION.match(line) or ibnetdiscover.ATTRIBUTE.match(line):
            return "ibnetdiscover"
        if slingshot.LINE.match(line):
            return "slingshot"
        if position > 10_000:
            break
    for pattern, what, advice in _NOT_READ:
        if pattern.search(text[:_BEGINNING]):
            raise BadInput(f"is {what}, which is not read", where=where, advice=advice)
    raise BadInput(
        "is neither a Cray interconnect file nor ibnetdiscover output nor Slingshot's template nor a list of its or UFM's links, nor LLDP neighbours",
        where=where,
        advice="Give the output of `ibnetdiscover`, Cray's `rtr --interconnect`, `fmctl get links`, `sonic-db-dump -n APPL_DB -y` or `lldpctl -f json`, the fabric manager's fabric_template.json, or UFM's answer to GET /ufmRest/resources/links.",
    )


def default_name(path: str | Path) -> str:
    """Return a fabric's name from its file's name, without extension and without `links-` or `-topo` around it."""
    stem = Path(path).name
    for ending in (".gz", ".bz2", ".xz", ".zst", ".txt", ".json", ".interconnect", ".topo", ".out", ".log"):
        stem = stem.removesuffix(ending)
    stem = stem.removeprefix("links-").removesuffix("-topo")
    return stem or "fabric"
