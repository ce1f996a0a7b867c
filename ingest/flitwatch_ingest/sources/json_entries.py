"""Stream of objects in a long JSON text: a list, the list `jobs` of an object, or concatenated objects."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any

from flitwatch_domain.errors import BadInput
from flitwatch_ingest.sources.rejection import Rejection

_BLOCK = 1 << 20
#: Limit of a single entry.
_LONGEST_ENTRY = 1 << 24
#: Bytes kept of unreadable input.
_KEPT = 1 << 16
_LIST = re.compile(r'\s*(?:\{\s*"jobs"\s*:\s*)?\[')
_BETWEEN = re.compile(r"[\s,]*")


def stream_entries(source: IO[bytes], where: str) -> Iterator[tuple[str, Any] | Rejection]:
    """Yield each entry with its place. Memory use is one entry and one block. From a truncated text, complete entries are read. Raise BadInput if the
    text does not begin as JSON; raised at once."""
    text = _Text(source)
    begin = _LIST.match(text.ahead)
    if begin is not None:
        text.at = begin.end()
    elif text.ahead.lstrip()[:1] != "{":
        raise BadInput("is not JSON", where=where)
    return _iterate_entries(text, where, in_list=begin is not None)


def _iterate_entries(text: _Text, where: str, in_list: bool) -> Iterator[tuple[str, Any] | Rejection]:
    decoder = json.JSONDecoder()
    number = 0
    while True:
        text.skip_between()
        if text.at == len(text.ahead):
            if in_list:
                last = f"behind jobs[{number - 1}]" if number else "jobs"
                yield Rejection(f"{where}: {last}", "the list does not end: the file is incomplete")
            return
        if in_list and text.ahead[text.at] == "]":
            return
        place = f"{where}: jobs[{number}]"
        try:
            entry, end = decoder.raw_decode(text.ahead, text.at)
        except (ValueError, RecursionError) as broken:
            if len(text.ahead) - text.at < _LONGEST_ENTRY and text.more():
                continue
            reason = f"is not JSON: {broken}" if isinstance(broken, ValueError) else "is nested too deep"
            yield Rejection(place, f"{reason[:200]}; the rest is not read", text.ahead[text.at :][:_KEPT].encode())
            return
        text.at = end
        yield place, entry
        number += 1


class _Text:
    """A file's text, read in blocks: `ahead` is the buffer, already processed before `at`."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._over = False
        self.ahead, self.at = "", 0
        self.more()

    def more(self) -> bool:
        """Read a block. Return whether there was one."""
        if self._over:
            return False
        block = self._source.read(_BLOCK)
        self._over = not block
        self.ahead, self.at = self.ahead[self.at :] + self._decoder.decode(block, final=self._over), 0
        return not self._over

    def skip_between(self) -> None:
        """Skip white space and commas."""
        while True:
            blank = _BETWEEN.match(self.ahead, self.at)
            self.at = blank.end() if blank else self.at
            if self.at < len(self.ahead) or not self.more():
                return
