"""Switches that speak gNMI, asked for OpenConfig's trees by Subscribe with mode ONCE.

Protocol: openconfig/reference, rpc/gnmi/gnmi-specification.md; messages by pygnmi, the public client library; user and password are metadata of each call.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from pathlib import Path as File

import grpc
import orjson
from pygnmi.spec.v080 import gnmi_pb2, gnmi_pb2_grpc

from flitwatch_domain.errors import BadInput, BadRequest, Unavailable
from flitwatch_domain.importers.lldp import Switch
from flitwatch_ingest.collectors.answers import BadAnswer
from flitwatch_ingest.sources import openconfig
from flitwatch_ingest.sources.ethernet import Reading
from flitwatch_ingest.sources.openconfig import Path

TIMEOUT_S = 30.0
#: A switch of 1,024 ports with 20 queues each is some 10 MB.
MOST_MESSAGE_BYTES = 64 << 20
_MOST_UPDATES = 2_000_000
_LOCAL = frozenset({"127.0.0.1", "[::1]", "localhost"})
_ENCODINGS = {"json_ietf": gnmi_pb2.JSON_IETF, "json": gnmi_pb2.JSON, "proto": gnmi_pb2.PROTO}
ENCODINGS = tuple(_ENCODINGS)
_ADVICE = {
    grpc.StatusCode.UNAUTHENTICATED: "Check --user and --password-file.",
    grpc.StatusCode.PERMISSION_DENIED: "The user may not read: give it a role that may.",
    grpc.StatusCode.UNIMPLEMENTED: "The switch has no OpenConfig by gNMI, or not this encoding: try another --encoding.",
    grpc.StatusCode.INVALID_ARGUMENT: "The switch does not know a path, or not this encoding: try another --encoding.",
    grpc.StatusCode.UNAVAILABLE: "Is this the address of the switch's gNMI, and its certificate in --ca-file?",
}


class GnmiSwitch:
    """A switch by gNMI.

    Parameters
    ----------
    target : str
        HOST:PORT.
    user, password : str, optional
    ca : Path, optional
        Certificates that are trusted beside none else (default: those of this system).
    plain : bool
        Without TLS.
    encoding : str
        One of `ENCODINGS`.

    Raises
    ------
    BadRequest
        The address is none, or would carry a password beyond this machine without TLS.
    """

    def __init__(
        self,
        target: str,
        user: str | None = None,
        password: str | None = None,
        ca: File | None = None,
        plain: bool = False,
        encoding: str = "json_ietf",
    ) -> None:
        host, _, port = target.rpartition(":")
        if not host or "/" in target or not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise BadRequest(f"{target!r} is not the address of a switch's gNMI", advice="Say HOST:PORT.")
        if plain and password and host not in _LOCAL:
            raise BadRequest(
                "without TLS anybody on the way can read the password", advice="Leave --insecure-network out."
            )
        self.place = target
        self._host = host
        self._plain = plain
        self._encoding = _ENCODINGS[encoding]
        self._trust = None if ca is None else ca.read_bytes()
        self._shown = tuple((key, text) for key, text in (("username", user), ("password", password)) if text)

    def describe(self) -> Switch:
        """As `Source`."""
        updates, _ = self._once(openconfig.TOPOLOGY_PATHS)
        return openconfig.switch_of(updates, self._host)

    def count(self) -> Reading:
        """As `Source`; the time is the latest that the switch says."""
        updates, at_s = self._once(openconfig.COUNTER_PATHS)
        return openconfig.reading_of(updates, at_s)

    def _once(self, paths: Sequence[str]) -> tuple[list[tuple[Path, object]], float]:
        wanted = gnmi_pb2.SubscriptionList(mode=gnmi_pb2.SubscriptionList.ONCE, encoding=self._encoding)
        for path in paths:
            wanted.subscription.add(path=_path_of(path))
        found: list[tuple[Path, object]] = []
        latest_ns = 0
        with self._channel() as channel:
            stub = gnmi_pb2_grpc.gNMIStub(channel)
            call = stub.Subscribe(
                _held(gnmi_pb2.SubscribeRequest(subscribe=wanted)), timeout=TIMEOUT_S, metadata=self._shown
            )
            try:
                for answer in call:
                    if answer.sync_response:
                        break
                    latest_ns = max(latest_ns, answer.update.timestamp)
                    found += self._updates(answer.update)
                    if len(found) > _MOST_UPDATES:
                        raise Unavailable(f"{self.place}: sends more than {_MOST_UPDATES:,} values")
            except grpc.RpcError as problem:
                raise self._away(problem) from None
            finally:
                call.cancel()
        now_s = time.time()
        # A switch whose clock is wrong, or that says none, counts by this host's.
        at_s = latest_ns / 1e9
        return found, at_s if abs(now_s - at_s) < TIMEOUT_S else now_s

    def _updates(self, notification: gnmi_pb2.Notification) -> Iterator[tuple[Path, object]]:
        prefix = _elements(notification.prefix)
        for update in notification.update:
            yield (*prefix, *_elements(update.path)), self._value(update.val)

    def _value(self, value: gnmi_pb2.TypedValue) -> object:
        kind = value.WhichOneof("value")
        if kind in ("json_val", "json_ietf_val"):
            body = getattr(value, kind)
            try:
                return orjson.loads(body)
            except orjson.JSONDecodeError as bad:
                raise BadAnswer(f"answers what is no JSON: {bad}", body=body[: 64 << 10], where=self.place) from None
        return None if kind is None else getattr(value, kind)

    def _channel(self) -> grpc.Channel:
        options = [("grpc.max_receive_message_length", MOST_MESSAGE_BYTES), ("grpc.enable_http_proxy", 0)]
        if self._plain:
            return grpc.insecure_channel(self.place, options)
        return grpc.secure_channel(self.place, grpc.ssl_channel_credentials(self._trust), options)

    def _away(self, problem: grpc.RpcError) -> Unavailable:
        code = problem.code() if isinstance(problem, grpc.Call) else None
        details = problem.details() if isinstance(problem, grpc.Call) else None
        text = " ".join(str(details or problem).split())[:300]
        return Unavailable(
            f"{self.place}: {text}", advice=_ADVICE.get(code, "Is this the address of the switch's gNMI?")
        )


def _held(request: gnmi_pb2.SubscribeRequest) -> Iterator[gnmi_pb2.SubscribeRequest]:
    """The one request of a stream."""
    return itertools.chain([request])


def _path_of(text: str) -> gnmi_pb2.Path:
    return gnmi_pb2.Path(elem=[gnmi_pb2.PathElem(name=name) for name in text.strip("/").split("/")])


def _elements(path: gnmi_pb2.Path) -> Path:
    return tuple((one.name.rpartition(":")[2], dict(one.key)) for one in path.elem)


def trusted(ca: File | None) -> File | None:
    """The file, once it is known that it can be read; BadInput otherwise."""
    if ca is not None and b"BEGIN CERTIFICATE" not in ca.read_bytes():
        raise BadInput("holds no certificates", where=str(ca))
    return ca
