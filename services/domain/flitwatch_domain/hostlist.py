"""Slurm host lists: `nid[00001-00003,00007],login1` and several brackets such as `r[1-2]n[01-04]`.

Widths are kept: `n[08-11]` is n08 n09 n10 n11. Source: Slurm's documentation of hostlist expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product

from flitwatch_domain.errors import BadInput

#: What accounting prints where no node was given to a job.
NO_NODES = frozenset({"", "none assigned", "none", "(null)", "unknown"})

#: The largest machine has 158,976 nodes; a range beyond this is a slip or an attack, and would fill the tables.
MOST_HOSTS = 200_000
#: A name in the DNS is no longer; without a limit, a short text could name terabytes.
MOST_NAME = 255

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
#: Of a name read backwards, which takes as long as the name; forwards every number in it would be tried.
_LAST_NUMBER = re.compile(r"(\d{1,18})")


def expand(text: str, *, limit: int = MOST_HOSTS) -> list[str]:
    """Every host of a host list, in the order written.

    Raises BadInput for an unbalanced bracket, a range that runs backwards, a name of more than
    `MOST_NAME` characters, or more than `limit` hosts.
    """
    if text.strip().lower() in NO_NODES:
        return []
    hosts: list[str] = []
    for item in _split(text):
        hosts.extend(_expand_item(item, text, limit - len(hosts)))
    return hosts


def compress(hosts: Iterable[str]) -> str:
    """One host list for `hosts`, sorted and without repeats: the inverse of `expand` as a set.

    The number that ends a name is ranged; names of one prefix and width share a bracket. Slurm refuses text behind a bracket, so names that end
    otherwise are written out.
    """
    families: dict[tuple[str, int], list[int]] = {}
    plain: list[str] = []
    for host in sorted(set(hosts)):
        match = _LAST_NUMBER.match(host[::-1])
        if match is None:
            plain.append(host)
            continue
        prefix, digits = host[: -match.end()], match.group(1)[::-1]
        # A number without leading zeros has no fixed width: n9, n10 belong together.
        width = len(digits) if digits.startswith("0") and len(digits) > 1 else 0
        families.setdefault((prefix, width), []).append(int(digits))
    _adopt_full_width(families)
    parts = [_bracket(prefix, width, sorted(set(numbers))) for (prefix, width), numbers in families.items()]
    return ",".join(sorted(plain) + sorted(parts))


def _adopt_full_width(families: dict[tuple[str, int], list[int]]) -> None:
    """Let 10 join 08 and 09: a number that fills a family's width prints the same there."""
    for (prefix, width), numbers in list(families.items()):
        loose = families.get((prefix, 0))
        if width == 0 or loose is None:
            continue
        numbers.extend(n for n in loose if len(str(n)) == width)
        loose[:] = [n for n in loose if len(str(n)) != width]
        if not loose:
            del families[prefix, 0]


def _bracket(prefix: str, width: int, numbers: list[int]) -> str:
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = [f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in ranges]
    inside = ",".join(texts)
    return f"{prefix}{inside}" if len(numbers) == 1 else f"{prefix}[{inside}]"


def _split(text: str) -> list[str]:
    """Cut at commas outside brackets."""
    items, depth, start = [], 0, 0
    for at, char in enumerate(text):
        if char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
        elif char == "," and depth == 0:
            items.append(text[start:at])
            start = at + 1
        if depth not in (0, 1):
            raise BadInput(f"unbalanced bracket in host list {_short(text)} at character {at + 1}")
    if depth:
        raise BadInput(f"unbalanced bracket in host list {_short(text)}: one is never closed")
    items.append(text[start:])
    return [item.strip() for item in items if item.strip()]


def _expand_item(item: str, whole: str, limit: int) -> list[str]:
    pieces = re.split(r"\[([^\]]*)\]", item)
    choices: list[list[str]] = []
    count = 1
    for at, piece in enumerate(pieces):
        choices.append([piece] if at % 2 == 0 else _numbers(piece, whole, limit))
        count *= len(choices[-1])
        if count > limit:
            raise BadInput(f"host list {_short(whole)} names too many hosts", advice=f"The limit is {MOST_HOSTS:,}.")
    if sum(max(map(len, choice)) for choice in choices) > MOST_NAME:
        raise BadInput(f"a name of host list {_short(whole)} is longer than {MOST_NAME} characters")
    return ["".join(parts) for parts in product(*choices)]


def _numbers(inside: str, whole: str, limit: int) -> list[str]:
    numbers: list[str] = []
    for part in inside.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None or len(part) > 40:
            raise BadInput(f"{part[:40]!r} is not a number or range in host list {_short(whole)}")
        first, last = match.group(1), match.group(2) or match.group(1)
        if int(last) < int(first):
            raise BadInput(f"range {part} runs backwards in host list {_short(whole)}")
        if int(last) - int(first) >= limit - len(numbers):
            raise BadInput(f"host list {_short(whole)} names too many hosts", advice=f"The limit is {MOST_HOSTS:,}.")
        numbers.extend(f"{n:0{len(first)}d}" for n in range(int(first), int(last) + 1))
    return numbers


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
