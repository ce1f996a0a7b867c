"""Conversations with many devices at a time in one thread. Each device has one question in flight; its answer triggers the next one."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from flitwatch_domain.errors import Unavailable
from flitwatch_ingest.collectors.devices import Answer, Device, needs_narrow_counters
from flitwatch_ingest.sources import pma
from flitwatch_ingest.sources.perfquery import Counters

#: As in libibmad: three tries per question, with a timeout of one second each.
TIMEOUT_S, TRIES = 1.0, 3
#: Added to the adapter's own timeout, for adapters that do not report a timeout.
_GRACE_S = 0.5
#: After this long a question makes room for the next device, so that the dead devices of a subnet time out in parallel.
_PATIENCE_S = 0.2
_REDIRECTIONS = 3
SILENT = f"no answer to {TRIES} questions of {TIMEOUT_S:g} s"

#: A device's answer, or the reason why there is none.
Heard = pma.Reply | str
Conversation = Generator[pma.Question, Heard, Answer]


class Wire(Protocol):
    """Transport for datagrams: `umad.Port`."""

    def send(self, target: pma.Target, mad: bytes, timeout_s: float) -> str:
        """Return the reason why it cannot be sent; empty if it is."""

    def receive(self, timeout_s: float) -> tuple[bytes, bool] | None:
        """Return an answer with True, or a question that timed out with False. Return None after `timeout_s`."""


@dataclass
class _Asked:
    conversation: Conversation
    question: pma.Question
    target: pma.Target
    sent_at: float = 0.0
    tries: int = 0
    redirections: int = 0


class Conversations:
    """Poller of devices through `wire`, `parallel` of them at a time; with `lanes` also for the lanes of their ports.

    `without` contains pairs of a device's GUID and a lane attribute that the device lacks. New pairs are added.
    """

    def __init__(self, wire: Wire, parallel: int, lanes: bool, without: set[tuple[str, int]]) -> None:
        self._wire = wire
        self._parallel = parallel
        self._lanes = lanes
        self._without = without
        self._transactions = itertools.count(random.getrandbits(31))
        #: By transaction, oldest first.
        self._asked: dict[int, _Asked] = {}
        self._done: list[Answer] = []

    def read(self, devices: Iterable[Device]) -> Iterator[Answer]:
        """Yield each device's answer when it is complete. Values that a device reported before it fell silent are kept."""
        return self._run_conversations((device, self._read_counters(device)) for device in devices)

    def clear(self, devices: Iterable[Device]) -> Iterator[Answer]:
        """Set PortCounters of the devices' ports to 0."""
        return self._run_conversations((device, _clear_counters(device)) for device in devices)

    def _run_conversations(self, talks: Iterator[tuple[Device, Conversation]]) -> Iterator[Answer]:
        lost = ""
        waiting = True
        while waiting or self._asked:
            while waiting and (lost or self._has_space()):
                if talk := next(talks, None):
                    self._begin(*talk, lost)
                else:
                    waiting = False
            if self._asked:
                try:
                    self._receive_answer()
                except Unavailable as gone:
                    lost = gone.message
                    for pending in self._take_all():
                        self._abort_conversation(pending, lost)
            yield from self._done
            self._done.clear()

    def _has_space(self) -> bool:
        if len(self._asked) < self._parallel:
            return True
        since = time.monotonic() - _PATIENCE_S
        if next(iter(self._asked.values())).sent_at > since:
            return False
        young = itertools.takewhile(lambda asked: asked.sent_at > since, reversed(self._asked.values()))
        return sum(1 for _ in young) < self._parallel

    def _begin(self, device: Device, conversation: Conversation, lost: str) -> None:
        pending = _Asked(conversation, next(conversation), pma.Target(device.lid))
        if lost:
            self._abort_conversation(pending, lost)
        else:
            self._send_question(pending, self._next_transaction())

    def _receive_answer(self) -> None:
        heard = self._wire.receive(_PATIENCE_S)
        if heard is not None:
            mad, whole = heard
            transaction, answer = pma.parse_reply(mad)
            pending = self._asked.pop(transaction, None)
            # Ignore answers to questions that timed out or were never asked.
            if pending is not None and whole:
                self._handle_answer(pending, answer)
            elif pending is not None:
                self._retry_question(pending, transaction)
        late = time.monotonic() - TIMEOUT_S - _GRACE_S
        while self._asked:
            transaction, pending = next(iter(self._asked.items()))
            if pending.sent_at > late:
                break
            del self._asked[transaction]
            self._retry_question(pending, transaction)

    def _retry_question(self, asked: _Asked, transaction: int) -> None:
        if asked.tries < TRIES:
            self._send_question(asked, transaction)
        else:
            self._handle_answer(asked, SILENT)

    def _send_question(self, asked: _Asked, transaction: int) -> None:
        why = self._wire.send(asked.target, pma.build_datagram(asked.question, transaction), TIMEOUT_S)
        if why:
            self._handle_answer(asked, why)
            return
        asked.tries += 1
        asked.sent_at = time.monotonic()
        self._asked[transaction] = asked

    def _handle_answer(self, asked: _Asked, heard: Heard) -> None:
        """Continue the conversation."""
        if isinstance(heard, pma.Reply) and heard.status == pma.REDIRECT:
            target = pma.redirect_target(heard.attribute)
            if target and asked.redirections < _REDIRECTIONS:
                asked.target, asked.tries = target, 0
                asked.redirections += 1
                self._send_question(asked, self._next_transaction())
                return
            heard = "redirects in a loop" if target else "redirects to a GID, which is not supported"
        try:
            asked.question = asked.conversation.send(heard)
        except StopIteration as end:
            self._done.append(end.value)
            return
        asked.tries = asked.redirections = 0
        self._send_question(asked, self._next_transaction())

    def _abort_conversation(self, asked: _Asked, why: str) -> None:
        try:
            while True:
                asked.conversation.send(why)
        except StopIteration as end:
            self._done.append(end.value)

    def _take_all(self) -> list[_Asked]:
        pending = list(self._asked.values())
        self._asked.clear()
        return pending

    def _next_transaction(self) -> int:
        return next(self._transactions) & 0xFFFFFFFF

    def _read_counters(self, device: Device) -> Conversation:
        about = yield pma.Question(pma.CLASS_PORT_INFO, device.ports[0])
        if why := _refusal_reason(about):
            return Answer(device, time.time(), {}, {}, why, [])
        assert isinstance(about, pma.Reply)
        able = pma.parse_abilities(about.attribute)
        wide, why = yield from _read_ports(device, pma.PORT_COUNTERS_EXTENDED, able)
        narrow: dict[int, Counters] = {}
        if needs_narrow_counters(device, wide):
            narrow, why = yield from _read_ports(device, pma.PORT_COUNTERS, able)
        at_s = time.time()
        lanes = [] if why or not self._lanes else (yield from self._lanes_of(device, able))
        return Answer(device, at_s, wide, narrow, why, lanes)

    def _lanes_of(
        self, device: Device, able: pma.Abilities
    ) -> Generator[pma.Question, Heard, list[tuple[int, Counters]]]:
        lanes = []
        for attribute in pma.LANE_ATTRIBUTES:
            if (device.guid, attribute) in self._without:
                continue
            for port in device.ports:
                heard = yield pma.Question(attribute, port)
                if isinstance(heard, str):
                    break
                if not heard.status:
                    lanes.append((port, pma.parse_counters(attribute, heard.attribute, able)))
                elif port == device.ports[0]:
                    self._without.add((device.guid, attribute))
                    break
        return lanes


def _read_ports(
    device: Device, attribute: int, able: pma.Abilities
) -> Generator[pma.Question, Heard, tuple[dict[int, Counters], str]]:
    """Return counters by port up to the first unreadable port, as perfquery does, and the reason."""
    by_port: dict[int, Counters] = {}
    for port in device.ports:
        heard = yield pma.Question(attribute, port)
        if why := _refusal_reason(heard):
            return by_port, why
        assert isinstance(heard, pma.Reply)
        by_port[port] = pma.parse_counters(attribute, heard.attribute, able)
    return by_port, ""


def _clear_counters(device: Device) -> Conversation:
    about = yield pma.Question(pma.CLASS_PORT_INFO, device.ports[0])
    why = _refusal_reason(about)
    if isinstance(about, pma.Reply) and not why:
        mask = pma.clear_mask(pma.parse_abilities(about.attribute))
        for port in device.ports:
            why = why or _refusal_reason((yield pma.Question(pma.PORT_COUNTERS, port, pma.SET, mask)))
    return Answer(device, time.time(), {}, {}, why, [])


def _refusal_reason(heard: Heard) -> str:
    """Return the reason why this is not an answer; empty if it is one."""
    if isinstance(heard, str):
        return heard
    return f"refused with status 0x{heard.status:04x}" if heard.status else ""
