"""Build hook: adds the built page and documentation to the server's wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Page(BuildHookInterface[Any]):
    """Adds web/dist as `flitwatch_api/page`. An editable install uses the checkout's."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the page to the wheel."""
        if version == "editable":
            return
        built = Path(self.root, "web", "dist")
        if not (built / "index.html").exists():
            raise FileNotFoundError(f"{built}: the page is not built: make web")
        build_data["force_include"][str(built)] = "flitwatch_api/page"
        docs = Path(self.root, "build", "docs")
        if (docs / "index.html").exists():
            # Without source maps of scripts and styles: the API does not serve them.
            build_data["force_include"] |= {
                str(file): f"flitwatch_api/docs/{file.relative_to(docs).as_posix()}"
                for file in sorted(docs.rglob("*"))
                if file.is_file() and file.suffix != ".map"
            }
