"""The DEB and the RPM, each in a fresh Debian without a checkout, a compiler or a network: installed with dpkg or rpm, started by the service's user.

For the RPM this tests its files, its scripts and its start. Its dependencies are not checked, because Debian has no RPM database, and the C library
is Debian's.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from e2e.site import EDISON, import_of_edison
from support.waiting import eventually, free_port

from packages.conftest import ROOT, look_at_edison
from packages.questions import ask_questions, write_questions

pytestmark = [pytest.mark.integration, pytest.mark.system("packages")]
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
        [sys.executable, ROOT / "packaging/build.py", folder, "", "deb,rpm"], capture_output=True, text=True
    )
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
    kept = ROOT / ".cache" / "deb" / f"{release['VERSION_CODENAME']}-bare.tar"
    if not kept.exists():
        with folder_of_root() as folder:
            command = [
                "debootstrap",
                "--variant=minbase",
                "--include=systemd",
                release["VERSION_CODENAME"],
                folder,
            ]
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
    """A platform that answers, started in a Debian of its own: `init` is the first process of its namespace, `said` what was printed until it was
    ready."""

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
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.3)
            assert process.poll() is None, said.read_text()
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
        with started(debian, "dpkg --force-unsafe-io --install /root/flitwatch.deb") as running:
            yield running


def test_the_deb_starts_the_platform(deb: Running) -> None:
    check(deb)


def test_the_deb_imports_and_shows_its_page(
    deb: Running,
    shared: Path,
    browser: dict[str, str],
) -> None:
    inside = Path("/srv/data")
    for name in EDISON.values():
        file = deb.root / inside.relative_to("/") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(shared / "data" / name, file)
    deb.flitwatch(*import_of_edison(inside))
    look_at_edison(f"http://127.0.0.1:{deb.port}", browser)


def test_the_deb_answers_who_and_how_long(
    deb: Running, packages: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    write_questions(deb.root / "srv/questions")
    begun_s = time.monotonic()
    ask_questions(deb.flitwatch, Path("/srv/questions"))
    figures = {
        "deb_mib": round(packages["deb"].stat().st_size / 2**20, 1),
        "installed_mib": round(size_of(deb.root / "usr/lib/flitwatch") / 2**20, 1),
        "questions_s": round(time.monotonic() - begun_s, 1),
        "not_run": ["RHEL 8 to 10", "SLES", "Ubuntu 22.04 to 26.04"],
    }
    with capfd.disabled():
        print(json.dumps(figures))


#: Prints each name of these modules that the code in a folder uses and this Python does not have, with its file.
LACKS = """
import ast, fcntl, importlib, os, pathlib, resource, select, signal, socket, sys, time
modules = {module.__name__: module for module in (fcntl, os, resource, select, signal, socket, time)}
files = [file for folder in pathlib.Path(sys.argv[1]).glob("flitwatch*") if folder.is_dir() for file in folder.rglob("*.py")]
assert len(files) > 500, files
for file in files:
    nodes = list(ast.walk(ast.parse(file.read_text())))
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names} & set(modules)
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
            if not hasattr(modules[node.value.id], node.attr):
                print(file.name, f"{node.value.id}.{node.attr}")
"""


def test_the_python_of_the_deb_has_every_system_call_that_the_code_uses(deb: Running) -> None:
    python, places = "/usr/lib/flitwatch/bin/python3", deb.root / "usr/lib/flitwatch/lib"
    (packages,) = places.glob("python3.*/site-packages")
    inside = f"/{packages.relative_to(deb.root)}"
    done = subprocess.run(["chroot", deb.root, python, "-c", LACKS, inside], capture_output=True, text=True, env=PATHS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def size_of(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*"))


def test_the_units_of_the_deb_are_sound(deb: Running) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    debian = deb.root
    folder = debian / "usr/lib/systemd/system"
    units = sorted(unit.name for unit in folder.glob("flitwatch*.service"))
    assert len(units) == 6
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


#: A systemd that sees its own folder, processes and cgroup alone, and may set nothing of the kernel's.
BOOT = """set -e
mount --make-rprivate /
mount --bind {root} {root}
mount -t proc proc {root}/proc
mount --bind {root}/proc/sys {root}/proc/sys
mount -o remount,bind,ro {root}/proc/sys
mount -t tmpfs tmpfs {root}/sys
mkdir -p {root}/sys/fs/cgroup/systemd {root}/dev/shm
mount -t cgroup -o none,name=systemd cgroup {root}/sys/fs/cgroup/systemd || mount -t cgroup2 cgroup2 {root}/sys/fs/cgroup
mount -o remount,ro {root}/sys
mount -t tmpfs tmpfs {root}/run
mount -t tmpfs tmpfs {root}/dev/shm
exec chroot {root} env container=flitwatch /lib/systemd/systemd --unit=basic.target
"""


@dataclass(frozen=True)
class Booted:
    """A Debian under a systemd of its own; `init` is that systemd's process."""

    root: Path
    init: int

    def __call__(self, *command: str, check: bool = True) -> str:
        """What root's command prints in there."""
        inside = ["nsenter", "--target", f"{self.init}", "--mount", "--pid", "--cgroup", "--root", "--wdns=/"]
        done = subprocess.run([*inside, *command], capture_output=True, text=True, timeout=240, env=PATHS)
        assert not check or done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def state(self, unit: str) -> tuple[str, str]:
        """Whether it runs, and whether it starts at the next boot."""
        return self("systemctl", "is-active", unit, check=False), self("systemctl", "is-enabled", unit, check=False)

    def waits_for(self, port: int) -> None:
        """Until the platform answers on that port."""

        def ready() -> bool:
            if answer(port, "/readyz").startswith(b"HTTP/1.1 200"):
                return True
            assert self.state("flitwatch")[0] in {"active", "activating"}, self("journalctl", "--no-pager", "-n", "40")
            return False

        eventually(ready, 600, 0.3, what="the platform to answer")


@contextmanager
def booted(debian: Path) -> Iterator[Booted]:
    """Start a systemd in that Debian, in a cgroup of its own; all of it ends with the block."""
    hierarchy = Path("/sys/fs/cgroup/systemd")
    group = (hierarchy if hierarchy.is_dir() else hierarchy.parent) / f"flitwatch-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as refused:
        pytest.skip(f"needs a cgroup for a systemd of its own: {refused}")
    apart = "unshare --mount --pid --uts --ipc --cgroup --fork --kill-child"
    enter = f"echo $$ > {group}/cgroup.procs && exec {apart} sh -c {shlex.quote(BOOT.format(root=debian))}"
    said = debian / "root" / "booted"
    with said.open("wb") as output:
        process = subprocess.Popen(
            ["sh", "-c", enter], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=PATHS
        )
    try:
        for _ in range(300):
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            if process.poll() is not None:
                pytest.skip(f"no systemd of its own on this machine: {said.read_text()}")
            if children:
                machine = Booted(debian, int(children[0]))
                if machine("systemctl", "is-system-running", check=False) == "running":
                    break
            time.sleep(0.2)
        else:
            pytest.skip(f"no systemd of its own on this machine: {said.read_text()}")
        yield machine
    finally:
        process.kill()
        process.wait(60)
        # The kernel ends what ran in there in its own time, and keeps a group until then.
        for folder in sorted([group, *group.rglob("*/")], reverse=True):
            eventually(lambda f=folder: not (f / "cgroup.procs").read_text(), 600, what="the processes to end")
            folder.rmdir()


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The packages as they are built, by their kind, but with a program that only waits in the place of the Python environment: to unpack that takes
    a minute."""
    folder = tmp_path_factory.mktemp("scripts")
    spec = importlib.util.spec_from_file_location("packages_build", ROOT / "packaging/build.py")
    assert spec is not None and spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    tree = folder / "tree"
    build.install_files(tree)
    program = tree / build.PLACE / "bin" / "flitwatch"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexec sleep infinity\n")
    program.chmod(0o755)
    program.with_name("flitwatch-sampler").symlink_to("flitwatch")
    built = {"deb": build.debian(tree, folder)}
    return {**built, "rpm": build.rpm(tree, folder, folder)} if shutil.which("rpmbuild") else built


@pytest.fixture(scope="module")
def image(bare_debian: Path) -> Iterator[Path]:
    """A Debian from which each test removes what it installed."""
    with cloned(bare_debian) as folder:
        yield folder


def enabled(debian: Path) -> list[str]:
    """Units of ours that start at the next boot of that Debian."""
    wanted = debian / "etc/systemd/system/multi-user.target.wants"
    return sorted(link.name for link in wanted.iterdir() if link.name.startswith("flitwatch"))


def removal(machine: Booted, package: Path, starts: Callable[[], None]) -> None:
    """Install, enable, upgrade, remove and purge that DEB; `starts` returns once the service does its work."""
    debian = machine.root
    settings = debian / "etc/flitwatch/flitwatch.toml"
    # What dpkg does, without waiting for the disk after each file.
    dpkg = ("dpkg", "--force-unsafe-io")
    shutil.copy(package, debian / "root" / "flitwatch.deb")
    machine(*dpkg, "--install", "/root/flitwatch.deb")
    assert machine.state("flitwatch") == ("inactive", "disabled"), "a site chooses what it starts"
    machine("systemctl", "enable", "--now", "flitwatch")
    machine("systemctl", "enable", "flitwatch-slurm")
    starts()
    # As the upgrade to a newer one: the scripts are called with the same words.
    settings.rename(settings.with_suffix(".away"))
    machine(*dpkg, "--install", "/root/flitwatch.deb")
    assert not settings.exists()
    settings.with_suffix(".away").rename(settings)
    assert machine.state("flitwatch") == ("active", "enabled")
    assert enabled(debian) == ["flitwatch-slurm.service", "flitwatch.service"]

    machine(*dpkg, "--remove", "flitwatch")
    assert machine.state("flitwatch")[0] == "inactive"
    assert enabled(debian) == []
    assert machine("systemctl", "list-units", "--all", "--plain", "--no-legend", "flitwatch*") == ""
    # The data and the site's settings stay; nothing else does.
    assert (debian / "var/lib/flitwatch").is_dir() and settings.exists()
    assert not (debian / "usr/lib/flitwatch").exists()
    machine(*dpkg, "--purge", "flitwatch")
    assert not settings.exists() and not (debian / "var/cache/flitwatch").exists()
    assert (debian / "var/lib/flitwatch").is_dir()


def test_a_removal_stops_and_disables_what_an_upgrade_leaves(scripts: dict[str, Path], image: Path) -> None:
    with booted(image) as machine:

        def runs() -> None:
            assert machine.state("flitwatch")[0] == "active"
            assert waiting() != ""

        def waiting() -> str:
            return machine("sh", "-c", "grep -lx sleep /proc/[0-9]*/comm", check=False)

        removal(machine, scripts["deb"], runs)
        assert waiting() == ""


def test_a_removal_disables_units_where_no_systemd_runs(scripts: dict[str, Path], image: Path) -> None:
    """An image of a node: the package is taken out of it before anything boots."""
    if "rpm" not in scripts or shutil.which("rpm") is None:
        pytest.skip("needs rpm and rpmbuild: make test installs them")
    rpm = ["rpm", "--root", image, "--nodeps"]
    subprocess.run([*rpm, "--install", "--force-debian", scripts["rpm"]], check=True)
    subprocess.run(["chroot", image, "systemctl", "enable", "flitwatch-api", "flitwatch-writer"], check=True, env=PATHS)
    # An upgrade first: RPM calls the old package's scripts with 1 then.
    subprocess.run([*rpm, "--upgrade", "--replacepkgs", "--force-debian", scripts["rpm"]], check=True)
    assert enabled(image) == ["flitwatch-api.service", "flitwatch-writer.service"]
    subprocess.run([*rpm, "--erase", "flitwatch"], check=True)
    assert enabled(image) == []
    assert not (image / "usr/lib/flitwatch").exists()


@pytest.mark.system("packages")
def test_the_deb_starts_under_systemd_and_its_removal_keeps_the_data(packages: dict[str, Path], debian: Path) -> None:
    port = free_port()
    unit = debian / "etc/systemd/system/flitwatch.service.d/port.conf"
    unit.parent.mkdir(parents=True)
    unit.write_text(f"[Service]\nEnvironment=FLITWATCH_LISTEN_PORT={port}\n")
    with booted(debian) as machine:
        removal(machine, packages["deb"], lambda: machine.waits_for(port))
        assert answer(port, "/readyz") == b""
        assert (debian / "var/lib/flitwatch/pg").is_dir()


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
    assert not (debian / "usr/bin/python3").exists()
    with started(debian, "true") as running:
        check(running)
