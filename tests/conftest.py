"""Fixtures every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = ["fixtures.databases"]

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The measured data and captures beside the checkout; a test that needs them skips where they are absent."""
    place = Path(os.environ.get("FLITWATCH_SHARED", ROOT.parent / "shared"))
    if not (place / "data").is_dir():
        pytest.skip(f"needs the measured data at {place} (set FLITWATCH_SHARED)")
    return place
