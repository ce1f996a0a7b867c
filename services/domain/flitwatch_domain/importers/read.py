"""Read a fabric from a file, finding out which format it has."""

from __future__ import annotations

from pathlib import Path

from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.importers import ibnetdiscover, interconnect, slingshot, ufm
from flitwatch_domain.importers.text import numbered_lines, read_text

#: What `--format` takes.
FORMATS = ("auto", "cray", "ibnetdiscover", "slingshot", "ufm")

_PARSERS = {
    "cray": interconnect.parse,
    "ibnetdiscover": ibnetdiscover.parse,
    "slingshot": slingshot.parse,
    "ufm": ufm.parse,
}


def read_fabric(path: str | Path, format: str = "auto", name: str | None = None) -> Fabric:
    """Read a fabric.

    Parameters
    ----------
    path : str or Path
        Output of Cray's `rtr --interconnect`, of `ibnetdiscover`, Slingshot's links (`fmctl get links`), or UFM's (`GET /ufmRest/resources/links`).
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
    text = read_text(path)
    chosen = detect(text, str(path)) if format == "auto" else format
    return _PARSERS[chosen](text, str(path), name or default_name(path))


def detect(text: str, where: str) -> str:
    """The format of a topology's text: one of `FORMATS`."""
    if slingshot.DOCUMENTS.match(text):
        return "slingshot"
    if ufm.DOCUMENT.match(text):
        return "ufm"
    for seen, (_, raw) in enumerate(numbered_lines(text)):
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
        if seen > 10_000:
            break
    raise BadInput(
        "is neither a Cray interconnect file nor ibnetdiscover output nor a list of Slingshot's or UFM's links",
        where=where,
        advice="Give what `ibnetdiscover`, Cray's `rtr --interconnect` or `fmctl get links` printed, or what UFM answers to GET /ufmRest/resources/links.",
    )


def default_name(path: str | Path) -> str:
    """A fabric's name from its file's: the name without its ending and without `links-` or `-topo` around it."""
    stem = Path(path).name
    for ending in (".gz", ".bz2", ".xz", ".zst", ".txt", ".interconnect", ".topo", ".out", ".log"):
        stem = stem.removesuffix(ending)
    stem = stem.removeprefix("links-").removesuffix("-topo")
    return stem or "fabric"
