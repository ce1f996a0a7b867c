"""Edison's measured day in an installed platform: imported as a user does, and looked at in a browser."""

from __future__ import annotations

from pathlib import Path

from e2e.test_page import run

#: The option of `flitwatch import dragonview` for each file below the folder of measured data.
FILES = {
    "--links": "cray-wiring/links-edison.txt",
    "--counters": "edison-dragonview/dnd_net_counters.21.csv",
    "--jobs": "edison-dragonview/dnd_jobs.21.csv",
}


def importing(data: Path) -> list[str]:
    """Words of the command that imports it; `data` is the folder as the program sees it."""
    return ["import", "dragonview", *(word for option, name in FILES.items() for word in (option, f"{data / name}"))]


def look(url: str, browser: dict[str, str]) -> None:
    """The page in a real Chromium counts Edison's routers and asks no other host for anything."""
    run("installed.mjs", {**browser, "FLITWATCH_URL": url}, timeout_s=120)
