"""Where the project keeps what it makes on this machine."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def home() -> Path:
    """The folder of data, logs and process ids: `FLITWATCH_HOME`, or `.flitwatch` in the checkout."""
    return Path(os.environ.get("FLITWATCH_HOME", ROOT / ".flitwatch")).absolute()


def cache() -> Path:
    """The folder of what is fetched or built once: `FLITWATCH_CACHE`, or `.cache` in the checkout."""
    return Path(os.environ.get("FLITWATCH_CACHE", ROOT / ".cache")).absolute()
