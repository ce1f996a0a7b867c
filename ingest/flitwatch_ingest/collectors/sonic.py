"""Switches with SONiC: their databases in Redis, or dumps of them.

Numbers of the databases: sonic-net/sonic-swss-common, common/database_config.json (APPL_DB 0, COUNTERS_DB 2, CONFIG_DB 4).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson
import redis
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError

from flitwatch_domain.errors import BadInput, BadRequest, Unavailable
from flitwatch_domain.importers import sonic as tables_of_sonic
from flitwatch_domain.importers.lldp import Switch
from flitwatch_domain.importers.read import default_name
from flitwatch_domain.importers.sonic import Tables
from flitwatch_domain.importers.text import read_bytes
from flitwatch_ingest.collectors.answers import BadAnswer
from flitwatch_ingest.collectors.ethernet import PolledSwitch, Source
from flitwatch_ingest.sources import sonic
from flitwatch_ingest.sources.ethernet import Reading

APPLICATION, COUNTERS, CONFIGURATION = 0, 2, 4
TIMEOUT_S = 10.0
PORT = 6379
_LOCAL = frozenset({"127.0.0.1", "::1", "localhost"})
#: Hashes requested at a time.
_BATCH = 500


def source_of(place: str, user: str | None, password: str | None, ca: Path | None) -> Source:
    """Return the source at a place: `redis://HOST[:PORT]`, `rediss://` with TLS, `unix:PATH`, or a file or folder with dumps. Raise BadRequest if the
    place is invalid, or would send a password to another machine without TLS."""
    if "://" not in place and not place.startswith("unix:"):
        return DumpedSwitch(Path(place))
    return RedisSwitch(place, user, password, ca)


class DumpedSwitch(PolledSwitch):
    """A switch read from dumps of its databases: a file with one or several, or a folder with one file per database.

    The counters have the modification time of their file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def place(self) -> str:
        """The file or folder."""
        return str(self._path)

    def describe(self) -> Switch:
        tables, _ = self._load_tables()
        return tables_of_sonic.switch_of(tables, default_name(self._path))

    def count(self) -> list[Reading]:
        tables, at_s = self._load_tables()
        try:
            return [sonic.reading_of(tables, at_s, self.place)]
        except BadInput as bad:
            raise BadAnswer(
                bad.reason, body=str(sorted(tables)[:20]).encode(), where=bad.where, advice=bad.advice
            ) from None

    def _load_tables(self) -> tuple[Tables, float]:
        merged: Tables = {}
        at_s = 0.0
        files = [self._path]
        if self._path.is_dir():
            files = sorted(file for file in self._path.iterdir() if file.is_file() and not file.name.startswith("."))
            if not files:
                raise BadInput("is an empty folder", where=self.place, advice="Expected dumps of SONiC's databases.")
        for file in files:
            body = read_bytes(file)
            try:
                document = orjson.loads(body)
            except orjson.JSONDecodeError as bad:
                raise BadAnswer(f"is not JSON: {bad}", body=body[: 64 << 10], where=str(file)) from None
            tables = tables_of_sonic.tables_of(document)
            merged |= tables
            if sonic.PORT_NAMES in tables or not at_s:
                at_s = file.stat().st_mtime
        return merged, at_s


class RedisSwitch(PolledSwitch):
    def __init__(self, url: str, user: str | None, password: str | None, ca: Path | None) -> None:
        self._options: dict[str, Any] = {
            "username": user,
            "password": password,
            "socket_timeout": TIMEOUT_S,
            "socket_connect_timeout": TIMEOUT_S,
            "decode_responses": True,
            "encoding_errors": "replace",
        }
        if url.startswith("unix:"):
            path = "/" + url.removeprefix("unix:").lstrip("/")
            self._options["unix_socket_path"] = path
            self.place = f"unix:{path}"
            self._name = ""
            return
        parts = urlsplit(url)
        try:
            port = parts.port or PORT
        except ValueError:
            port = 0
        if parts.scheme not in ("redis", "rediss") or not parts.hostname or not port or parts.path not in ("", "/"):
            raise BadRequest(
                f"{url!r} is not the address of a switch's Redis",
                advice="Write redis://HOST:PORT, rediss://HOST:PORT for TLS, unix:PATH, or a file with a dump.",
            )
        if parts.password or parts.username:
            raise BadRequest("other users can see a password in an address", advice="Use --password-file FILE.")
        host = unquote(parts.hostname)
        if password and parts.scheme == "redis" and host not in _LOCAL:
            raise BadRequest(
                "without TLS, others on the network can read the password", advice=f"Say rediss://{parts.netloc}."
            )
        self._options |= {"host": host, "port": port}
        if parts.scheme == "rediss":
            self._options |= {"ssl": True, "ssl_ca_certs": str(ca) if ca else None}
        self.place = f"{parts.scheme}://{parts.netloc}"
        self._name = host

    def describe(self) -> Switch:
        try:
            with self._open_client(APPLICATION) as client:
                keys = [tables_of_sonic.CHASSIS]
                for table in (tables_of_sonic.PORTS, tables_of_sonic.NEIGHBOURS):
                    keys += sorted(client.scan_iter(match=f"{table}:*", count=1000))
                tables = _load_hashes(client, keys)
            with self._open_client(CONFIGURATION) as client:
                tables |= _load_hashes(client, [f"{tables_of_sonic.METADATA}|localhost"])
        except (RedisError, OSError) as problem:
            raise self._to_unavailable(problem) from None
        return tables_of_sonic.switch_of(tables, self._name or self.place)

    def count(self) -> list[Reading]:
        try:
            with self._open_client(COUNTERS) as client:
                tables = _load_hashes(client, sonic.MAPS)
                objects = list(tables.get(sonic.PORT_NAMES, {}).values())
                objects += [oid for _, _, oid in sonic.queues_of(tables)]
                begun = time.time()
                tables |= _load_hashes(client, [f"{sonic.COUNTERS}:{oid}" for oid in objects])
                at_s = (begun + time.time()) / 2
        except (RedisError, OSError) as problem:
            raise self._to_unavailable(problem) from None
        return [sonic.reading_of(tables, at_s, self.place)]

    def _open_client(self, database: int) -> redis.Redis:
        return redis.Redis(db=database, **self._options)

    def _to_unavailable(self, problem: Exception) -> Unavailable:
        if isinstance(problem, AuthenticationError) or "NOAUTH" in str(problem) or "WRONGPASS" in str(problem):
            wrong = "refuses the password" if self._options["password"] else "asks for a password"
            return Unavailable(
                f"{self.place}: {wrong}", advice="Use --password-file FILE, and --user if Redis has users."
            )
        if isinstance(problem, NoPermissionError):
            return Unavailable(
                f"{self.place}: the user has no read access: {problem}", advice="Give it SCAN and HGETALL."
            )
        text = " ".join(str(problem).split()) or type(problem).__name__
        return Unavailable(f"{self.place}: {text[:300]}", advice="Check the address of SONiC's Redis.")


def _load_hashes(client: redis.Redis, keys: Iterable[str]) -> Tables:
    """Load the hashes of the keys; missing ones are omitted."""
    names = list(keys)
    hashes: Tables = {}
    for first in range(0, len(names), _BATCH):
        batch = names[first : first + _BATCH]
        pipeline = client.pipeline(transaction=False)
        for key in batch:
            pipeline.hgetall(key)
        hashes |= {key: fields for key, fields in zip(batch, pipeline.execute(), strict=True) if fields}
    return hashes
