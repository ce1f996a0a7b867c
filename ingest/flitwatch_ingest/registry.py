"""Avro schemas by id, from a schema registry over HTTP (Confluent's API) or from a file."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import httpx
import orjson

from flitwatch_domain.errors import BadInput, BadRequest, NotFound, Unavailable
from flitwatch_domain.peer_answers import stream_answer
from flitwatch_ingest.schemas.avro import AvroFields, avro_schema

#: An id that was not found is requested again after this time.
ASK_AGAIN_S = 30.0
_TIMEOUT_S = 5.0
_MOST_BYTES = 8 << 20
#: An Avro record begins with a zero byte and the schema's id in four bytes.
_MAGIC = b"\0"
_PREFIX = 5


class Registry(Protocol):
    """A lookup of schema texts by id."""

    def text(self, schema_id: int) -> str:
        """Return the schema. Raise NotFound if the id is not in the registry. Raise Unavailable if the registry does not answer."""
        ...


class NoRegistry:
    """An empty registry: Avro records become dead letters."""

    def text(self, schema_id: int) -> str:
        raise NotFound(
            f"Avro schema {schema_id} is unknown: no schema registry is configured",
            advice="Start the writer with --registry.",
        )


class HttpRegistry:
    """A schema registry with Confluent's REST API (`GET /schemas/ids/{id}`)."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._client = httpx.Client(timeout=_TIMEOUT_S, follow_redirects=False)

    def text(self, schema_id: int) -> str:
        content = bytearray()
        try:
            with stream_answer(self._client, "GET", f"{self._url}/schemas/ids/{schema_id}", _TIMEOUT_S) as answer:
                if answer.status_code == 404:
                    raise NotFound(f"Avro schema {schema_id} is not in the registry")
                if answer.status_code != 200:
                    raise Unavailable(f"the schema registry answered {answer.status_code}")
                for piece in answer.iter_bytes():
                    content += piece
                    if len(content) > _MOST_BYTES:
                        raise Unavailable(f"the schema registry sent more than {_MOST_BYTES >> 20} MiB")
        except httpx.HTTPError as problem:
            raise Unavailable(f"the schema registry does not answer: {type(problem).__name__}") from None
        try:
            body = orjson.loads(content)
            text, kind = body["schema"], body.get("schemaType", "AVRO")
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            raise Unavailable("the answer does not come from a schema registry") from None
        if kind != "AVRO" or not isinstance(text, str):
            raise NotFound(f"schema {schema_id} of the registry is {kind}, not Avro")
        return text


class FileRegistry:
    """A JSON file {"schemas": {"1": "<schema text>", ...}}; reread when it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int] = (-1, -1)
        self._schemas: dict[str, str] = {}

    def text(self, schema_id: int) -> str:
        try:
            stat = self._path.stat()
            if (stat.st_mtime_ns, stat.st_size) != self._stamp:
                schemas = orjson.loads(self._path.read_bytes())["schemas"]
                self._schemas = {
                    str(key): value if isinstance(value, str) else orjson.dumps(value).decode()
                    for key, value in schemas.items()
                }
                self._stamp = (stat.st_mtime_ns, stat.st_size)
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as problem:
            raise Unavailable(f"the schema file {self._path} cannot be read: {problem}") from None
        if str(schema_id) not in self._schemas:
            raise NotFound(f"Avro schema {schema_id} is not in {self._path.name}")
        return self._schemas[str(schema_id)]


class Schemas:
    """Cache of compiled schemas; an unknown id is requested again after a while."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[int, AvroFields] = {}
        self._refused: dict[int, tuple[float, str]] = {}
        self._prepared: set[bytes] = set()

    def prepare(self, records: Iterable[bytes]) -> None:
        """Fetch the schemas of the Avro records in `records` before any is decoded. Raise Unavailable if the registry does not answer."""
        prefixes = {record[:_PREFIX] for record in records if record[:1] == _MAGIC}
        for prefix in prefixes - self._prepared:
            if len(prefix) < _PREFIX:
                continue
            try:
                self.fields(int.from_bytes(prefix[1:], "big"))
            except BadInput:
                continue
            self._prepared.add(prefix)

    def fields(self, schema_id: int) -> AvroFields:
        """Return the compiled schema of an id. Raise BadInput if the id is unknown, or its schema is not an LDMS schema. The message is the reason in
        the dead letter. Raise Unavailable if the registry does not answer."""
        cached = self._known.get(schema_id)
        if cached is not None:
            return cached
        asked_at, reason = self._refused.get(schema_id, (0.0, ""))
        if reason and time.monotonic() - asked_at < ASK_AGAIN_S:
            raise BadInput(reason)
        try:
            compiled = avro_schema(self._registry.text(schema_id))
        except (NotFound, BadInput) as problem:
            self._refused[schema_id] = (time.monotonic(), problem.message)
            raise BadInput(problem.message) from None
        self._known[schema_id] = compiled
        return compiled


def open_registry(where: str | None) -> Registry:
    """Return the registry at a URL or path; for None, an empty one."""
    if not where:
        return NoRegistry()
    parts = urlsplit(where)
    if parts.scheme in ("http", "https"):
        return HttpRegistry(where)
    if parts.scheme in ("", "file"):
        return FileRegistry(Path(parts.path if parts.scheme else where))
    raise BadRequest(f"{where!r} is not a schema registry", advice="Give an http(s) URL or the path of a JSON file.")
