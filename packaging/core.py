"""Builds the noise core's wheels: `python packaging/core.py dist x86_64 aarch64` (part of `make dist`).

Each processor gets a wheel for CPython 3.11 and one for the stable ABI of 3.12 and later. zig compiles both against glibc 2.28 (RHEL 8, Debian 10, SLES 15.4) and links its libc++ into them.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
CORE = ROOT / "services" / "noise_core"
GLIBC = "2.28"
#: Interpreters with headers, from Maven Central, with their files' SHA-256: they build and are not shipped.
PYTHONS = {
    "3.13.5-1.5.12": "50ad91aa0baa57f0235bb666b87d8bf2a44e215d28c250de1030502906af143b",
    "3.11.3-1.5.9": "668b42f6a8b1a9789de7d3ca54a81fefb754cd8e885554b42858bbcbc0dd497c",
}


def main(dist: Path, *processors: str) -> int:
    """Build the wheels for the processors into `dist`."""
    zig = wrap_zig(ROOT / "build" / "dist" / "zig")
    for version, digest in PYTHONS.items():
        python = fetch_python(version, digest)
        for processor in processors:
            print(f"building the noise core for {processor} with Python {version.partition('-')[0]}", file=sys.stderr)
            build_wheel(dist, python, processor, zig)
    return 0


def wrap_zig(folder: Path) -> Path:
    """A folder of programs by the names that CMake calls."""
    folder.mkdir(parents=True, exist_ok=True)
    origin = importlib.util.find_spec("ziglang")
    if origin is None or origin.origin is None:
        sys.exit("core: zig is missing: make dist installs it")
    zig = Path(origin.origin).with_name("zig")
    for name in ("c++", "ar", "ranlib"):
        (folder / name).write_text(f'#!/bin/sh\nexec {zig} {name} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def fetch_python(version: str, digest: str) -> Path:
    """The interpreter of JavaCPP's CPython in that version, which Maven keeps."""
    folder = ROOT / ".cache" / "pythons" / version
    place = folder / "org/bytedeco/cpython/linux-x86_64/bin"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as work:
            artifact = f"org.bytedeco:cpython:{version}:jar:linux-x86_64"
            copy = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
            _run("mvn", "-q", "-B", copy, f"-Dartifact={artifact}", f"-DoutputDirectory={work}", cwd=work)
            (jar,) = Path(work).glob("*.jar")
            if hashlib.sha256(jar.read_bytes()).hexdigest() != digest:
                sys.exit(f"core: {jar.name} is not the file that was checked")
            with zipfile.ZipFile(jar) as packed:
                packed.extractall(Path(work, "python"))
            Path(work, "python").rename(folder)
    (python,) = place.glob("python3.[0-9][0-9]")
    python.chmod(0o755)
    return python


def build_wheel(dist: Path, python: Path, processor: str, zig: Path) -> None:
    """One wheel, with the tag that auditwheel finds true."""
    native = processor == os.uname().machine
    work = ROOT / "build" / "dist" / f"{python.name}-{processor}"
    shutil.rmtree(work / "wheel", ignore_errors=True)
    environment = os.environ | {
        "CCACHE_COMPILERTYPE": "clang",
        "CMAKE_TOOLCHAIN_FILE": os.fspath(HERE / "zig.cmake"),
        "FLITWATCH_PROCESSOR": processor,
        "FLITWATCH_TARGET": f"{processor}-linux-gnu.{GLIBC}",
        "FLITWATCH_ZIG": os.fspath(zig),
        "SKBUILD_CMAKE_DEFINE": "FLITWATCH_ARCH=",
    }
    environment.pop("CXX", None)
    if not native:
        # Both processors' types have the same sizes and order of bytes, so Python's headers are those of this machine. uv remembers what an interpreter
        # says of itself, and this one says that it is another processor's: the cache is one of its own.
        suffix = f".cpython-{python.name[6:].replace('.', '')}-{processor}-linux-gnu.so"
        defined = {
            "FLITWATCH_ARCH": "",
            "FLITWATCH_STUBS": unpack_stubs(dist, work / "stubs"),
            "NB_SUFFIX": suffix,
            "NB_SUFFIX_S": ".abi3.so",
        }
        environment |= {
            "UV_CACHE_DIR": os.fspath(ROOT / "build" / "dist" / f"uv-{processor}"),
            "_PYTHON_HOST_PLATFORM": f"linux-{processor}",
            "SETUPTOOLS_EXT_SUFFIX": suffix,
            "SKBUILD_CMAKE_DEFINE": ";".join(f"{name}={value}" for name, value in defined.items()),
        }
    uv = shutil.which("uv") or os.fspath(ROOT / ".cache" / "uv" / "bin" / "uv")
    chosen = ("--python", python, "--config-setting", f"build-dir={work / 'cmake'}", "--out-dir", work / "wheel")
    _run(uv, "build", "--wheel", *chosen, CORE, env=environment)
    (wheel,) = (work / "wheel").glob("*.whl")
    tools = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    repair = ("-m", "auditwheel", "repair", "--only-plat", "--wheel-dir", dist)
    _run(sys.executable, *repair, wheel, env=tools)


def unpack_stubs(dist: Path, folder: Path) -> Path:
    """The modules' stubs of a wheel that was built before: what is built for another processor cannot be imported here."""
    wheel = next(dist.glob(f"flitwatch_core-*_{os.uname().machine}.whl"))
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            if name.endswith(".pyi"):
                (folder / Path(name).name).write_bytes(packed.read(name))
    return folder


def _run(*words: str | Path, env: dict[str, str] | None = None, cwd: str | None = None) -> None:
    done = subprocess.run(words, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\ncore: {Path(words[0]).name} {words[1]} failed")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), *sys.argv[2:]))
