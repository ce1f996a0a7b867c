"""Read a fabric from a file, finding out which format it has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Fabric, cables
from flitwatch_domain.importers import ibnetdiscover, interconnect, neighbours, slingshot, slingshot_template, ufm
from flitwatch_domain.importers.text import numbered_lines, read_text

#: What `--format` takes.
FORMATS = ("auto", "cray", "ibnetdiscover", "lldp", "slingshot", "ufm")


def _parse_slingshot(text: str, where: str, name: str) -> Fabric:
    """The fabric manager's links or its template."""
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
        or LLDP neighbours of Ethernet switches; of these also a folder with a file a switch, which is called as the switch.
    format : str
        One of `FORMATS`; `auto` looks at the first lines.
    name : str, optional
        The fabric's name; by default the file's name without its ending.

    Raises
    ------
    BadInput
        Names file and line of what cannot be read or contradicts itself.
    """
    if format not in FORMATS:
        raise BadRequest(f"unknown fabric format {format!r}", advice=f"Choose one of {', '.join(FORMATS)}.")
    if Path(path).is_dir() and format in ("auto", "lldp"):
        fabric = _of_folder(Path(path), name or default_name(path))
    else:
        text = read_text(path)
        chosen = detect_format(text, str(path)) if format == "auto" else format
        fabric = _PARSERS[chosen](text, str(path), name or default_name(path))
    return replace(fabric, warnings=(*fabric.warnings, *cables.describe_slow_cables(fabric)))


def _of_folder(folder: Path, name: str) -> Fabric:
    """LLDP neighbours, a file a switch."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    if not files:
        raise BadInput("is an empty folder", where=str(folder), advice="Expected a file with LLDP neighbours a switch.")
    return neighbours.parse_files({default_name(file): read_text(file) for file in files}, str(folder), name)


def detect_format(text: str, where: str) -> str:
    """The format of a topology's text: one of `FORMATS`."""
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
                advice="Give what `ibnetdiscover` prints without --ports.",
            )
        if interconnect.LINE.match(line):
            return "cray"
        if ibnetdiscover.SECTION.match(line) or ibnetdiscover.ATTRIBUTE.match(line):
            return "ibnetdiscover"
        if slingshot.LINE.match(line):
            return "slingshot"
        if position > 10_000:
            break
    raise BadInput(
        "is neither a Cray interconnect file nor ibnetdiscover output nor Slingshot's template nor a list of its or UFM's links, nor LLDP neighbours",
        where=where,
        advice="Give what `ibnetdiscover`, Cray's `rtr --interconnect` or `fmctl get links` printed, the fabric manager's fabric_template.json, what UFM answers to GET /ufmRest/resources/links, or what `sonic-db-dump -n APPL_DB -y` or `lldpctl -f json` prints.",
    )


def default_name(path: str | Path) -> str:
    """A fabric's name from its file's: the name without its ending and without `links-` or `-topo` around it."""
    stem = Path(path).name
    for ending in (".gz", ".bz2", ".xz", ".zst", ".txt", ".json", ".interconnect", ".topo", ".out", ".log"):
        stem = stem.removesuffix(ending)
    stem = stem.removeprefix("links-").removesuffix("-topo")
    return stem or "fabric"
