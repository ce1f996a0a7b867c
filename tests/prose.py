"""`make lint`: guides, contracts, decisions, help texts and messages against the rules of docs/prose.toml.

Help texts are checked in docs/commands.md, and descriptions of the API in docs/contracts/openapi.json. Messages are strings with a space in the Python
sources, except queries. Public docstrings and the strings and texts of the page are checked too. No Markdown page has
a sentence above 30 words outside of tables, code and shapes of data, or paragraphs above 30 words on average.

`python tests/prose.py figures` prints figures of each guide: words per paragraph, the longest sentence, and headings per thousand words.
`python tests/prose.py count` prints how often each rule is broken.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
#: Code is not prose.
FENCED, QUOTED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE), re.compile(r"`[^`\n]*`")
#: Strings that are queries or style sheets.
NO_MESSAGE = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|CREATE|ALTER|JOIN)\b|\dpx\b")
#: What matters of TypeScript outside of templates: comments and classes, strings, texts between tags, and braces.
CODE = re.compile(
    r"/\*.*?\*/|(?<!:)//[^\n]*|className=(?:\"[^\"]*\"|\{`[^`]*`\})|\b[A-Z]\w*\(\{?"
    r"|(?<!\w)'(?P<single>(?:[^'\\\n]|\\.)*)'|\"(?P<double>(?:[^\"\\\n]|\\.)*)\""
    r"|(?P<mark>[`{}])|(?<=[>}])(?P<between>[^<>{}=;&|\"`/()]*[A-Za-z][^<>{}=;&|\"`/]*)(?=[<{])",
    re.DOTALL,
)
TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)
LONGEST_SENTENCE, MEAN_PARAGRAPH = 30, 30
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def settings() -> dict[str, Any]:
    return tomllib.loads((ROOT / "docs" / "prose.toml").read_text())


def prose(text: str) -> str:
    """The text without its code, line by line where it was."""
    text = FENCED.sub(lambda code: "\n" * code[0].count("\n"), text)
    return QUOTED.sub(lambda code: "`" * len(code[0]), text)


def any_of(rules: list[dict[str, str]]) -> re.Pattern[str]:
    """One expression for all rules: most lines break none."""
    return re.compile("|".join(f"(?:{rule['pattern']})" for rule in rules), re.IGNORECASE)


def findings(text: str, rules: list[dict[str, str]]) -> list[str]:
    """Line, wording and what to write instead."""
    found, broken = [], any_of(rules)
    for number, line in enumerate(prose(text).splitlines(), 1):
        if not line.strip() or not broken.search(line):
            continue
        for rule in rules:
            found += [
                f"{number}: {match[0][:60]!r}: {rule['instead']}"
                for match in re.finditer(rule["pattern"], line, re.IGNORECASE)
            ]
    return found


def messages(source: str, tree: ast.Module | None = None) -> str:
    """Strings of a Python source that people may read, each in its line."""
    documentation: set[int] = set()
    lines = [""] * len(source.splitlines())
    for node in ast.walk(tree or ast.parse(source)):
        if isinstance(node, DOCUMENTED) and node.body and isinstance(first := node.body[0], ast.Expr):
            documentation.add(id(first.value))
        value = node.value if isinstance(node, ast.Constant) and id(node) not in documentation else None
        if isinstance(value, str) and " " in value and not NO_MESSAGE.search(value):
            lines[node.lineno - 1] += " ".join(value.splitlines()) + " "
    return "\n".join(lines)


def docstrings(source: str, tree: ast.Module | None = None) -> str:
    """Docstrings of a Python source's public names, each in its line."""
    lines = [""] * len(source.splitlines())

    def read(node: ast.AST) -> None:
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            first = node.body[0]
            documented = ast.get_docstring(node, clean=False) or ""
            for number, line in enumerate(documented.splitlines(), first.lineno - 1):
                lines[number] += line.strip() + " "
        for child in ast.iter_child_nodes(node):
            if isinstance(child, DOCUMENTED) and not getattr(child, "name", "").startswith("_"):
                read(child)

    read(tree or ast.parse(source))
    return "\n".join(lines)


def label_spans(source: str) -> list[tuple[int, int]]:
    """Where strings, parts of templates and texts between tags of a TypeScript source begin and end."""
    spans, inside, at = [], [""], 0
    while at < len(source):
        if inside[-1] == "`":
            end = TEMPLATE.match(source, at).end()  # type: ignore[union-attr]
            spans.append((at, end))
            if source[end : end + 1] == "`":
                inside.pop()
            else:
                inside.append("{")
            at = end + (1 if source[end : end + 1] == "`" else 2)
            continue
        if (match := CODE.search(source, at)) is None:
            break
        at = match.end()
        if match["mark"] == "}":
            if len(inside) > 1:
                inside.pop()
        elif match["mark"]:
            inside.append(match["mark"])
        elif name := match.lastgroup:
            spans.append(match.span(name))
    return spans


def labels(source: str) -> str:
    """Strings and texts of a TypeScript source that hold a blank, each in its line."""
    lines = [""] * (source.count("\n") + 1)
    for begin, end in label_spans(source):
        if " " in source[begin:end]:
            for number, line in enumerate(source[begin:end].splitlines(), source.count("\n", 0, begin)):
                lines[number] += line.strip() + " "
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


def count_words(sentence: str) -> int:
    """Words of a sentence, without figures and signs. Shapes of data, {field, field[]}, are no sentences."""
    return 0 if "{" in sentence else sum(bool(re.search("[A-Za-z`]", word)) for word in sentence.split())


def figures(text: str) -> Figures:
    """The figures of a page."""
    found = paragraphs(text)
    sentences = [one for part in found for one in re.split(r"(?<=[.!?:])\s+", part)]
    longest = max(sentences, key=count_words, default="")
    words = [len(part.split()) for part in found] or [1]
    headings = len(re.findall(r"^#+ ", FENCED.sub("", text), re.MULTILINE))
    return Figures(sum(words) / len(words), count_words(longest), longest[:60], 1000 * headings / sum(words))


def files(chosen: dict[str, Any]) -> list[Path]:
    left_out = {ROOT / name for name in chosen["left_out"]}
    return sorted({path for name in chosen["files"] + chosen["messages"] for path in ROOT.glob(name)} - left_out)


def text(path: Path) -> str:
    """What people read of a file."""
    source = path.read_text()
    if path.suffix == ".py":
        tree = ast.parse(source)
        pairs = zip(messages(source, tree).split("\n"), docstrings(source, tree).split("\n"), strict=True)
        return "\n".join(f"{message} {documented}" for message, documented in pairs)
    if path.suffix == ".json":
        texts = re.compile(r'\s*"(description|summary)": ')
        return "\n".join(line if texts.match(line) else "" for line in source.splitlines())
    return labels(source) if path.suffix in {".ts", ".tsx"} else source


def long_pages(paths: Iterable[Path]) -> list[str]:
    """Pages of Markdown whose longest sentence or mean paragraph is above the limit."""
    pages = {path.relative_to(ROOT): figures(path.read_text()) for path in paths if path.suffix == ".md"}
    return [
        f"{name}:1: {page.sentence!r}: {page.longest} words, at most {LONGEST_SENTENCE}"
        for name, page in pages.items()
        if page.longest > LONGEST_SENTENCE
    ] + [
        f"{name}:1: {page.paragraph:.0f} words a paragraph on average, at most {MEAN_PARAGRAPH}"
        for name, page in pages.items()
        if page.paragraph > MEAN_PARAGRAPH
    ]


def main() -> int:
    chosen = settings()
    if sys.argv[1:] == ["figures"]:
        for name in chosen["guides"]:
            page = figures((ROOT / name).read_text())
            print(
                f"{name}: {page.paragraph:.0f} words a paragraph, longest sentence {page.longest} ({page.sentence!r}), {page.headings:.0f} headings in 1,000 words"
            )
        return 0
    texts = {path: text(path) for path in files(chosen)}
    if sys.argv[1:] == ["count"]:
        counts = Counter({rule["instead"]: len(findings("\n".join(texts.values()), [rule])) for rule in chosen["rule"]})
        counts["pages with long sentences or paragraphs"] = len(long_pages(texts))
        print(*(f"{count:5} {rule}" for rule, count in counts.most_common()), sep="\n")
        return 0
    found = [
        f"{path.relative_to(ROOT)}:{line}" for path, read in texts.items() for line in findings(read, chosen["rule"])
    ]
    found += long_pages(texts)
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
