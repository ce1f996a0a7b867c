"""Known weaknesses of the locked packages, offline: `python packaging/audit.py PyPI.zip npm.zip`, archives of OSV's records.

OSV publishes them at osv-vulnerabilities.storage.googleapis.com/ECOSYSTEM/all.zip. Prints one JSON object; exit 1 if a locked version is known to be weak.
"""

from __future__ import annotations

import json
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parents[1]
Locked = Mapping[tuple[str, str], set[str]]


def locked(root: Path) -> Locked:
    """Versions of uv.lock and of the page's package-lock.json by (ecosystem, name)."""
    found: dict[tuple[str, str], set[str]] = {}
    for package in tomllib.loads((root / "uv.lock").read_text())["package"]:
        if "registry" in package.get("source", {}):
            found.setdefault(("PyPI", canonicalize_name(package["name"])), set()).add(package["version"])
    for place, package in json.loads((root / "web" / "package-lock.json").read_text())["packages"].items():
        if place:
            found.setdefault(("npm", place.rpartition("node_modules/")[2]), set()).add(package["version"])
    return found


def records(archive: Path) -> Iterator[dict[str, Any]]:
    """Records of one archive."""
    with zipfile.ZipFile(archive) as held:
        for name in held.namelist():
            if name.endswith(".json"):
                yield json.loads(held.read(name))


def is_affected(version: str, affected: Mapping[str, Any]) -> bool:
    """Compare a version with OSV's list of versions and its ranges; one that cannot be compared counts as affected."""
    if version in affected.get("versions", []):
        return True
    return any(
        _is_in(version, one["events"]) for one in affected.get("ranges", []) if one["type"] in ("ECOSYSTEM", "SEMVER")
    )


def _is_in(version: str, events: list[dict[str, str]]) -> bool:
    try:
        ours, inside = Version(version), False
        for event in events:
            (kind, text), *_ = event.items()
            if kind == "introduced":
                inside = inside or text == "0" or ours >= Version(text)
            elif kind == "fixed":
                inside = inside and ours < Version(text)
            elif kind == "last_affected":
                inside = inside and ours <= Version(text)
    except InvalidVersion:
        return True
    return inside


def find_weak(held: Locked, archives: list[Path]) -> list[dict[str, str]]:
    """Each locked version that a record of the archives names, and the record."""
    found = []
    for record in (one for archive in archives for one in records(archive)):
        if "withdrawn" in record:
            continue
        for affected in record.get("affected", []):
            ecosystem, name = affected["package"]["ecosystem"], affected["package"]["name"]
            key = (ecosystem, canonicalize_name(name) if ecosystem == "PyPI" else name)
            found += [
                {"package": name, "version": version, "record": record["id"], "summary": record.get("summary", "")}
                for version in sorted(held.get(key, ()))
                if is_affected(version, affected)
            ]
    return found


def main(archives: list[str]) -> None:
    """Audit what is locked here."""
    held = locked(ROOT)
    weak = find_weak(held, [Path(one) for one in archives])
    json.dump({"packages": len(held), "weak": weak}, sys.stdout)
    sys.exit(1 if weak else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
