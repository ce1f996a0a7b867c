"""Two PostgreSQL servers managed by Patroni with etcd: one is the primary, the other follows it synchronously and takes over."""

from __future__ import annotations

import contextlib
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
import yaml
from support.waiting import eventually

from flitwatch_db.core import logins
from flitwatch_domain.errors import Unavailable
from flitwatch_ops import embedded_host
from flitwatch_ops.stack.daemon import Daemon, is_listening

PATRONI = Path(sys.executable).with_name("patroni")
#: Below those that the kernel gives to clients: a server that is down must find its port free.
PORTS = range(20_000, 32_000)
NODES = ("first", "second")
START_S, JOIN_S, END_S = 90.0, 180.0, 20.0
#: The least that Patroni takes: a leader that is silent for so long has lost its lock.
TTL_S = 20
#: How often a leader renews its lock: it is lost so much sooner at most.
LOOP_WAIT_S = 6
#: Of the servers; what Patroni does not keep equal on both stands with each.
#: `wal_keep_size`: one that comes back reads the log from the last checkpoint before it was lost, which the other must still have.
EQUAL = {"max_connections": 100, "max_locks_per_transaction": 1024, "wal_keep_size": "2GB"}
SETTINGS = {
    "shared_buffers": "256MB",
    "max_wal_size": "512MB",
    "wal_compression": "pglz",
    "recovery_init_sync_method": "syncfs",
    "jit": "off",
    "autovacuum_naptime": "15s",
}


def lacking() -> str:
    """What this machine lacks, and how to get it; "" if nothing is."""
    if shutil.which("etcd") is None:
        return "etcd is not installed: sudo apt-get install etcd-server"
    return "" if PATRONI.exists() else "Patroni is not installed: make python-all"


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on."""
    return [port for port in random.sample(PORTS, 4 * count) if not is_listening(port)][:count]


class Node:
    """One server and its Patroni, both run by the user of the embedded database."""

    def __init__(self, folder: Path, name: str, port: int, api_port: int, host: embedded_host.Host) -> None:
        self.folder, self.name, self.port, self.api_port, self._host = folder, name, port, api_port, host
        self.data, self.log = folder / "data", folder.with_suffix(".log")
        host.make_folder(folder)
        self._patroni: subprocess.Popen[bytes] | None = None

    def start(self, configuration: Mapping[str, Any]) -> None:
        """Start its Patroni, which starts the server or has it follow the other."""
        file = self.folder / "patroni.yml"
        file.touch(mode=0o600)
        file.write_text(yaml.safe_dump(dict(configuration)))
        self._host.own(file)
        with open(self.log, "ab") as log:
            self._patroni = subprocess.Popen(
                [str(PATRONI), str(file)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, "LC_ALL": "C", "HOME": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"},
                user=self._host.uid,
                group=self._host.gid,
                extra_groups=[] if self._host.uid is not None else None,
            )

    def pid(self) -> int | None:
        """The server's process id while it runs."""
        with contextlib.suppress(OSError, ValueError):
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
            return pid if pid in self._processes() else None
        return None

    def kill(self) -> None:
        """Kill -9 Patroni and the server, as the loss of their host does: nothing of them is left afterwards."""
        if self._patroni is not None:
            self._patroni.kill()
        if (server := self.pid()) is not None:
            os.kill(server, signal.SIGKILL)
        if self._patroni is not None:
            self._patroni.wait()
        deadline = time.monotonic() + END_S
        while left := list(self._processes()):
            # They end as soon as they see that their server has; one that computes does not look.
            for pid in left if time.monotonic() > deadline - END_S / 2 else []:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            assert time.monotonic() < deadline, f"processes {left} still use {self.data}"
            time.sleep(0.02)

    def _processes(self) -> Iterator[int]:
        home = self.data.resolve()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and Path(os.readlink(entry / "cwd")) == home:
                    yield int(entry.name)

    def check(self) -> None:
        """Unavailable if its Patroni has ended by itself."""
        if self._patroni is not None and self._patroni.poll() is not None:
            said = self.log.read_text(errors="replace").splitlines()[-4:]
            raise Unavailable(f"Patroni of {self.name} has ended: {' | '.join(said)}")

    def read_cluster(self) -> dict[str, Any]:
        """What its Patroni says of the cluster; empty if it does not answer."""
        with contextlib.suppress(OSError, ValueError):
            answer = urllib.request.urlopen(f"http://127.0.0.1:{self.api_port}/cluster", timeout=5)
            return dict(json.loads(answer.read()))
        return {}


class Cluster:
    """Both nodes and etcd.

    Parameters
    ----------
    folder : Path
    quick : bool
        For tests: nothing is synced to the disk, and the nodes look around each second.
    """

    def __init__(self, folder: Path, quick: bool = False) -> None:
        folder.mkdir()
        self.folder = folder
        self._loop_wait_s = 1 if quick else LOOP_WAIT_S
        self._fsync = "off" if quick else "on"
        host = embedded_host.prepare_host(folder)
        if host.uid is not None:
            # Patroni is Python, and runs as the server's user.
            for program in (PATRONI, Path(sys.executable).resolve()):
                embedded_host.open_way(program)
        self._bin = host.bin
        self._client, self._peer, *ports = free_ports(2 + 2 * len(NODES))
        self.nodes = {
            name: Node(folder / name, name, ports[2 * i], ports[2 * i + 1], host) for i, name in enumerate(NODES)
        }
        self._passwords = {name: secrets.token_urlsafe(16) for name in ("postgres", "replicator", "flitwatch")}
        self._etcd = Daemon(folder / "etcd.pid", folder / "etcd.log", str(folder))

    @property
    def _place(self) -> dict[str, str | int | None]:
        nodes = self.nodes.values()
        return {"host": ",".join("127.0.0.1" for _ in nodes), "port": ",".join(str(node.port) for node in nodes)}

    def owner_url(self) -> str:
        """The URL of the database's owner, with the password, as somebody who sets a site up writes it."""
        made = logins.make_url("flitwatch", "flitwatch", self._place)
        return made.replace("flitwatch@", f"flitwatch:{self._passwords['flitwatch']}@")

    def start(self) -> None:
        """Start etcd and both nodes; the second follows once this returns, and database and owner are there."""
        client, peer = (f"http://127.0.0.1:{port}" for port in (self._client, self._peer))
        etcd = ["etcd", "--name", "one", "--data-dir", str(self.folder / "etcd"), "--log-level", "warn"]
        etcd += ["--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer]
        etcd += ["--initial-advertise-peer-urls", peer, "--initial-cluster", f"one={peer}"]
        self._etcd.spawn(etcd)
        self._etcd.wait_ready(lambda: is_listening(self._client), START_S, "etcd")
        for node in self.nodes.values():
            self.begin(node)
        self.wait_followed()
        with psycopg.connect(
            logins.make_url("postgres", "postgres", {**self._place, "target_session_attrs": "primary"}),
            password=self._passwords["postgres"],
            autocommit=True,
        ) as conn:
            conn.execute(f"CREATE ROLE flitwatch LOGIN CREATEROLE PASSWORD '{self._passwords['flitwatch']}'".encode())
            logins.create_database(conn)

    def begin(self, node: Node) -> None:
        """Start a node, also one that was killed: it becomes the other's follower by itself."""
        node.start(self._configuration(node))

    def primary(self) -> Node | None:
        """The node that writes, as Patroni says; None if none does."""
        return next((self.nodes[one["name"]] for one in self._members() if one["role"] == "leader"), None)

    def wait_followed(self) -> None:
        """Return once one writes and the other follows it synchronously."""

        def followed() -> bool:
            for node in self.nodes.values():
                node.check()
            roles = {one["role"]: one["state"] for one in self._members()}
            return roles.get("leader") == "running" and roles.get("sync_standby") == "streaming"

        try:
            eventually(followed, JOIN_S, 0.1, what="a standby to follow", detail=self._members)
        except AssertionError as late:
            raise Unavailable(str(late)) from late

    def _members(self) -> list[dict[str, Any]]:
        for node in self.nodes.values():
            if found := node.read_cluster().get("members"):
                return list(found)
        return []

    def stop(self) -> None:
        """End all of it."""
        for node in self.nodes.values():
            node.kill()
        self._etcd.end()

    def _configuration(self, node: Node) -> dict[str, Any]:
        def login(name: str) -> dict[str, str]:
            return {"username": name, "password": self._passwords[name]}

        return {
            "scope": "flitwatch",
            "name": node.name,
            "restapi": {
                "listen": f"127.0.0.1:{node.api_port}",
                "connect_address": f"127.0.0.1:{node.api_port}",
            },
            "etcd3": {"host": f"127.0.0.1:{self._client}"},
            "bootstrap": {
                "dcs": {
                    "ttl": TTL_S,
                    "loop_wait": self._loop_wait_s,
                    "retry_timeout": (TTL_S - self._loop_wait_s) // 2,
                    "synchronous_mode": True,
                    "postgresql": {
                        "use_pg_rewind": True,
                        "use_slots": True,
                        "parameters": EQUAL,
                    },
                },
                "initdb": [
                    {"locale": "C"},
                    {"locale-provider": "builtin"},
                    {"builtin-locale": "C.UTF-8"},
                    {"encoding": "UTF8"},
                    "no-sync",
                ],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{node.port}",
                "connect_address": f"127.0.0.1:{node.port}",
                "data_dir": str(node.data),
                "bin_dir": str(self._bin),
                "pgpass": str(node.folder / "pgpass"),
                "authentication": {"superuser": login("postgres"), "replication": login("replicator")},
                "pg_hba": [
                    "host all all 127.0.0.1/32 scram-sha-256",
                    "host replication all 127.0.0.1/32 scram-sha-256",
                ],
                "remove_data_directory_on_rewind_failure": True,
                "remove_data_directory_on_diverged_timelines": True,
                "parameters": {
                    **SETTINGS,
                    "fsync": self._fsync,
                    "unix_socket_directories": str(node.folder),
                },
            },
        }
