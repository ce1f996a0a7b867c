"""A running `flitwatch collect prometheus`, and request bodies of senders."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import cramjam
import httpx
from support.waiting import eventually, free_port

from flitwatch_ingest.exporters import messages
from flitwatch_ingest.exporters.remote_write import V1, V2
from flitwatch_stream.backends import open_log

TOKEN = "0123456789abcdef"

#: (labels with __name__, [(value, Unix time in ms)])
Written = tuple[dict[str, str], Sequence[tuple[float, int]]]


class Collector:
    """The collector as a process of its own."""

    def __init__(self, log: str, folder: Path, *more: str) -> None:
        self.port, self._folder, self._process = free_port(), folder, None
        (folder / "token").write_text(TOKEN)
        (folder / "token").chmod(0o600)
        self._argv = [sys.executable, "-m", "flitwatch.main", "collect", "prometheus"]
        self._argv += ["--listen", f"127.0.0.1:{self.port}", "--log", log, "--token-file", str(folder / "token")]
        self._argv += ["--state", str(folder / "state.json"), *more]

    def start(self) -> Collector:
        with open(self._folder / "collector.log", "ab") as log:
            environment = os.environ | {"FLITWATCH_HOME": str(self._folder / "home")}
            self._process = subprocess.Popen(self._argv, stdout=log, stderr=log, env=environment)
        eventually(
            lambda: httpx.get(f"http://127.0.0.1:{self.port}/", timeout=1).status_code,
            what="the collector to answer",
            retry=(httpx.HTTPError,),
            process=self._process,
            detail=(self._folder / "collector.log").read_text,
        )
        return self

    @property
    def pid(self) -> int:
        """The process that runs."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def stop(self) -> int:
        """The exit status after a signal to stop."""
        assert self._process is not None
        self._process.terminate()
        status = self._process.wait(30)
        self._process = None
        return status

    def post(self, path: str, body: bytes, source: str | None = None, **headers: str) -> httpx.Response:
        """Send a body, from an address of this machine where `source` names one."""
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        with httpx.Client(transport=httpx.HTTPTransport(local_address=source)) as client:
            return client.post(
                f"http://127.0.0.1:{self.port}{path}",
                content=body,
                headers={"Authorization": f"Bearer {TOKEN}"} | named,
                timeout=60,
            )

    def write(self, series: Iterable[Written], proto: str = V1, source: str | None = None) -> httpx.Response:
        """Remote write."""
        body = first(series) if proto == V1 else second(series)
        return self.post(
            "/api/v1/write",
            bytes(cramjam.snappy.compress_raw(body)),
            source,
            Content_Type=f"application/x-protobuf;proto={proto}",
            Content_Encoding="snappy",
        )


def first(series: Iterable[Written]) -> bytes:
    """A body of remote write 1.0."""
    found = []
    for labels, samples in series:
        pairs = [messages.Label(name=name, value=value) for name, value in sorted(labels.items())]
        values = [messages.SampleMessage(value=value, timestamp=ms) for value, ms in samples]
        found.append(messages.TimeSeries(labels=pairs, samples=values).SerializeToString())
    return messages.WriteRequest(timeseries=found).SerializeToString()


def second(series: Iterable[Written]) -> bytes:
    """A body of remote write 2.0."""
    symbols: dict[str, int] = {"": 0}
    found = []
    for labels, samples in series:
        refs = [symbols.setdefault(text, len(symbols)) for pair in sorted(labels.items()) for text in pair]
        values = [messages.SampleMessage(value=value, timestamp=ms) for value, ms in samples]
        found.append(messages.TimeSeries2(labels_refs=refs, samples=values).SerializeToString())
    return messages.Request(symbols=list(symbols), timeseries=found).SerializeToString()


def logged(url: str) -> list[tuple[str, bytes, dict[str, bytes]]]:
    """Everything in a log: topic, value, headers."""
    with open_log(url) as log:
        names = [name for name in log.topics() if name.startswith(("ldms.", "flitwatch.rejected"))]
        wanted = sum(sum(log.end_offsets(name)) for name in names)
        out: list[tuple[str, bytes, dict[str, bytes]]] = []
        if wanted:
            with log.consumer(f"reader-{time.time_ns()}", topics=names) as consumer:
                while len(out) < wanted:
                    out += [(r.topic, r.value, dict(r.headers)) for r in consumer.poll(timeout_s=1.0)]
        return out


__all__ = ["TOKEN", "V1", "V2", "Collector", "Written", "first", "logged", "second"]
