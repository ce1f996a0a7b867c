"""The cached core of a checkout equals the one that it would build."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "services" / "noise_core" / "cmake"
pytestmark = [
    pytest.mark.system("processes"),
    pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("g++")), reason="needs cmake and a C++ compiler"),
]


def cmake(folder: Path, script: str, *settings: str, **environment: str) -> str:
    """What CMake says that runs this in the folder."""
    file = folder / "asked.cmake.in"
    file.write_text(script)
    words = ["cmake", *(f"-D{setting}" for setting in settings), "-P", file]
    done = subprocess.run(words, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr.strip()


def place(sources: Path, cache: Path | str, *settings: str) -> str:
    script = f'include("{SCRIPTS}/built_before.cmake")\nmessage("${{FLITWATCH_BUILT}}")\n'
    usual = ("CMAKE_CXX_COMPILER=g++", "FLITWATCH_ARCH=x86-64", "Python_SOABI=cpython-311")
    return cmake(sources, script, *usual, *settings, FLITWATCH_CORE_CACHE=os.fspath(cache))


@pytest.fixture
def checkouts(tmp_path: Path) -> list[Path]:
    """Two with the same sources, of which the second has been built in."""
    both = [tmp_path / name for name in ("first", "second")]
    for checkout in both:
        (checkout / "codec").mkdir(parents=True)
        (checkout / "codec" / "feed.cpp").write_text("int feed() { return 1; }\n")
        (checkout / "CMakeLists.txt").write_text("project(core)\n")
    (both[1] / "build").mkdir()
    (both[1] / "build" / "generated.cpp").write_text("int generated;\n")
    return both


def test_the_same_sources_have_one_place_in_every_checkout(checkouts: list[Path], tmp_path: Path) -> None:
    first, second = (place(checkout, tmp_path / "cache") for checkout in checkouts)
    assert first == second and Path(first).parent == tmp_path / "cache"


@pytest.mark.parametrize("file", ["codec/feed.cpp", "codec/new.h", "CMakeLists.txt"])
def test_an_edited_source_has_another_place(checkouts: list[Path], tmp_path: Path, file: str) -> None:
    before = place(checkouts[0], tmp_path)
    with (checkouts[0] / file).open("a") as source:
        source.write("// edited\n")
    assert place(checkouts[0], tmp_path) != before


@pytest.mark.parametrize(
    "setting",
    [
        "FLITWATCH_ARCH=x86-64-v3",
        "Python_SOABI=cpython-312",
        "CMAKE_CXX_FLAGS=-O1",
        "CMAKE_BUILD_TYPE=Debug",
        "nanobind_VERSION=3",
    ],
)
def test_another_build_has_another_place(checkouts: list[Path], tmp_path: Path, setting: str) -> None:
    assert place(checkouts[0], tmp_path) != place(checkouts[0], tmp_path, setting)


def test_nothing_is_kept_of_tests_and_other_processors_or_without_a_cache(checkouts: list[Path]) -> None:
    assert place(checkouts[0], "/nowhere") != ""
    assert place(checkouts[0], "") == ""
    for setting in ("FLITWATCH_SANITIZE=address", "FLITWATCH_TESTS=ON", "CMAKE_CROSSCOMPILING=ON"):
        assert place(checkouts[0], "/nowhere", setting) == ""


def keep(built: Path, prefix: Path) -> None:
    settings = (f"FLITWATCH_BUILT={built}", f"CMAKE_INSTALL_PREFIX={prefix}")
    cmake(prefix, f'include("{SCRIPTS}/keep_built.cmake")\n', *settings)


def test_modules_and_stubs_are_kept_of_the_ten_newest_builds(tmp_path: Path) -> None:
    installed, cache = tmp_path / "flitwatch_core", tmp_path / "cache"
    installed.mkdir()
    for name in ("_codec.so", "_codec.pyi", "codec.py"):
        (installed / name).write_text(name)
    for number in range(12):
        keep(cache / f"build{number}", tmp_path)
        os.utime(cache / f"build{number}", (1e9 + number, 1e9 + number))
    assert {path.name for path in cache.iterdir()} == {f"build{number}" for number in range(2, 12)}
    assert {path.name for path in (cache / "build7").iterdir()} == {"_codec.so", "_codec.pyi"}
    keep(cache / "build7", tmp_path)  # by two checkouts at once
    assert len(list(cache.iterdir())) == 10


def test_a_cache_that_cannot_be_written_fails_no_build(tmp_path: Path) -> None:
    (tmp_path / "flitwatch_core").mkdir()
    (tmp_path / "flitwatch_core" / "_codec.so").touch()
    (tmp_path / "file").touch()
    keep(tmp_path / "file" / "cache" / "build", tmp_path)
