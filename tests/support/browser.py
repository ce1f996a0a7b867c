"""A real Chromium, and the page's own scripts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
from e2e.site import PAGE, ROOT

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> dict[str, str]:
    """Return the environment for the page's scripts: the system's browser, and the built page."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs Chromium: sudo apt-get install chromium")
    if shutil.which("node") is None or not (PAGE / "index.html").exists():
        pytest.skip("needs the built page: make web")
    return {**os.environ, "CHROMIUM": found}


def run(script: str, environment: dict[str, str], timeout_s: int, *arguments: str) -> None:
    """Run one of the page's own scripts; its output is the text of a failure, also of one that takes too long."""
    command = ["node", ROOT / "web" / "tests" / "e2e" / script, *arguments]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired as late:
        pytest.fail(f"{late}; it had printed:\n{(late.stdout or b'').decode()}\n{(late.stderr or b'').decode()}")
    # Failures first: a long report is truncated in the middle.
    wrong = "\n".join(re.findall(r"^FAIL .*?(?=^ok |\Z)", done.stdout, re.MULTILINE | re.DOTALL))
    assert done.returncode == 0, f"{wrong}\n\n{done.stdout}\n{done.stderr}"
