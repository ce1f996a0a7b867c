"""Message DAGs: our text format and GOAL text.

Our grammar (`#` starts a comment, labels are local to a rank):

    ranks N
    rank R
      L: send BYTES to R [tag T]
      L: recv BYTES from R [tag T]
      L: compute NS
      L requires L1 L2 ...

An operation starts when all required operations are complete. A send matches the first receive in file order with its rank, the other rank and the
tag.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from flitwatch_core.packet import NO_LINK, OpKind, Ops
from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.packed import open_text

#: The beginning of a comment, or a token.
_PIECE = re.compile(r"/\*|//|#|\n|[:{};]|(?:(?!/\*|//)[^\s:{};#])+")
#: A text is read in pieces of so many characters; a token is shorter.
_CHUNK = 1 << 16
_LABEL = re.compile(r"\w+")
_WHOLE = re.compile(r"[0-9]{1,18}")
#: Options after a message's rank: a tag, and GOAL's processor and network card, which a replay ignores.
_OPTIONS = ("tag", "cpu", "nic")
_MOST_RANKS = 10_000_000
#: Operations and dependencies that are held in memory; each takes about 200 bytes.
_MOST_OPERATIONS = 40_000_000


@dataclass
class CallCount:
    """Calls of one name over all ranks, and their sent bytes."""

    calls: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        self.calls += 1
        self.bytes += size


@dataclass
class Dag:
    """Operations of one job, in file order.

    Attributes
    ----------
    kind, rank, peer, amount, tag : lists of int
        `peer` and `tag` are 0 for computations.
    requires : list of (operation, operation it requires)
    lines : list of int
        Line of each operation in the file.
    expanded, left_out : calls by name
        Collectives that became messages, and omitted ones.
    """

    ranks: int
    kind: list[int] = field(default_factory=list)
    rank: list[int] = field(default_factory=list)
    peer: list[int] = field(default_factory=list)
    amount: list[int] = field(default_factory=list)
    tag: list[int] = field(default_factory=list)
    requires: list[tuple[int, int]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    expanded: dict[str, CallCount] = field(default_factory=lambda: defaultdict(CallCount))
    left_out: dict[str, CallCount] = field(default_factory=lambda: defaultdict(CallCount))

    def add(self, kind: OpKind, rank: int, amount: int, peer: int = 0, tag: int = 0, line: int = 0) -> int:
        """Append an operation and return its number."""
        for column, value in (
            (self.kind, int(kind)),
            (self.rank, rank),
            (self.peer, peer),
            (self.amount, amount),
            (self.tag, tag),
            (self.lines, line),
        ):
            column.append(value)
        return len(self.kind) - 1

    def matched(self, where: str = "the message DAG") -> NDArray[np.int64]:
        """Return the receive of each send; `NO_LINK` for other operations. Raise BadInput if a send has no receive, a receive has no send, or their
        sizes differ."""
        match = np.full(len(self.kind), NO_LINK, np.int64)
        waiting: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
        for op, kind in enumerate(self.kind):
            if kind == OpKind.RECEIVE:
                waiting[self.peer[op], self.rank[op], self.tag[op]].append(op)
        for op, kind in enumerate(self.kind):
            if kind != OpKind.SEND:
                continue
            queue = waiting[self.rank[op], self.peer[op], self.tag[op]]
            if not queue:
                raise BadInput(
                    f"rank {self.rank[op]} sends to rank {self.peer[op]} with tag {self.tag[op]}, which never receives it",
                    where=f"{where}:{self.lines[op]}",
                )
            match[op] = queue.popleft()
            if self.amount[match[op]] < self.amount[op]:
                raise BadInput(
                    f"{self.amount[op]} bytes are sent, but only {self.amount[match[op]]} received (line {self.lines[match[op]]})",
                    where=f"{where}:{self.lines[op]}",
                )
        for (src, dst, tag), queue in waiting.items():
            if queue:
                raise BadInput(
                    f"rank {dst} waits for rank {src} with tag {tag}, which never sends it",
                    where=f"{where}:{self.lines[queue[0]]}",
                )
        return match

    def to_ops(self, endpoints: NDArray[np.integer], where: str = "the message DAG") -> Ops:
        """Return operations for the engine, with sends matched to receives. Raise BadInput as in `matched`, or operations wait for each other in a
        cycle."""
        match = self.matched(where)
        needs = np.array(self.requires, np.int64).reshape(-1, 2)
        needs = needs[np.argsort(needs[:, 0], kind="stable")]
        self._refuse_circles(match, needs, where)
        begin = np.concatenate([[0], np.cumsum(np.bincount(needs[:, 0], minlength=len(self.kind)))])
        return Ops(
            kind=np.array(self.kind, np.uint8),
            rank=np.array(self.rank, np.uint32),
            match=match.astype(np.uint32),
            amount=np.array(self.amount, np.uint64),
            requires_begin=begin.astype(np.uint32),
            required=needs[:, 1].astype(np.uint32),
            endpoint_of_rank=np.asarray(endpoints, np.uint32),
            job_of_rank=np.zeros(self.ranks, np.uint8),
        )

    def _refuse_circles(self, match: NDArray[np.int64], needs: NDArray[np.int64], where: str) -> None:
        """Raise BadInput if operations wait for each other in a cycle, counting a receive's wait for its send."""
        from scipy.sparse import coo_array  # 25 MB that is unnecessary for other traffic
        from scipy.sparse.csgraph import connected_components

        sends = np.flatnonzero(match != NO_LINK)
        later, earlier = np.append(needs[:, 0], match[sends]), np.append(needs[:, 1], sends)
        n = len(self.kind)
        edges = coo_array((np.ones(later.size, bool), (later, earlier)), shape=(n, n))
        _, circle_of = connected_components(edges, directed=True, connection="strong")
        size = np.bincount(circle_of)
        stuck = np.flatnonzero(size[circle_of] > 1)
        stuck = np.append(stuck, later[later == earlier])
        if stuck.size:
            op = int(stuck.min())
            others = sorted({self.lines[o] for o in np.flatnonzero(circle_of == circle_of[op])} - {self.lines[op]})
            other_lines = f" with lines {', '.join(map(str, others[:5]))}" if others else ""
            raise BadInput(
                f"rank {self.rank[op]} waits for itself: this operation is part of a cycle{other_lines}",
                where=f"{where}:{self.lines[op]}",
            )


def is_dag(text: str) -> bool:
    """Return whether a text begins like a message DAG, after its comments."""
    tokens = [token for token, _ in islice(_scan_tokens([text]), 2)]
    return len(tokens) == 2 and tokens[0] in ("ranks", "num_ranks") and tokens[1][0].isdigit()


def read_dag(path: Path) -> Dag:
    """Read our text format or GOAL text (`num_ranks N`, `rank R { ... }`, `calc`) by tokens, regardless of line breaks. Raise BadInput if the text is
    invalid; the message contains file and line."""
    with open_text(path) as text:
        return _Reader(path, text).dag()


def _read_chunks(text: IO[str]) -> Iterator[str]:
    return iter(lambda: text.read(_CHUNK), "")


def _scan_tokens(chunks: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the tokens outside comments, with their lines; no more than two chunks and a token are held."""
    line, text, ends = 1, "", ""
    for chunk in chain(chunks, [None]):
        text += chunk or ""
        at = 0
        while at < len(text):
            if ends:
                end = text.find(ends, at)
                # The end of a comment may lie in two chunks.
                past = end if end >= 0 else len(text) - len(ends) + 1
                line, at = line + text.count("\n", at, past), max(at, past)
                if end < 0:
                    break
                at, ends = end + (len(ends) if ends == "*/" else 0), ""
                continue
            piece = _PIECE.search(text, at)
            if piece is None:
                at = len(text)
                break
            if piece.end() == len(text) and chunk is not None and len(piece[0]) < _CHUNK:
                at = piece.start()
                break
            at = piece.end()
            if piece[0] == "\n":
                line += 1
            elif piece[0] in ("#", "//"):
                ends = "\n"
            elif piece[0] == "/*":
                ends = "*/"
                opened = line
            else:
                yield piece[0], line
        text = text[at:]
    if ends == "*/":
        yield "/*", opened


class _Reader:
    """Reader of a DAG's tokens, one after another; consumed tokens are dropped."""

    def __init__(self, path: Path, text: IO[str]) -> None:
        self._path = path
        self._source = _scan_tokens(_read_chunks(text))
        # Tokens that were looked at and not taken, with their lines, and the line of the last one taken.
        self._ahead: deque[tuple[str, int]] = deque()
        self._line = 1
        self._rank = -1
        # Line of a rank whose brace is open, or 0.
        self._opened = 0
        self._labels: dict[str, int] = {}
        self._dag: Dag | None = None

    def dag(self) -> Dag:
        while token := self._peek_token():
            if token in ("}", ";"):
                self._skip_tokens(1)
                self._opened = self._opened if token == ";" else 0
            elif token in ("ranks", "num_ranks") and _WHOLE.fullmatch(self._peek_token(1)):
                self._read_ranks()
            elif self._dag is None:
                raise BadInput("does not begin with `ranks N`", where=self._line_reference())
            elif token == "rank" and _WHOLE.fullmatch(self._peek_token(1)):
                self._next_rank(self._dag)
            elif self._rank < 0:
                raise BadInput("an operation comes before the first `rank R`", where=self._line_reference())
            elif self._peek_token(1) in ("requires", "irequires"):
                self._read_requires(self._dag)
            else:
                self._read_operation(self._dag)
            if self._dag is not None and len(self._dag.kind) + len(self._dag.requires) > _MOST_OPERATIONS:
                raise BadInput(
                    f"has more than {_MOST_OPERATIONS:,} operations and dependencies",
                    where=self._line_reference(),
                    advice="Give the trace of fewer ranks or of a shorter time.",
                )
        if self._dag is None or not self._dag.kind:
            raise BadInput("there are no operations", where=str(self._path))
        if self._opened:
            raise BadInput(
                "this rank's brace is not closed: the file is incomplete", where=f"{self._path}:{self._opened}"
            )
        return self._dag

    def _peek_token(self, ahead: int = 0) -> str:
        while len(self._ahead) <= ahead:
            if (token := next(self._source, None)) is None:
                return ""
            self._ahead.append(token)
        return self._ahead[ahead][0]

    def _skip_tokens(self, count: int) -> None:
        for _ in range(count):
            _, self._line = self._ahead.popleft()

    def _take_tokens(self, *wanted: str | re.Pattern[str]) -> list[str]:
        """Consume the next tokens, each of which must match `wanted`; raise BadInput otherwise."""
        tokens = [self._peek_token(place) for place in range(len(wanted))]
        for token, pattern in zip(tokens, wanted, strict=True):
            if token != pattern if isinstance(pattern, str) else pattern.fullmatch(token) is None:
                raise self._no_operation()
        self._skip_tokens(len(wanted))
        return tokens

    def _next_line(self) -> int:
        return self._ahead[0][1] if self._peek_token() else self._line

    def _line_reference(self) -> str:
        return f"{self._path}:{self._next_line()}"

    def _no_operation(self, number: int | None = None) -> BadInput:
        number = number or self._next_line()
        return BadInput(
            f"{_read_line(self._path, number)!r} is not an operation",
            where=f"{self._path}:{number}",
            advice="Expected `L: send BYTES to R [tag T]`, `L: recv BYTES from R [tag T]`, `L: compute NS` or `L requires L1 L2`.",
        )

    def _read_ranks(self) -> None:
        if self._dag is not None:
            raise BadInput("the number of ranks is given twice", where=self._line_reference())
        count = int(self._peek_token(1))
        if not 1 <= count <= _MOST_RANKS:
            raise BadInput(f"{count} ranks; expected 1 to {_MOST_RANKS:,}", where=self._line_reference())
        self._skip_tokens(2)
        self._dag = Dag(count)

    def _next_rank(self, dag: Dag) -> None:
        self._rank, self._labels = int(self._peek_token(1)), {}
        _in_range(self._rank, dag, self._line_reference())
        has_brace = self._peek_token(2) == "{"
        self._skip_tokens(3 if has_brace else 2)
        self._opened = self._line if has_brace else 0

    def _read_requires(self, dag: Dag) -> None:
        later = self._find_operation(self._peek_token())
        self._skip_tokens(2)
        before = len(dag.requires)
        while (
            _LABEL.fullmatch(self._peek_token())
            and self._peek_token(1) not in (":", "requires", "irequires")
            and not (self._peek_token() == "rank" and _WHOLE.fullmatch(self._peek_token(1)))
        ):
            dag.requires.append((later, self._find_operation(self._peek_token())))
            self._skip_tokens(1)
        if len(dag.requires) == before:
            raise self._no_operation()

    def _find_operation(self, label: str) -> int:
        if label not in self._labels:
            raise BadInput(
                f"rank {self._rank} has no operation {label[:40]!r} above this line", where=self._line_reference()
            )
        return self._labels[label]

    def _read_operation(self, dag: Dag) -> None:
        where, line = self._line_reference(), self._next_line()
        label, _, verb = self._take_tokens(_LABEL, ":", _LABEL)
        if verb in ("compute", "calc"):
            (amount,) = self._take_tokens(_WHOLE)
            op = dag.add(OpKind.COMPUTE, self._rank, int(amount), line=line)
            self._read_options()
        elif verb in ("send", "recv"):
            size, _, peer = self._take_tokens(re.compile(r"[0-9]{1,18}b?"), "to" if verb == "send" else "from", _WHOLE)
            _in_range(int(peer), dag, where)
            kind = OpKind.SEND if verb == "send" else OpKind.RECEIVE
            op = dag.add(kind, self._rank, int(size.removesuffix("b")), int(peer), self._read_options(), line)
        else:
            raise self._no_operation(line)
        if label in self._labels:
            raise BadInput(f"rank {self._rank} has two operations {label[:40]!r}", where=where)
        self._labels[label] = op

    def _read_options(self) -> int:
        """Consume the options of a message or computation; return its tag."""
        tag = 0
        while self._peek_token() in _OPTIONS and self._peek_token(1) not in (":", "requires", "irequires"):
            name, number = self._take_tokens(_LABEL, _WHOLE)
            tag = int(number) if name == "tag" else tag
        return tag


def _read_line(path: Path, number: int) -> str:
    """Read the beginning of a line without the blanks around it."""
    with open_text(path) as text:
        while number > 1:
            number -= text.readline(_CHUNK).endswith("\n")
        return text.readline(200).strip()


def _in_range(rank: int, dag: Dag, where: str) -> None:
    if rank >= dag.ranks:
        raise BadInput(f"rank {rank} is outside 0 to {dag.ranks - 1}", where=where)
