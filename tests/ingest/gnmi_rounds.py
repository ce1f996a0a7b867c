"""`flitwatch collect ethernet` over gNMI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def collect(*words: str, folder: Path, status: int = 0) -> dict[str, Any]:
    argv = [sys.executable, "-m", "flitwatch.main", "collect", "gnmi", "--once", "--json"]
    argv += ["--state", str(folder / "state.json"), *words]
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=120, env=os.environ | {"FLITWATCH_HOME": str(folder / "home")}
    )
    assert done.returncode == status, done.stderr + done.stdout
    found = json.loads(done.stdout) if done.stdout else {}
    return found | {"said": " ".join(done.stderr.split())}
