"""Limits for senders, and the refusal for requests that exceed one."""

from __future__ import annotations

from flitwatch_domain.shares import Shares

#: Limit of a body, compressed or not. Prometheus sends 2,000 samples at a time, which are less than 1 MB.
MOST_BYTES = 8 << 20
MOST_SERIES = 50_000
#: As many samples of time and value as fit into MOST_BYTES; an empty one takes two bytes.
MOST_SAMPLES = 500_000
MOST_LABELS = 64
MOST_LABEL_BYTES = 2048

NAME = "__name__"

Labels = tuple[tuple[str, str], ...]


class Refused(Exception):
    """A refused request.

    Attributes
    ----------
    status : int     HTTP status
    reason : str     one word, the key for counting refusals
    """

    def __init__(self, status: int, reason: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.reason = reason


def check_label_count(count: int) -> None:
    """Raise Refused, before labels are read, if a series has too many."""
    if count > MOST_LABELS:
        raise Refused(400, "too_many_labels", f"a series has {count} labels, at most {MOST_LABELS}")


def labels_of(pairs: list[tuple[str, str]]) -> tuple[str, Labels]:
    """Return a metric's name and its sorted labels. Raise Refused if the name is missing, a label is repeated or unnamed, or labels exceed the
    limits."""
    check_label_count(len(pairs))
    if any(len(text.encode("utf-8", "replace")) > MOST_LABEL_BYTES for pair in pairs for text in pair):
        raise Refused(400, "long_label", f"a label has more than {MOST_LABEL_BYTES} bytes")
    if any("\0" in text for pair in pairs for text in pair):
        raise Refused(400, "malformed", "a label contains NUL")
    labels = dict(pairs)
    if "" in labels:
        raise Refused(400, "malformed", "a label has no name")
    name = labels.pop(NAME, "")
    if not name or len(labels) + 1 != len(pairs):
        raise Refused(400, "malformed", "a series has no name, or a label twice")
    return name, tuple(sorted(labels.items()))


class HeldBody:
    """Received part of a body; a slow sender occupies only the bytes received so far.

    Attributes
    ----------
    bytes : int    taken from `shares`, to be returned
    """

    def __init__(self, shares: Shares, sender: str) -> None:
        self._shares, self._sender, self.bytes = shares, sender, 0

    def add(self, count: int) -> None:
        """Count `count` more bytes received. Raise Refused if the body is too long, or the sender's share is exhausted."""
        if self.bytes + count > MOST_BYTES:
            raise Refused(413, "too_large", f"the body has more than {MOST_BYTES} bytes")
        if not self._shares.take(self._sender, count):
            raise Refused(503, "busy", "too many bodies are being read. Send the request again")
        self.bytes += count
