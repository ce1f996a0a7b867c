"""The daemon's loop: it takes finished slices from the capture, publishes them, and receives contexts."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import orjson
from numpy.typing import NDArray

from flitwatch_core import packet_path
from flitwatch_domain.errors import BadInput, Unavailable
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.sampler.contexts import Context, Contexts, parse_declaration
from flitwatch_ingest.sampler.plan import SamplerPlan
from flitwatch_stream import topics

#: Delay between a slice's end and its reading, for packets that the capture has not read yet.
GRACE_S = 0.5
#: Sequences are reserved in blocks, so that no number is reused after a crash.
BLOCK = 1000
_MOST_DECLARATION = 64 * 1024
_SUMS = ("traffic", "traffic_variance", "congested", "congested_variance")


class SampleRecord(TypedDict):
    """A record of packet samples (docs/contracts/log.md): a context's sums in a slice by link, and packet counts by outcome.

    `start` is in epoch seconds. Samples are scaled to all packets, with the variance of the estimate.
    """

    fabric: str
    host: str
    job: str | None
    tag: str | None
    phase: str | None
    start: float
    variant: str
    longest_path: int
    link: list[int]
    tested: NDArray[np.float64]
    tested_bytes: NDArray[np.float64]
    traffic: NDArray[np.float64]
    traffic_variance: NDArray[np.float64]
    congested: NDArray[np.float64]
    congested_variance: NDArray[np.float64]
    packets: dict[str, int]
    simulated: bool


class Sampler:
    """Capture on an interface, with publication of its slices.

    Parameters
    ----------
    checkpoint : Checkpoint
        Stores the sequence. Unpublished sums are lost if the process dies.
    interface, network_namespace : str
        Interface where packets arrive; path of its namespace, or empty for the process's own.
    slice_s : float
        Length of a slice in whole seconds.
    control : Path, optional
        A Unix datagram socket for declarations.
    say : callable, optional
        Called with messages for the operator.

    Raises
    ------
    Unavailable
        The interface cannot be read.
    """

    def __init__(
        self,
        plan: SamplerPlan,
        publisher: Publisher,
        checkpoint: Checkpoint,
        *,
        interface: str,
        network_namespace: str = "",
        slice_s: int = 10,
        control: Path | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.contexts = Contexts()
        self.packets: Counter[str] = Counter()
        self._plan, self._publisher, self._checkpoint, self._say = plan, publisher, checkpoint, say
        self._slice_s = slice_s
        self._source = f"sampler:{plan.fabric}:{plan.host}"
        self._sequence = self._reserved = int(checkpoint.value.get("sequence", 0))
        self._overruns = 0
        self._said_slice = -1
        self._unsaid: Counter[str] = Counter()
        try:
            self._capture = packet_path.Capture(plan.spec(interface, network_namespace, slice_s))
        except RuntimeError as refused:
            raise Unavailable(
                f"packets cannot be captured: {refused}",
                advice="Name an interface of this host (--interface) and run with CAP_NET_RAW.",
            ) from None
        self._control_path = control
        self._control = _open_control_socket(control) if control is not None else None

    def run(self, stop: threading.Event) -> None:
        """Capture and publish until `stop` is set; then publish the remaining sums."""
        thread = threading.Thread(target=self._capture.run, name="capture", daemon=True)
        thread.start()
        try:
            while not stop.is_set():
                self._publisher.heartbeat.beat()
                self._receive_declaration(0.1)
                self.publish(int((time.time() - GRACE_S) // self._slice_s))
        finally:
            self._capture.stop()
            thread.join()
            self._let_go_control()
        self.publish(None)

    def publish(self, before_slice: int | None) -> None:
        """Publish the slices before a number (None: all slices)."""
        slices = self._capture.take(2**62 if before_slice is None else before_slice)
        if not slices and before_slice is not None and not self._is_due(before_slice):
            return
        by_context: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
        for part in slices:
            by_context[part["slice"], part["context"]].append(part)
        outcomes = self._collect_outcomes()
        records = [self._build_record(key[0], self.contexts.of(key[1]), parts) for key, parts in by_context.items()]
        if outcomes:
            if not records:
                here = int(time.time() // self._slice_s)
                records.append(self._build_record(here, Context(None, None, None), []))
            records[0]["packets"] = outcomes
        for record in records:
            self._publisher.publish(
                topics.SAMPLES,
                orjson.dumps(record, option=orjson.OPT_SERIALIZE_NUMPY),
                self._source,
                self._next_sequence(),
            )
        if records:
            self._publisher.flush()

    def _is_due(self, before_slice: int) -> bool:
        """Return whether outcomes are due. They are reported once per slice, even if nothing was decoded."""
        due = before_slice > self._said_slice
        self._said_slice = before_slice
        return due

    def _collect_outcomes(self) -> dict[str, int]:
        outcomes = {outcome: count for outcome, count in self._capture.outcomes().items() if count}
        overruns = self._capture.overruns()
        if overruns > self._overruns:
            outcomes["overrun"] = overruns - self._overruns
            self._overruns = overruns
        outcomes |= {outcome: count for outcome, count in self._unsaid.items() if count}
        self._unsaid.clear()
        self.packets.update(outcomes)
        return outcomes

    def _build_record(self, slice_number: int, context: Context, parts: list[dict[str, Any]]) -> SampleRecord:
        scale = self._plan.downsampling
        sums: dict[int, list[float]] = {}
        for part in parts:
            links = self._plan.sources[part["set"]].links
            columns = np.stack([part[name] for name in _SUMS])
            for place, link in enumerate(links):
                entry = sums.setdefault(link, [0.0] * 6)
                entry[0] += part["packets"]
                entry[1] += part["bytes"]
                for column in range(4):
                    entry[2 + column] += float(columns[column, place])
        link = sorted(sums)
        table = np.array([sums[entry] for entry in link]).reshape(len(link), 6)
        tested, tested_bytes, traffic, spread, congested, congested_spread = table.T
        return {
            "fabric": self._plan.fabric,
            "host": self._plan.host,
            "job": context.job,
            "tag": context.tag,
            "phase": context.phase,
            "start": slice_number * self._slice_s,
            "variant": self._plan.variant,
            "longest_path": max((part["longest_path"] for part in parts), default=1),
            "link": link,
            "tested": tested * scale,
            "tested_bytes": tested_bytes * scale,
            "traffic": traffic * scale,
            "traffic_variance": _scale_variance(spread, traffic, scale),
            "congested": congested * scale,
            "congested_variance": _scale_variance(congested_spread, congested, scale),
            "packets": {},
            "simulated": self._plan.simulated,
        }

    def _next_sequence(self) -> int:
        if self._sequence >= self._reserved:
            self._reserved = self._sequence + BLOCK
            self._checkpoint.value["sequence"] = self._reserved
            self._checkpoint.save()
        self._sequence += 1
        return self._sequence

    # --- contexts ----------------------------------------------------------------------------------------------------

    def _receive_declaration(self, timeout_s: float) -> None:
        if self._control is None:
            time.sleep(timeout_s)
            return
        self._control.settimeout(timeout_s)
        with contextlib.suppress(TimeoutError):
            data = self._control.recv(_MOST_DECLARATION)
            try:
                self.contexts.declare(parse_declaration(data))
            except BadInput as bad:
                self._unsaid["bad_declaration"] += 1
                self._say(f"a declaration was rejected: {bad}")
                return
            self._capture.set_contexts(*self.contexts.table())

    def _let_go_control(self) -> None:
        if self._control is not None and self._control_path is not None:
            self._control.close()
            self._control_path.unlink(missing_ok=True)


def _scale_variance(variance: Any, estimate: Any, downsampling: int) -> Any:
    """Return the variance of an estimate from one packet in D, scaled by D: D^2 V + N (D - 1), where N is the count over all packets."""
    return downsampling**2 * variance + np.maximum(estimate * downsampling, 0.0) * (downsampling - 1)


def _open_control_socket(path: Path) -> socket.socket:
    """Return a datagram socket for the owner and the group."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_socket():
        path.unlink()
    control = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    mask = os.umask(0o117)
    try:
        control.bind(str(path))
    except OSError as problem:
        control.close()
        raise Unavailable(f"the control socket {path} cannot be created: {problem.strerror}") from None
    finally:
        os.umask(mask)
    return control
