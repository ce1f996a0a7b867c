"""The DEB and the RPM, each in a fresh Debian without a checkout, a compiler or a network: installed by dpkg or rpm, started by the service's user.

Of the RPM that shows its files, its scripts and its start. Its dependencies are not looked up, since a Debian has no RPM database, and the C library is Debian's.
"""

from __future__ import annotations

import gzip
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from e2e.site import EDISON, import_of_edison
from e2e.test_page import browser  # noqa: F401

from packages.conftest import ROOT, free_port, look_at_edison

pytestmark = [pytest.mark.integration, pytest.mark.slow]
PATHS = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
#: What systemd does for the unit: its user, its folder, its command. The shell stays: with it the whole namespace ends.
START = """set -e
mkdir -p /dev/shm; mount -t tmpfs none /dev/shm
{install}
! command -v gcc && ! command -v cmake
stat --format '%A %G' /etc/flitwatch/flitwatch.toml
setpriv --reuid flitwatch --regid flitwatch --init-groups env FLITWATCH_HOME=/var/lib/flitwatch FLITWATCH_LISTEN_PORT={port} \\
  $(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/flitwatch.service)
"""


@pytest.fixture(scope="session")
def packages(wheels: dict[str, Path]) -> dict[str, Path]:
    """The packages of the wheels by their kind, without the estimators' libraries, which are most of them; the RPM where rpmbuild is."""
    if shutil.which("dpkg-deb") is None:
        pytest.skip("needs dpkg-deb")
    folder = next(iter(wheels.values())).parent
    done = subprocess.run(
        [sys.executable, ROOT / "services/packages/build.py", folder, "", "deb,rpm"], capture_output=True, text=True
    )
    if "was not built for" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return {Path(line).suffix[1:]: Path(line) for line in done.stdout.split()}


@pytest.fixture(scope="session")
def bare_debian() -> Path:
    """The archive of a minimal Debian of this machine's release."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("needs root and debootstrap: make test installs it")
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    if release.get("ID") != "debian":
        pytest.skip("needs Debian")
    kept = ROOT / ".cache" / "deb" / f"{release['VERSION_CODENAME']}.tar"
    if not kept.exists():
        with folder_of_root() as folder:
            command = ["debootstrap", "--variant=minbase", "--include=python3", release["VERSION_CODENAME"], folder]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"debootstrap failed: {done.stdout.splitlines()[-1:]}")
            kept.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["tar", "-C", folder, "-cf", f"{kept}.part", "."], check=True)
        Path(f"{kept}.part").replace(kept)
    return kept


@contextmanager
def folder_of_root() -> Iterator[Path]:
    """An empty folder that every user may enter."""
    with tempfile.TemporaryDirectory(prefix="flitwatch-debian-", ignore_cleanup_errors=True) as place:
        Path(place).chmod(0o755)
        folder = Path(place, "root")
        folder.mkdir(mode=0o755)
        yield folder


@contextmanager
def cloned(archive: Path) -> Iterator[Path]:
    """The folder of a fresh Debian."""
    with folder_of_root() as folder:
        subprocess.run(["tar", "-C", folder, "-xf", archive], check=True)
        yield folder


@pytest.fixture
def debian(bare_debian: Path) -> Iterator[Path]:
    """The folder of a fresh Debian."""
    with cloned(bare_debian) as folder:
        yield folder


def answer(port: int, path: str) -> bytes:
    """What the platform answers on that port; empty while nobody listens."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as line:
            line.sendall(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
            return b"".join(iter(lambda: line.recv(65536), b""))
    except OSError:
        return b""


@dataclass(frozen=True)
class Running:
    """A platform that answers, started in a Debian of its own: `init` is the first process of its namespace, `said` what was printed until it was ready."""

    root: Path
    port: int
    init: int
    said: str

    def flitwatch(self, *words: str) -> str:
        """What `flitwatch` prints in there, called by the service's user."""
        inside = ["nsenter", "--target", f"{self.init}", "--mount", "--pid", "--root", "--wdns=/"]
        user = ["setpriv", "--reuid", "flitwatch", "--regid", "flitwatch", "--init-groups"]
        done = subprocess.run(
            [*inside, *user, "env", "FLITWATCH_HOME=/var/lib/flitwatch", "flitwatch", *words],
            capture_output=True,
            text=True,
            timeout=240,
            env=PATHS,
        )
        assert done.returncode == 0, f"flitwatch {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@contextmanager
def started(debian: Path, install: str) -> Iterator[Running]:
    """Install in that Debian and start the platform; it ends with the block."""
    port = free_port()
    (debian / "root" / "start.sh").write_text(START.format(port=port, install=install))
    inside = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={debian / 'proc'}"]
    said = debian / "root" / "said"
    with said.open("wb") as output:
        process = subprocess.Popen(
            [*inside, "chroot", debian, "sh", "/root/start.sh"], stdout=output, stderr=subprocess.STDOUT, env=PATHS
        )
    try:
        while not answer(port, "/readyz").startswith(b"HTTP/1.1 200"):
            assert process.poll() is None, said.read_text()
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.3)
        (init,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        yield Running(debian, port, int(init), said.read_text())
    finally:
        process.kill()
        process.wait(60)


def check(running: Running) -> None:
    page, shown, root = answer(running.port, "/"), running.said, running.root
    # Passwords of databases may be in the file's addresses: only root and the service read it.
    assert "-rw-r----- flitwatch" in shown
    assert "starting twin" not in shown, "an installed platform waits for real sources"
    assert page.startswith(b"HTTP/1.1 200") and b'<div id="app">' in page
    assert gzip.decompress((root / "usr/share/man/man1/flitwatch-top.1.gz").read_bytes()).startswith(b".TH")
    for place in ("bash-completion/completions/flitwatch", "fish/vendor_completions.d/flitwatch.fish"):
        assert "_FLITWATCH_COMPLETE" in (root / "usr/share" / place).read_text()


@pytest.fixture(scope="module")
def deb(packages: dict[str, Path], bare_debian: Path) -> Iterator[Running]:
    """The platform of the DEB, installed and started once."""
    with cloned(bare_debian) as debian:
        shutil.copy(packages["deb"], debian / "root" / "flitwatch.deb")
        with started(debian, "dpkg --install /root/flitwatch.deb") as running:
            yield running


def test_the_deb_starts_the_platform(deb: Running) -> None:
    check(deb)


def test_the_deb_imports_and_shows_its_page(
    deb: Running,
    shared: Path,
    browser: dict[str, str],  # noqa: F811
) -> None:
    inside = Path("/srv/data")
    for name in EDISON.values():
        file = deb.root / inside.relative_to("/") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(shared / "data" / name, file)
    deb.flitwatch(*import_of_edison(inside))
    look_at_edison(f"http://127.0.0.1:{deb.port}", browser)


def test_the_units_of_the_deb_are_sound(deb: Running) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    debian = deb.root
    folder = debian / "usr/lib/systemd/system"
    units = sorted(unit.name for unit in folder.glob("flitwatch*.service"))
    assert len(units) == 6
    # A minimal Debian has no systemd: the targets that units name are this machine's.
    for kind in ("*.target", "*.slice"):
        for unit in Path("/usr/lib/systemd/system").glob(kind):
            shutil.copy(unit, folder / unit.name, follow_symlinks=True)
    assert verified(debian, *units) == ""
    # It would say what is wrong.
    spoiled = folder / "flitwatch-api.service"
    spoiled.write_text(spoiled.read_text().replace("ExecStart=/usr/bin/", "ExecStart=/usr/local/bin/"))
    assert "/usr/local/bin/flitwatch is not executable" in verified(debian, spoiled.name)


def verified(root: Path, *units: str) -> str:
    """What systemd finds wrong with units below that folder."""
    command = ["systemd-analyze", "verify", "--man=no", f"--root={root}", *units]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_the_rpm_starts_the_platform(packages: dict[str, Path], debian: Path) -> None:
    if "rpm" not in packages or shutil.which("rpm") is None:
        pytest.skip("needs rpm and rpmbuild: make test installs them")
    rpm = ["rpm", "--root", debian]
    subprocess.run([*rpm, "--install", "--nodeps", "--force-debian", packages["rpm"]], check=True)
    # Every file is as it was packed, with its mode and owner.
    done = subprocess.run([*rpm, "--verify", "--nodeps", "flitwatch"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    wanted = subprocess.run([*rpm, "--query", "--requires", "flitwatch"], capture_output=True, text=True, check=True)
    assert {"libstdc++", "shadow-utils"} <= set(wanted.stdout.split("\n"))
    with started(debian, "true") as running:
        check(running)
