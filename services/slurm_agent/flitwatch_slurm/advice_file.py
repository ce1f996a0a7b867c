"""Advice file for job_submit.lua: one line per case and a checksum, replaced atomically."""

from __future__ import annotations

import os
import re
import stat
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from flitwatch_domain.errors import Forbidden

#: Read limit of the plugin. Further cases are left out, so that the plugin accepts the file.
MOST_BYTES = 1 << 20
ANYBODY = "*"
_FEATURES, _NODES = re.compile(r"[\w.|-]*", re.ASCII), re.compile(r"[\w.,\[\]-]*", re.ASCII)


@dataclass(frozen=True)
class Case:
    """Advice for an application of a size.

    Attributes
    ----------
    user : str           the user whose jobs it applies to, or ANYBODY
    action : str         start, delay or prefer
    features : str       Slurm features of the preferred nodes, separated by |; empty if none
    avoid : str          host list of worse nodes; empty if none
    free_nodes : dict          usable preferred nodes by partition, ANYBODY for the default one
    """

    application: str
    user: str
    nodes: int
    action: str
    retry_s: float
    usual_s: float
    slowdown: float
    features: str
    avoid: str
    free_nodes: dict[str, int]
    reason: str

    def line(self) -> bytes:
        """Return the line of the file. Its values cannot end the line or their field."""
        features = self.features if _FEATURES.fullmatch(self.features) else ""
        avoid = self.avoid if _NODES.fullmatch(self.avoid) else ""
        fields = (
            _quote_name(self.application),
            ANYBODY if self.user == ANYBODY else _quote_name(self.user),
            str(self.nodes),
            self.action,
            f"{self.retry_s:.0f}",
            f"{self.usual_s:.0f}",
            f"{self.slowdown:.4f}",
            features,
            avoid,
            ",".join(
                f"{name if name == ANYBODY else _quote_name(name)}={count}" for name, count in self.free_nodes.items()
            ),
            quote(self.reason[:300], safe=" "),
        )
        return "\t".join(fields).replace("~", "%7E").encode() + b"\n"


def _quote_name(name: str) -> str:
    return quote(name, safe="+")


def format_content(cases: Iterable[Case], now_s: float, limit_s: float) -> bytes:
    """Return the file's bytes: `flitwatch-advice 1 WRITTEN LIMIT_S CASES ADLER32`, then the cases."""
    body, count = bytearray(), 0
    for case in cases:
        line = case.line()
        if len(body) + len(line) > MOST_BYTES - 100:
            break
        body += line
        count += 1
    return b"flitwatch-advice 1 %d %d %d %d\n" % (now_s, limit_s, count, zlib.adler32(body)) + bytes(body)


def write_file(path: Path, data: bytes) -> None:
    """Replace the file atomically: a reader sees either the old or the new file."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def check_folder(folder: Path) -> None:
    """Check that only the agent's own user can write to the folder. Raise Forbidden if others can write to the folder and so could plant advice."""
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Forbidden(
            f"{folder} must belong to the user that runs the agent, and no other user may write there",
            advice=f"chown it to SlurmUser and chmod 755 {folder}.",
        )
