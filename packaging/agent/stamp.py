"""Build hook: what is in the wheel, and which commit it was built from."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Stamp(BuildHookInterface[Any]):
    """Packs the packages of other folders and `flitwatch_domain/build.json`; an editable install has no stamp and is called a development version."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the stamp and have it packed."""
        if version == "editable":
            return
        self._place = tempfile.TemporaryDirectory(prefix="flitwatch-stamp-")
        file = Path(self._place.name, "build.json")
        file.write_text(json.dumps({"version": self.metadata.version, "commit": commit(Path(self.root))}))
        for place, packed in self.config["files"].items():
            build_data["force_include"][os.fspath(Path(self.root, place).resolve(strict=True))] = packed
        build_data["force_include"][os.fspath(file)] = "flitwatch_domain/build.json"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Forget the stamp, which is packed."""
        if version != "editable":
            self._place.cleanup()


def commit(place: Path) -> str:
    """The commit of the checkout, with `+changes` where files differ from it; FLITWATCH_COMMIT if there is no Git, and empty without either."""
    named = os.environ.get("FLITWATCH_COMMIT", "")
    if named:
        return named
    try:
        git = ["git", "-C", os.fspath(place)]
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head.stdout.strip() + ("+changes" if changed.stdout.strip() else "")
