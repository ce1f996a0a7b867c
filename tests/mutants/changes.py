"""One-token changes of a Python module: comparisons, arithmetic, numbers, booleans, signs."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


@dataclass(frozen=True)
class Change:
    """One change of one token.

    Attributes
    ----------
    path : of the module, from the repository's root
    node : place of the changed node in `ast.walk` order
    line : line of the token
    where : the function around it, or `module`
    before, after : the expression around it
    """

    path: str
    node: int
    line: int
    where: str
    before: str
    after: str

    @property
    def key(self) -> str:
        """What names it as long as the expression stays as it is, wherever it moves in its module."""
        return f"{self.path} | {self.where} | {self.before} | {self.after}"


def changes(root: Path, path: str) -> Iterator[Change]:
    """Every change of a module; annotations, docstrings and texts play no part."""
    tree = ast.parse((root / path).read_text())
    left_out = _left_out(tree)
    around = _functions(tree)
    for at, node in enumerate(ast.walk(tree)):
        if node in left_out or not _changeable(node):
            continue
        changed = copy.deepcopy(node)
        _change(changed)
        before, after = ast.unparse(node), ast.unparse(changed)
        yield Change(path, at, node.lineno, around.get(node, "module"), before, after)  # type: ignore[attr-defined]


def changed_tree(root: Path, change: Change) -> ast.Module:
    """The module with that change."""
    tree = ast.parse((root / change.path).read_text())
    node = next(node for at, node in enumerate(ast.walk(tree)) if at == change.node)
    _change(node)
    return tree


def _changeable(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[op, *_]):
            return type(op) in COMPARISONS
        case ast.BinOp(op=op, left=left):
            # `|` of classes and `%` of texts are no arithmetic.
            said = isinstance(left, ast.Constant | ast.JoinedStr) and not _is_number(left)
            return type(op) in ARITHMETIC and not said
        case ast.AugAssign(op=op):
            return type(op) in ARITHMETIC
        case ast.BoolOp():
            return True
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return True
        case ast.Constant(value=value):
            return isinstance(value, bool | int | float)
    return False


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _change(node: ast.AST) -> None:
    match node:
        case ast.Compare(ops=[op, *rest]):
            node.ops = [COMPARISONS[type(op)](), *rest]
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            node.op = ARITHMETIC[type(op)]()
        case ast.BoolOp(op=op):
            node.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not()):
            # `not x` becomes `bool(x)`.
            node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
            ast.fix_missing_locations(node)
        case ast.UnaryOp():
            node.op = ast.UAdd()
        case ast.Constant(value=bool(value)):
            node.value = not value
        case ast.Constant(value=value):
            node.value = value + 1 if isinstance(value, int) else value * 2 if value else 1.0  # type: ignore[operator]


def _left_out(tree: ast.Module) -> set[ast.AST]:
    """Nodes in annotations, in decorators, and in what is only said: texts of errors and f-strings."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.AnnAssign | ast.arg):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts = [node.returns, *node.decorator_list]
        elif isinstance(node, ast.ClassDef):
            parts = [*node.decorator_list]
        elif isinstance(node, ast.JoinedStr):
            parts = [node]
        for part in parts:
            if part is not None:
                found.update(ast.walk(part))
    return found


def _functions(tree: ast.Module) -> dict[ast.AST, str]:
    """The name of the innermost function, or class, around each node."""
    around: dict[ast.AST, str] = {}
    for outer in ast.walk(tree):
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            around.update(dict.fromkeys(ast.walk(outer), outer.name))
    return around
