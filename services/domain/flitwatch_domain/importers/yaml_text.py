"""Hand-written YAML: plain data, or an error with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.text import read_utf8

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
            f"contains a value that is not of its type ({bad})", where=where, advice="Quote it if it is text."
        ) from None
