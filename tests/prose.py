"""`make lint`: guides, contracts, decisions, help texts and messages against the rules of docs/prose.toml.

Help texts are checked where they are printed, in docs/commands.md, and descriptions of the API in docs/contracts/openapi.json. Messages are the strings
of the Python sources that hold a blank; docstrings and queries are none.

`python tests/prose.py figures` prints how each guide reads: words a paragraph, the longest sentence, and headings in a thousand words.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
#: Code is not prose.
FENCED, QUOTED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE), re.compile(r"`[^`\n]*`")
#: Strings that are queries or style sheets.
NO_MESSAGE = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|CREATE|ALTER|JOIN)\b|\dpx\b")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def settings() -> dict[str, Any]:
    return tomllib.loads((ROOT / "docs" / "prose.toml").read_text())


def prose(text: str) -> str:
    """The text without its code, line by line where it was."""
    text = FENCED.sub(lambda code: "\n" * code[0].count("\n"), text)
    return QUOTED.sub(lambda code: "`" * len(code[0]), text)


def findings(text: str, rules: list[dict[str, str]]) -> list[str]:
    """Line, wording and what to write instead."""
    found = []
    for number, line in enumerate(prose(text).splitlines(), 1):
        if not line.strip():
            continue
        for rule in rules:
            found += [
                f"{number}: {match[0][:60]!r}: {rule['instead']}"
                for match in re.finditer(rule["pattern"], line, re.IGNORECASE)
            ]
    return found


def messages(source: str) -> str:
    """Strings of a Python source that people may read, each in its line."""
    tree = ast.parse(source)
    bodies = (node.body[0] for node in ast.walk(tree) if isinstance(node, DOCUMENTED) and node.body)
    docstrings = {id(first.value) for first in bodies if isinstance(first, ast.Expr)}
    lines = [""] * len(source.splitlines())
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Constant) and id(node) not in docstrings else None
        if isinstance(value, str) and " " in value and not NO_MESSAGE.search(value):
            lines[node.lineno - 1] += " ".join(value.splitlines()) + " "
    return "\n".join(lines)


class Figures(NamedTuple):
    """How a page reads: mean words of a paragraph, words of the longest sentence with its beginning, headings in a thousand words."""

    paragraph: float
    longest: int
    sentence: str
    headings: float


def paragraphs(text: str) -> list[str]:
    """Paragraphs and items of a page, without code, tables, headings and addresses of links."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", prose(FENCED.sub("\n", text)))
    lines = [re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "\n\n", line) for line in text.splitlines()]
    kept = ["" if re.match(r"\s*(\||#|!!!)", line) else line for line in lines]
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", "\n".join(kept)) if part.strip()]


def figures(text: str) -> Figures:
    """The figures of a page."""
    found = paragraphs(text)
    sentences = [one for part in found for one in re.split(r"(?<=[.!?:])\s+", part)]
    longest = max(sentences, key=lambda one: len(one.split()))
    words = [len(part.split()) for part in found]
    headings = len(re.findall(r"^#+ ", FENCED.sub("", text), re.MULTILINE))
    return Figures(sum(words) / len(words), len(longest.split()), longest[:60], 1000 * headings / sum(words))


def files(chosen: dict[str, Any]) -> list[Path]:
    left_out = {ROOT / name for name in chosen["left_out"]}
    return sorted({path for name in chosen["files"] + chosen["messages"] for path in ROOT.glob(name)} - left_out)


def text(path: Path) -> str:
    """What people read of a file."""
    return messages(path.read_text()) if path.suffix == ".py" else path.read_text()


def main() -> int:
    chosen = settings()
    if sys.argv[1:] == ["figures"]:
        for name in chosen["guides"]:
            page = figures((ROOT / name).read_text())
            print(
                f"{name}: {page.paragraph:.0f} words a paragraph, longest sentence {page.longest} ({page.sentence!r}), {page.headings:.0f} headings in 1,000 words"
            )
        return 0
    found = [
        f"{path.relative_to(ROOT)}:{line}" for path in files(chosen) for line in findings(text(path), chosen["rule"])
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
