"""Text files with any line end and encoding, with or without a byte order mark; numbered lines; and a limited number of warnings."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.packed import open_plain

#: The keys `<<` and `=`, which need special treatment: the second is read as text.
_MERGE, _EQUALS = "tag:yaml.org,2002:merge", "tag:yaml.org,2002:value"


#: Maximum number of values after all aliases are expanded: forty lines of nested aliases expand to more than any memory.
MOST_VALUES = 5_000_000


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with two additions: it rejects duplicate keys in a mapping, and it limits the expansion of aliases."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._flattened: set[yaml.MappingNode] = set()

    def get_single_node(self) -> yaml.Node | None:
        """Return the document if its aliases expand to a bounded number of values."""
        node = super().get_single_node()
        if node is not None:
            self._count_values(node, {})
        return node

    def _count_values(self, node: yaml.Node, counted: dict[yaml.Node, int | None]) -> int:
        if node in counted:
            count = counted[node]
            if count is None:
                raise yaml.constructor.ConstructorError(
                    None, None, "an alias refers to its own parent", node.start_mark
                )
            return count
        counted[node] = None
        total = 1
        if isinstance(node, yaml.SequenceNode):
            total += sum(self._count_values(item, counted) for item in node.value)
        elif isinstance(node, yaml.MappingNode):
            total += sum(
                self._count_values(key, counted) + self._count_values(value, counted) for key, value in node.value
            )
        if total > MOST_VALUES:
            reason = f"its aliases expand to more than {MOST_VALUES:,} values"
            raise yaml.constructor.ConstructorError(None, None, reason, node.start_mark)
        counted[node] = total
        return total

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Insert merged keys (`<<`) before the mapping's own keys, which are checked first: overriding a merged key is not a repetition."""
        # PyYAML calls this again for a mapping that others merge; by then its keys include the merged ones.
        if node not in self._flattened:
            self._flattened.add(node)
            self._refuse_repeated_keys(node)
        super().flatten_mapping(node)

    def _refuse_repeated_keys(self, node: yaml.MappingNode) -> None:
        lines: dict[Any, int] = {}
        for key_node, _ in node.value:
            # Lists and mappings are not valid keys, which is rejected when the mapping is built.
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == _MERGE:
                continue
            key = key_node.value if key_node.tag == _EQUALS else self.construct_object(key_node)
            if key in lines:
                reason = f"the key {key_node.value[:80]!r} is in line {lines[key]} already"
                raise yaml.constructor.ConstructorError(None, None, reason, key_node.start_mark)
            lines[key] = key_node.start_mark.line + 1


def read_yaml(path: str | Path) -> Any:
    """Return a file's content; None if it is empty. NotFound or BadInput give the file, and the line if known."""
    return parse_yaml(read_utf8(path), str(path))


def parse_yaml(text: str, where: str) -> Any:
    """Return the content of `text`; BadInput gives `where` and the line."""
    try:
        # The safe loader returns plain data only.
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as bad:
        mark, reason = getattr(bad, "problem_mark", None), getattr(bad, "problem", None)
        reason = reason or str(bad).partition("\n")[0]
        raise BadInput(f"is not YAML: {reason}", where=f"{where}:{mark.line + 1}" if mark else where) from None
    except RecursionError:
        raise BadInput("is nested too deeply", where=where) from None
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as bad:
        # PyYAML raises this for a scalar that does not fit its type: 31 February, `!!bool maybe`, an integer of thousands of digits, a character beyond Unicode.
        raise BadInput(
            f"contains a value of the wrong type ({bad})", where=where, advice="Quote it if it is text."
        ) from None


#: A topology of 100,000 routers is about 500 MB; a larger file is not a topology.
LARGEST_FILE_BYTES = 2**30


def read_bytes(path: str | Path) -> bytes:
    """Return a file's bytes, decompressed if necessary; NotFound or BadInput with the file's name."""
    with open_plain(path) as plain:
        data = plain.read(LARGEST_FILE_BYTES + 1)
    if len(data) > LARGEST_FILE_BYTES:
        raise BadInput("is larger than 1 GiB", where=str(path), advice="Check that this is the right file.")
    return data


def _decode_old(error: UnicodeError) -> tuple[str, int]:
    """Decode the bytes of a text that are not UTF-8 as Windows-1252, which contains Latin-1."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", errors="replace"), error.end


#: Handler of bytes that are not UTF-8: names of users and jobs from systems with older locales.
OLD_LOCALE = "flitwatch.old-locale"
codecs.register_error(OLD_LOCALE, _decode_old)


def decode_text(raw: bytes) -> str:
    """Return a text in UTF-8 that can contain parts in Latin-1 or Windows-1252."""
    return raw.decode("utf-8", errors=OLD_LOCALE)


def read_text(path: str | Path) -> str:
    """Return a file's text without a byte order mark; NotFound or BadInput with the file's name.

    Bytes that are not UTF-8 are read as Windows-1252. NUL, which cannot be stored, becomes U+FFFD.
    """
    return decode_text(read_bytes(path)).removeprefix("\ufeff").replace("\0", "\ufffd")


def read_utf8(path: str | Path) -> str:
    """Return a file's text without its byte order mark; BadInput if it is not UTF-8."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        advice = "Check that this is the right file."
        raise BadInput(f"is not text: {bad.reason} at byte {bad.start}", where=str(path), advice=advice) from bad


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line) of `text`; LF, CRLF and CR (if there is no LF) end a line, other CRs become blanks."""
    ends = "\n" if "\n" in text else "\r"
    for number, line in enumerate(text.split(ends), start=1):
        yield number, line.replace("\r", " ").rstrip()


#: Warnings of one kind that are kept in full.
_MOST_OF_A_KIND = 5


class Warnings:
    """Collection of warnings; the first few of each kind are kept in full, the rest are counted."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._kinds: dict[str, list[str]] = {}

    def add(self, kind: str, line: int, text: str) -> None:
        """Add `text` about `line`; `kind` groups repeated warnings."""
        self._kinds.setdefault(kind, []).append(f"{self._file}:{line}: {text}")

    def texts(self) -> tuple[str, ...]:
        """Return all warnings, in the order in which their kinds appeared."""
        out: list[str] = []
        for kind, texts in self._kinds.items():
            out.extend(texts[:_MOST_OF_A_KIND])
            if len(texts) > _MOST_OF_A_KIND:
                out.append(f"{self._file}: {len(texts) - _MOST_OF_A_KIND} more of: {kind}")
        return tuple(out)
