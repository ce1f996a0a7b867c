"""docs/mutants.md: tried, detected and undetected changes, with reasons."""

from __future__ import annotations

from typing import Any

from scipy.stats import binomtest

HEAD = """# Mutation testing

One token of the code is changed at a time (a comparison, an operator, a number, a sign, a truth value), and the suite's own tests run. A change that
no test notices shows a defect that no test would find.

Changes are drawn with a seed; `tests/mutants/suites.toml` lists which code and which tests belong together.

`tests/mutants/equivalents.toml` lists changes without
a visible effect, with the reason. The goal is 85 % of the others.

Written by `make mutants REPORT=1` from the results of this and earlier calls for
single suites. `make mutants SUITE=blame` runs one suite, `SEED=2` draws other changes, and `SAMPLE=200` draws more.

| suite | changes there are | drawn (seed) | argued equivalent | noticed | share (95 %) |
|---|---|---|---|---|---|
"""


def markdown(results: list[dict[str, Any]], lacking: list[str], known: dict[str, str]) -> str:
    """The page, from the results kept."""
    lines = [
        f"| {one['suite']} | {one['changes']} | {one['tried']} ({one['seed']}) | {one['equivalent']} | {one['noticed']} of "
        f"{one['tried'] - one['equivalent']} | {_share(one['noticed'], one['tried'] - one['equivalent'])} |"
        for one in results
    ]
    text = HEAD + "\n".join(lines) + "\n"
    if lacking:
        text += f"\nNot made yet: {', '.join(lacking)}.\n"
    unnoticed = [(one["suite"], change) for one in results for change in one["unnoticed"]]
    if unnoticed:
        text += "\n## Not noticed\n\n| suite | where | before | after |\n|---|---|---|---|\n"
        for suite, change in unnoticed:
            path, where, before, after = change["key"].split(" | ", 3)
            text += f"| {suite} | {path}, `{where}` | {_code(before)} | {_code(after)} |\n"
    argued = [key for one in results for key in one["argued"]]
    if argued:
        text += "\n## Argued equivalent\n\n| where | before | after | why |\n|---|---|---|---|\n"
        for key in argued:
            path, where, before, after = key.split(" | ", 3)
            text += f"| {path}, `{where}` | {_code(before)} | {_code(after)} | {known[key]} |\n"
    return text


def _share(noticed: int, tried: int) -> str:
    """A share with Wilson's interval."""
    if not tried:
        return "–"
    low, high = binomtest(noticed, tried).proportion_ci(method="wilson")
    return f"{noticed / tried:.0%} ({low:.0%} to {high:.0%})"


def _code(text: str) -> str:
    """An expression in a table's cell, shortened."""
    line = " ".join(text.split()).replace("|", "\\|")
    return f"`{line if len(line) <= 120 else line[:117] + '...'}`"
