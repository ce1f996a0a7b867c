"""The noise core's wheel for aarch64, built on this machine for another."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: ELF's number of the processor (e_machine, at byte 18) for AArch64.
EM_AARCH64 = 183


@pytest.mark.system("packages")
@pytest.mark.timeout(3600)
def test_the_wheel_for_aarch64_holds_its_processors_code_and_says_so(uv: str, tmp_path: Path) -> None:
    if shutil.which("aarch64-linux-gnu-g++") is None:
        pytest.skip("needs a compiler for aarch64: sudo apt-get install g++-aarch64-linux-gnu")
    subprocess.run(["make", "-s", "wheel-aarch64", f"DIST={tmp_path}"], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stem.startswith("flitwatch_core-") and "manylinux" in wheel.stem and wheel.stem.endswith("_aarch64")
    with zipfile.ZipFile(wheel) as held:
        modules = [name for name in held.namelist() if name.endswith(".so")]
        stubs = {Path(name).name for name in held.namelist() if name.endswith(".pyi")}
        assert len(modules) >= 8 and all("-aarch64-linux-gnu" in name for name in modules)
        for name in modules:
            head = held.read(name)[:20]
            assert head[:5] == b"\x7fELF\x02" and int.from_bytes(head[18:20], "little") == EM_AARCH64
            assert Path(name).name.split(".")[0] + ".pyi" in stubs
    # The checkout's own environment is still this machine's: uv did not remember the other processor.
    kept = subprocess.run(
        [uv, "sync", "--frozen", "--all-extras", "--dry-run"], cwd=ROOT, capture_output=True, text=True
    )
    assert kept.returncode == 0, kept.stderr
