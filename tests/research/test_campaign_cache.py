"""Invalidation of a finished campaign, and that a process requesting observations never has the truth in memory."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from flitwatch_research.campaign import Campaign, CampaignTruth, cache

ESTIMATES = """
import sys
opened = []
sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event == "open" else None)
from flitwatch_research.campaign import generate_campaign
assert generate_campaign("amg-128", 3).seed == 3
print(*(path for path in opened if "/truth/" in path))
print(*(name for name in sys.modules if name.endswith("campaign.simulate")))
"""


def test_a_campaign_depends_on_what_makes_it_and_on_nothing_else() -> None:
    modules = {
        name.removeprefix("flitwatch_twin.").removeprefix("flitwatch_research.")
        for name in cache._parse_imports(cache.SIMULATES)
    }
    assert modules >= {
        "campaign.window",
        "campaign.step_times",
        "campaign.footprint",
        "users",
        "flitwatch_domain.generators.dragonfly",
    }
    assert not modules & {"run", "sinks", "cluster", "stall_fit", "accounting", "flitwatch_domain.errors"}


def test_words_leave_the_version_and_numbers_change_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = "flitwatch_twin.load"
    files = {cache.SIMULATES: tmp_path / "simulate.py", needed: tmp_path / "load.py"}
    monkeypatch.setattr(cache, "_find_source", files.get)

    def version(simulate: str, load: str) -> str:
        files[cache.SIMULATES].write_text(simulate)
        files[needed].write_text(load)
        return cache.code_version.__wrapped__()

    user = '"""Words."""\nfrom flitwatch_twin.load import LOAD\n'
    first = version(user, "LOAD = 0.75  # of the nodes\n")
    assert version(user.replace("Words", "Others"), '"""The load."""\n\nLOAD = 0.75\n') == first
    assert version(user, "LOAD = 0.76\n") != first
    assert version(user + "LOAD += 1\n", "LOAD = 0.75\n") != first


def test_who_asks_for_observations_opens_no_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLITWATCH_CACHE", str(tmp_path))
    observed, truth = cache.record_paths("amg-128", 3, 300)
    for path, kind in ((observed, Campaign), (truth, CampaignTruth)):
        cache.save_record(path, kind(**{field.name: np.zeros(2) for field in fields(kind)} | {"seed": 3}))
    done = subprocess.run([sys.executable, "-c", ESTIMATES], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
