"""The noise core's wheels: one for CPython 3.11 and one for 3.12 and later, for two processors, all for glibc 2.28."""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from packages.conftest import PROCESSORS, ROOT

pytestmark = [pytest.mark.integration, pytest.mark.system("packages"), pytest.mark.timeout(3600)]
#: ELF's number of each processor (e_machine, at byte 18).
MACHINES = {"x86_64": 62, "aarch64": 183}
#: Each wheel's tag of its Python, and how its modules are named.
KINDS = {"cp311-cp311": ".cpython-311-", "cp312-abi3": ".abi3.so"}
#: Load each extension.
CODE = "import importlib, json, sys; [importlib.import_module(name) for name in sys.argv[1:]]; print(json.dumps(sys.version_info[:2]))"


@pytest.fixture(scope="module")
def core_wheels(wheels: dict[str, Path]) -> list[Path]:
    return sorted(wheels["flitwatch-core"].parent.glob("flitwatch_core-*.whl"))


def test_there_is_a_wheel_for_each_python_and_processor(core_wheels: list[Path]) -> None:
    tags = [re.fullmatch(r"(\w+-\w+)-.*manylinux_2_(\d+)_(.+)", wheel.stem.split("-", 2)[2]) for wheel in core_wheels]
    assert {(tag[1], tag[3]) for tag in tags if tag} == {
        (kind, processor) for kind in KINDS for processor in PROCESSORS
    }
    assert all(tag and int(tag[2]) <= 28 for tag in tags), core_wheels


def test_each_wheel_holds_its_processors_code_and_says_so(core_wheels: list[Path]) -> None:
    for wheel in core_wheels:
        kind, processor = "-".join(wheel.stem.split("-")[2:4]), re.sub(r".*manylinux_2_\d+_", "", wheel.stem)
        with zipfile.ZipFile(wheel) as packed:
            modules = [name for name in packed.namelist() if name.endswith(".so")]
            stubs = {Path(name).name for name in packed.namelist() if name.endswith(".pyi")}
            assert len(modules) >= 8 and all(KINDS[kind] in name for name in modules), (wheel.name, modules)
            for name in modules:
                head = packed.read(name)[:20]
                assert head[:5] == b"\x7fELF\x02" and int.from_bytes(head[18:20], "little") == MACHINES[processor]
                assert Path(name).name.split(".")[0] + ".pyi" in stubs


def test_auditwheel_agrees_with_the_tags(core_wheels: list[Path]) -> None:
    tools = ROOT / "build" / "dist" / "venv" / "bin"
    for wheel in core_wheels:
        shown = subprocess.run(
            [tools / "python", "-m", "auditwheel", "show", "--json", wheel], capture_output=True, text=True
        )
        if shown.returncode:
            shown = subprocess.run(
                [tools / "python", "-m", "auditwheel", "show", wheel], capture_output=True, text=True
            )
        assert shown.returncode == 0, shown.stderr
        assert "manylinux" in shown.stdout and "GLIBCXX" not in shown.stdout, shown.stdout


@pytest.mark.parametrize("version", ["3.11.3-1.5.9", "3.13.5-1.5.12"])
def test_the_wheels_of_this_processor_run_in_their_pythons(
    core_wheels: list[Path], uv: str, tmp_path: Path, version: str
) -> None:
    (python,) = (ROOT / ".cache" / "pythons" / version).glob("org/bytedeco/cpython/*/bin/python3.[0-9][0-9]")
    subprocess.run([uv, "venv", "-q", "--python", python, tmp_path / "venv"], check=True)
    kind = "cp311-cp311" if version.startswith("3.11") else "cp312-abi3"
    (wheel,) = [one for one in core_wheels if kind in one.name and one.name.endswith(f"_{os.uname().machine}.whl")]
    inside = tmp_path / "venv" / "bin" / "python"
    subprocess.run([uv, "pip", "install", "-q", "--python", inside, wheel], check=True, cwd=tmp_path)
    with zipfile.ZipFile(wheel) as packed:
        extensions = [name.split(".")[0].replace("/", ".") for name in packed.namelist() if name.endswith(".so")]
    done = subprocess.run([inside, "-I", "-c", CODE, *extensions], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [int(number) for number in version.split("-")[0].split(".")[:2]]
