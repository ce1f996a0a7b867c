"""Switches with a gNMI server, polled for OpenConfig's trees (Subscribe, mode ONCE) or for SONiC's databases (mode POLL).

Protocol: openconfig/reference, rpc/gnmi/gnmi-specification.md; messages by pygnmi, the public client library; user and password are metadata of each
call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path as File
from typing import Protocol

import grpc
import orjson
from pygnmi.spec.v080 import gnmi_pb2, gnmi_pb2_grpc

from flitwatch_domain import units
from flitwatch_domain.errors import BadInput, BadRequest, Unavailable
from flitwatch_domain.importers import sonic as tables_of_sonic
from flitwatch_domain.importers.lldp import Switch
from flitwatch_ingest.collectors.answers import BadAnswer
from flitwatch_ingest.collectors.ethernet import PolledSwitch
from flitwatch_ingest.sources import openconfig, sonic_gnmi
from flitwatch_ingest.sources.ethernet import Reading
from flitwatch_ingest.sources.openconfig import Path

TIMEOUT_S = 30.0
#: A switch of 1,024 ports with 20 queues each has about 10 MB.
MOST_MESSAGE_BYTES = 64 << 20
MOST_UPDATES = 2_000_000
_LOCAL = frozenset({"127.0.0.1", "[::1]", "localhost"})
_ENCODINGS = {"json_ietf": gnmi_pb2.JSON_IETF, "json": gnmi_pb2.JSON, "proto": gnmi_pb2.PROTO}
_ADVICE = {
    grpc.StatusCode.UNAUTHENTICATED: "Check --user and --password-file.",
    grpc.StatusCode.PERMISSION_DENIED: "The user has no read access. Assign a role with read access.",
    grpc.StatusCode.UNIMPLEMENTED: "The switch does not support these trees or this encoding. Try another --trees or --encoding.",
    grpc.StatusCode.INVALID_ARGUMENT: "The switch does not support a path or this encoding. Try another --trees or --encoding.",
    grpc.StatusCode.NOT_FOUND: "The switch does not have these trees. Try another --trees.",
    grpc.StatusCode.UNAVAILABLE: "Check the address of the switch's gNMI server, and its certificate in --ca-file.",
}


class MissingTree(Unavailable):
    """The switch answers but lacks the requested tree."""


class Trees(Protocol):
    """Requests for the trees of a switch, and the interpretation of the answers."""

    def describe(self, ask: Ask, name: str) -> Switch:
        """Return the switch and its neighbours; `name` is used if the switch reports no name."""

    def count(self, ask: Ask, reading: Reading) -> None:
        """Add all counters to a reading."""

    def streams(self, ask: Ask) -> tuple[Request, Request]:
        """Return the subscriptions for counters and for changes of neighbours."""

    def take(self, reading: Reading, updates: Sequence[Update]) -> None:
        """Add a message of the counters' stream to a reading."""

    def matters(self, path: Path) -> bool:
        """Return whether a change at this path is a change of neighbours."""


@dataclass(frozen=True)
class Request:
    """Paths of one subscription, the target of their prefix, and whether the server supports ONCE (else it is polled)."""

    paths: tuple[str, ...]
    target: str = ""
    once: bool = True


Update = tuple[Path, object]
#: Sends a request, and returns the updates up to the end of the first answer.
Ask = Callable[[Request], list[Update]]


class OpenConfig:
    """OpenConfig's trees."""

    def describe(self, ask: Ask, name: str) -> Switch:
        return openconfig.switch_of(ask(Request(openconfig.TOPOLOGY_PATHS)), name)

    def count(self, ask: Ask, reading: Reading) -> None:
        self.take(reading, ask(Request(openconfig.COUNTER_PATHS)))

    def streams(self, ask: Ask) -> tuple[Request, Request]:
        return Request(openconfig.COUNTER_PATHS), Request(openconfig.TOPOLOGY_PATHS[:1])

    def take(self, reading: Reading, updates: Sequence[Update]) -> None:
        openconfig.add_counters(reading, updates)

    def matters(self, path: Path) -> bool:
        """See `Trees`: ages and counters of LLDP change all the time."""
        names = {name for name, _ in path}
        return "neighbors" in names and not names & {"age", "last-update", "ttl", "counters"}


class Sonic:
    """SONiC's databases; its server does not support ONCE, so it is polled."""

    def __init__(self) -> None:
        self._names: sonic_gnmi.Names | None = None

    def describe(self, ask: Ask, name: str) -> Switch:
        updates = ask(self._stream_request(sonic_gnmi.PORT_TABLE_PATHS, sonic_gnmi.APPL_DB))
        updates += ask(self._stream_request(sonic_gnmi.NAME_PATHS, sonic_gnmi.CONFIG_DB))
        with suppress(MissingTree):  # a switch without cables has no such table
            updates += ask(self._stream_request(sonic_gnmi.NEIGHBOUR_PATHS, sonic_gnmi.APPL_DB))
        return tables_of_sonic.switch_of(sonic_gnmi.updates_to_tables(updates), name)

    def count(self, ask: Ask, reading: Reading) -> None:
        request = self.streams(ask)[0]
        sonic_gnmi.add_counters(reading, ask(request), self._load_names(ask))

    def streams(self, ask: Ask) -> tuple[Request, Request]:
        """See `Trees`; the names of ports and queues are requested again."""
        updates = ask(self._stream_request(sonic_gnmi.PORT_TABLE_PATHS, sonic_gnmi.APPL_DB))
        updates += ask(self._stream_request(sonic_gnmi.MAP_PATHS, sonic_gnmi.COUNTERS_DB))
        self._names = sonic_gnmi.names_of(sonic_gnmi.updates_to_tables(updates))
        return (
            self._stream_request((sonic_gnmi.PORT_PATH, sonic_gnmi.QUEUE_PATH), sonic_gnmi.COUNTERS_DB),
            self._stream_request(sonic_gnmi.NEIGHBOUR_PATHS, sonic_gnmi.APPL_DB),
        )

    def take(self, reading: Reading, updates: Sequence[Update]) -> None:
        sonic_gnmi.add_counters(reading, updates, self._names or sonic_gnmi.Names())

    def matters(self, path: Path) -> bool:
        return True

    def _load_names(self, ask: Ask) -> sonic_gnmi.Names:
        if self._names is None:
            self.streams(ask)
        return self._names or sonic_gnmi.Names()

    @staticmethod
    def _stream_request(paths: Sequence[str], target: str) -> Request:
        return Request(tuple(paths), target, once=False)


#: By the name of `--trees`.
TREES: dict[str, Callable[[], Trees]] = {"openconfig": OpenConfig, "sonic": Sonic}


class GnmiSwitch(PolledSwitch):
    """A switch polled over gNMI.

    Parameters
    ----------
    target : str
        HOST:PORT.
    ca : Path, optional
        The only trusted certificates (default: those of this system).
    plain : bool
        Without TLS.
    encoding : str
        json_ietf, json or proto.
    trees : Trees, optional
        The requested trees (default: `OpenConfig`).

    Raises
    ------
    BadRequest
        The address is invalid, or would send a password to another machine without TLS.
    """

    def __init__(
        self,
        target: str,
        user: str | None = None,
        password: str | None = None,
        ca: File | None = None,
        plain: bool = False,
        encoding: str = "json_ietf",
        trees: Trees | None = None,
    ) -> None:
        host, _, port = target.rpartition(":")
        if not host or "/" in target or units.parse_whole(port, least=1, most=(1 << 16) - 1) is None:
            raise BadRequest(f"{target!r} is not the address of a gNMI server", advice="Write HOST:PORT.")
        if plain and password and host not in _LOCAL:
            raise BadRequest(
                "without TLS, others on the network can read the password", advice="Leave --insecure-network out."
            )
        self.place = target
        self.trees = trees or OpenConfig()
        self._host = host
        self._plain = plain
        self._encoding = _ENCODINGS[encoding]
        self._trust = None if ca is None else ca.read_bytes()
        self._shown = tuple((key, text) for key, text in (("username", user), ("password", password)) if text)

    def describe(self) -> Switch:
        return self.trees.describe(lambda request: self.ask(request)[0], self._host)

    def count(self) -> list[Reading]:
        """See `Source`; the time is the latest timestamp from the switch."""
        latest_s = 0.0

        def ask(request: Request) -> list[Update]:
            nonlocal latest_s
            updates, at_s = self.ask(request)
            latest_s = max(latest_s, at_s)
            return updates

        reading = Reading(0.0)
        self.trees.count(ask, reading)
        reading.at_s = latest_s
        return [reading]

    def ask(self, request: Request) -> tuple[list[Update], float]:
        """Return the updates up to the end of the first answer, and the switch's timestamp for them. Raise Unavailable or BadAnswer."""
        subscription = self._build_subscription(
            request, gnmi_pb2.SubscriptionList.ONCE if request.once else gnmi_pb2.SubscriptionList.POLL
        )
        updates: list[Update] = []
        at_s = time.time()
        with self.subscribed(subscription, TIMEOUT_S) as answers:
            for answer in answers:
                if answer.sync_response:
                    return updates, at_s
                at_s = self.time_of(answer.update)
                updates += self.updates(answer.update)
                if len(updates) > MOST_UPDATES:
                    raise Unavailable(f"{self.place}: sends more than {MOST_UPDATES:,} values")
        return updates, at_s

    def streaming(self, request: Request, every_s: float | None) -> gnmi_pb2.SubscriptionList:
        """Return a streaming subscription: samples every `every_s` seconds, or changes only if it is None."""
        subscription = self._build_subscription(request, gnmi_pb2.SubscriptionList.STREAM)
        for entry in subscription.subscription:
            entry.mode = gnmi_pb2.ON_CHANGE if every_s is None else gnmi_pb2.SAMPLE
            entry.sample_interval = 0 if every_s is None else int(every_s * 1e9)
        return subscription

    @contextmanager
    def subscribed(
        self,
        wanted: gnmi_pb2.SubscriptionList,
        timeout_s: float | None,
        begun: Callable[[grpc.Call], None] | None = None,
    ) -> Iterator[Iterator[gnmi_pb2.SubscribeResponse]]:
        """Yield the answers to a subscription; `begun` is passed the call, which another thread may cancel. Raise Unavailable."""
        ended = threading.Event()

        def requests() -> Iterator[gnmi_pb2.SubscribeRequest]:
            # Ending the requests would end the poll.
            yield gnmi_pb2.SubscribeRequest(subscribe=wanted)
            ended.wait()

        with self._open_channel() as channel:
            call = gnmi_pb2_grpc.gNMIStub(channel).Subscribe(requests(), timeout=timeout_s, metadata=self._shown)
            if begun is not None:
                begun(call)
            try:
                yield call
            except grpc.RpcError as problem:
                raise self._to_unavailable(problem) from None
            finally:
                ended.set()
                call.cancel()

    def time_of(self, notification: gnmi_pb2.Notification) -> float:
        """Return the switch's time, or this host's time if the switch's clock is wrong or missing."""
        now_s = time.time()
        at_s = notification.timestamp / 1e9
        return at_s if abs(now_s - at_s) < TIMEOUT_S else now_s

    def _build_subscription(self, request: Request, mode: int) -> gnmi_pb2.SubscriptionList:
        subscription = gnmi_pb2.SubscriptionList(mode=mode, encoding=self._encoding)
        if request.target:
            subscription.prefix.target = request.target
        for path in request.paths:
            subscription.subscription.add(path=_path_of(path))
        return subscription

    def updates(self, notification: gnmi_pb2.Notification) -> Iterator[Update]:
        """Yield paths and values; raise BadAnswer for invalid JSON."""
        prefix = _elements_of(notification.prefix)
        for update in notification.update:
            yield (*prefix, *_elements_of(update.path)), self._decode_value(update.val)

    def deleted(self, notification: gnmi_pb2.Notification) -> list[Path]:
        prefix = _elements_of(notification.prefix)
        return [(*prefix, *_elements_of(path)) for path in notification.delete]

    def _decode_value(self, value: gnmi_pb2.TypedValue) -> object:
        kind = value.WhichOneof("value")
        if kind in ("json_val", "json_ietf_val"):
            body = getattr(value, kind)
            try:
                return orjson.loads(body)
            except orjson.JSONDecodeError as bad:
                raise BadAnswer(f"returns invalid JSON: {bad}", body=body[: 64 << 10], where=self.place) from None
        return None if kind is None else getattr(value, kind)

    def _open_channel(self) -> grpc.Channel:
        options = [("grpc.max_receive_message_length", MOST_MESSAGE_BYTES), ("grpc.enable_http_proxy", 0)]
        if self._plain:
            return grpc.insecure_channel(self.place, options)
        return grpc.secure_channel(self.place, grpc.ssl_channel_credentials(self._trust), options)

    def _to_unavailable(self, problem: grpc.RpcError) -> Unavailable:
        code = problem.code() if isinstance(problem, grpc.Call) else None
        details = problem.details() if isinstance(problem, grpc.Call) else None
        text = " ".join(str(details or problem).split())[:300]
        kind = MissingTree if code is grpc.StatusCode.NOT_FOUND else Unavailable
        return kind(f"{self.place}: {text}", advice=_ADVICE.get(code, "Check the address of the switch's gNMI server."))


def _path_of(text: str) -> gnmi_pb2.Path:
    return gnmi_pb2.Path(elem=[gnmi_pb2.PathElem(name=name) for name in text.strip("/").split("/")])


def _elements_of(path: gnmi_pb2.Path) -> Path:
    return tuple((element.name.rpartition(":")[2], dict(element.key)) for element in path.elem)


def check_ca_file(ca: File | None) -> File | None:
    """Return the file if it can be read; raise BadInput otherwise."""
    if ca is not None and b"BEGIN CERTIFICATE" not in ca.read_bytes():
        raise BadInput("contains no certificates", where=str(ca))
    return ca
