"""The output of `make dist`, built once for all tests."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.browser import run

ROOT = Path(__file__).resolve().parents[2]
PROCESSORS = ("x86_64", "aarch64")


@pytest.fixture(scope="session")
def uv() -> str:
    found = shutil.which("uv") or ROOT / ".cache" / "uv" / "bin" / "uv"
    if not Path(found).exists():
        pytest.skip("needs uv: make python")
    return str(found)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What `make dist` makes, by the distribution's name; of the core the wheel that fits this Python."""
    if not (ROOT / "web" / "dist" / "index.html").exists():
        pytest.skip("needs the built page: make web")
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        ["make", "-C", ROOT, "wheels", f"DIST={folder}", f"PROCESSORS={' '.join(PROCESSORS)}"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    other = re.compile(r"_aarch64\.whl$|-abi3-" if sys.version_info < (3, 12) else r"_aarch64\.whl$|-cp311-")
    fitting = [wheel for wheel in folder.glob("*.whl") if not other.search(wheel.name)]
    return {wheel.name.partition("-")[0].replace("_", "-"): wheel for wheel in fitting}


def look_at_edison(url: str, browser: dict[str, str]) -> None:
    """The page of an installed platform, in a real Chromium, counts Edison's routers and asks no other host for anything."""
    run("installed.mjs", {**browser, "FLITWATCH_URL": url}, timeout_s=120)
