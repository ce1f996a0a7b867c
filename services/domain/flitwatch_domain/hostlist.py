"""Slurm host lists: `nid[00001-00003,00007],login1` and several brackets such as `r[1-2]n[01-04]`.

Widths are kept: `n[08-11]` is n08 n09 n10 n11. Source: Slurm's documentation of hostlist expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import product

from flitwatch_domain.errors import BadInput

#: Accounting's text for a job without nodes.
NO_NODES = frozenset({"", "none assigned", "none", "(null)", "unknown"})

#: The largest machine has 158,976 nodes; a larger range is a mistake or an attack, and would fill the tables.
MOST_HOSTS = 200_000
#: Maximum length of a DNS name; without it, a short text could expand to terabytes.
MOST_NAME = 255

#: Cache of the most recent short lists with their hosts, because each list of a job is read, checked and stored.
_KEPT: dict[str, tuple[str, ...]] = {}
_MOST_KEPT, _MOST_KEPT_HOSTS, _LONGEST_KEPT = 16_384, 32, 200

#: Characters that a text with only one name does not contain.
_SEVERAL = re.compile(r"[\[\],]")
#: A name with one range, the most common form of a list.
_ONE_RANGE = re.compile(r"([^\[\],\s]{0,200})\[([0-9]{1,18})-([0-9]{1,18})\]")
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")
#: Applied to the reversed name, which takes linear time; forwards every number in it would be tried.
_LAST_NUMBER = re.compile(r"([0-9]{1,18})")
#: A longer run of digits is treated as text.
_NUMBER = re.compile(r"(?<![0-9])([0-9]{1,18})(?![0-9])")
#: Maximum number of ranges in a name.
MOST_BRACKETS = 6


def expand_hosts(text: str, *, limit: int = MOST_HOSTS) -> list[str]:
    """Return all hosts of a host list, in the order written.

    Raise BadInput for an unbalanced bracket, a descending range, a name of more than
    `MOST_NAME` characters, or more than `limit` hosts.
    """
    if (kept := _KEPT.get(text)) is not None and len(kept) <= limit:
        return list(kept)
    hosts = _expand_text(text, limit)
    if len(hosts) <= _MOST_KEPT_HOSTS and len(text) <= _LONGEST_KEPT:
        if len(_KEPT) >= _MOST_KEPT:
            _KEPT.clear()
        _KEPT[text] = tuple(hosts)
    return hosts


@lru_cache(_MOST_KEPT)
def count_hosts(text: str) -> int:
    """Return the number of different hosts of a host list; raises as `expand_hosts`."""
    if (simple := _ONE_RANGE.fullmatch(text)) and 0 < int(simple[3]) - int(simple[2]) < MOST_HOSTS:
        return int(simple[3]) - int(simple[2]) + 1
    return len(set(expand_hosts(text)))


def _expand_text(text: str, limit: int) -> list[str]:
    if text.strip().lower() in NO_NODES:
        return []
    if not _SEVERAL.search(text) and len(text) <= MOST_NAME:
        return [text.strip()]
    if simple := _ONE_RANGE.fullmatch(text):
        name, first, last = simple.groups()
        numbers = range(int(first), int(last) + 1)
        if 0 < len(numbers) <= limit:
            return [f"{name}{number:0{len(first)}d}" for number in numbers]
    hosts: list[str] = []
    for item in _split_items(text):
        hosts.extend(_expand_item(item, text, limit - len(hosts)))
    return hosts


def compress_hosts(hosts: Iterable[str]) -> str:
    """Return one host list for `hosts`, without duplicates: the inverse of `expand_hosts` as a set.

    Numbers in a name become ranges, from the last to the first, if the rest of the names is equal: 2,048 blades of a Cray EX are
    `x[1000-1007]c[0-7]s[0-7]b[0-1]n[0-1]`. Slurm rejects text after the last bracket, so names that end in letters are listed individually.
    """
    families: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    plain: list[str] = []
    for host in sorted(set(hosts)):
        match = _LAST_NUMBER.match(host[::-1])
        if match is None:
            plain.append(host)
            continue
        end = len(host) - match.end()
        pieces = _NUMBER.split(host[:end])
        # In a name with more numbers, the part before the last ones is treated as text.
        extra = max(0, len(pieces) - 2 * MOST_BRACKETS + 1)
        pieces[: extra + 1] = ["".join(pieces[: extra + 1])]
        families.setdefault(tuple(pieces[0::2]), []).append((*pieces[1::2], host[end:]))
    return ",".join(plain + sorted(list_ for texts, rows in families.items() for list_ in _fold_family(texts, rows)))


def _fold_family(texts: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Format the names of one family (same text before each number) as host lists."""
    lists: list[tuple[str, ...]] = rows
    for at in range(len(texts) - 1, -1, -1):
        # A number as wide as others with leading zeros has the same form there: 10 with 08 and 09.
        widths = {len(row[at]) for row in lists if len(row[at]) > 1 and row[at][0] == "0"}
        alike: dict[tuple[int, tuple[str, ...]], list[str]] = {}
        for row in lists:
            width = len(row[at]) if len(row[at]) in widths else 0
            alike.setdefault((width, row[:at] + row[at + 1 :]), []).append(row[at])
        lists = [(*rest[:at], _format_ranges(numbers, width), *rest[at:]) for (width, rest), numbers in alike.items()]
    return [_format_host_list(texts, row) for row in lists]


def _format_ranges(numbers: list[str], width: int) -> str:
    """Format ascending numbers for a bracket."""
    if len(numbers) == 1:
        return numbers[0]
    ranges: list[list[int]] = []
    for number in sorted(map(int, numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in ranges)


def _format_host_list(texts: tuple[str, ...], row: tuple[str, ...]) -> str:
    """Format a host list with brackets around multiple numbers, and around the last number if it follows another bracket."""
    ranged = [not numbers.isdigit() for numbers in row]
    if any(ranged):
        ranged[-1] = True
    return "".join(
        f"{text}[{numbers}]" if bracket else f"{text}{numbers}"
        for text, numbers, bracket in zip(texts, row, ranged, strict=True)
    )


def _split_items(text: str) -> list[str]:
    """Split at commas and blanks outside brackets: no host's name has a blank."""
    items, depth, start = [], 0, 0
    for at, char in enumerate(text):
        if char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
        elif (char == "," or char.isspace()) and depth == 0:
            items.append(text[start:at])
            start = at + 1
        if depth not in (0, 1):
            raise BadInput(f"unbalanced bracket in host list {_shorten_text(text)} at character {at + 1}")
    if depth:
        raise BadInput(f"unbalanced bracket in host list {_shorten_text(text)}: one is never closed")
    items.append(text[start:])
    return [item.strip() for item in items if item.strip()]


def _expand_item(item: str, whole: str, limit: int) -> list[str]:
    pieces = re.split(r"\[([^\]]*)\]", item)
    choices: list[list[str]] = []
    count = 1
    for at, piece in enumerate(pieces):
        choices.append([piece] if at % 2 == 0 else _expand_numbers(piece, whole, limit))
        count *= len(choices[-1])
        if count > limit:
            raise BadInput(
                f"host list {_shorten_text(whole)} names too many hosts", advice=f"The limit is {MOST_HOSTS:,}."
            )
    if sum(max(map(len, choice)) for choice in choices) > MOST_NAME:
        raise BadInput(f"a name of host list {_shorten_text(whole)} is longer than {MOST_NAME} characters")
    return ["".join(parts) for parts in product(*choices)]


def _expand_numbers(inside: str, whole: str, limit: int) -> list[str]:
    numbers: list[str] = []
    for part in inside.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None or len(part) > 40:
            raise BadInput(f"{part[:40]!r} is not a number or range in host list {_shorten_text(whole)}")
        first, last = match.group(1), match.group(2) or match.group(1)
        if int(last) < int(first):
            raise BadInput(f"range {part} runs backwards in host list {_shorten_text(whole)}")
        if int(last) - int(first) >= limit - len(numbers):
            raise BadInput(
                f"host list {_shorten_text(whole)} names too many hosts", advice=f"The limit is {MOST_HOSTS:,}."
            )
        numbers.extend(f"{n:0{len(first)}d}" for n in range(int(first), int(last) + 1))
    return numbers


def _shorten_text(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
