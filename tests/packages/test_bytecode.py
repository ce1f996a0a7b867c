"""Bytecode in the packages: of our code all, of libraries what this Python can compile."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from packages.conftest import ROOT

#: A class with type parameters is an error before Python 3.12, this is one in every version.
NOT_PYTHON = "def f(:\n"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("packages_build", ROOT / "packaging/build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(build: ModuleType, folder: Path, **files: str) -> set[str]:
    place = folder / build.PLACE
    for name, text in files.items():
        file = place / "lib" / "python3.11" / "site-packages" / name / "__init__.py"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    build.compile_all(place, sys.executable)
    return {file.parent.parent.name for file in place.rglob("*.pyc")}


def test_a_library_may_bring_files_of_another_python(build: ModuleType, tmp_path: Path) -> None:
    got = compiled(build, tmp_path, flitwatch_domain="x = 1\n", torch=NOT_PYTHON, numpy="x = 1\n")
    assert got == {"flitwatch_domain", "numpy"}


def test_a_file_of_ours_that_does_not_compile_is_an_error(build: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        compiled(build, tmp_path, flitwatch=NOT_PYTHON, numpy="x = 1\n")
