"""`make lint`: guides and help texts against the rules of docs/prose.toml. Help texts are checked where they are printed, in docs/commands.md."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: Code is not prose.
FENCED, QUOTED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE), re.compile(r"`[^`\n]*`")


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
        for rule in rules:
            found += [
                f"{number}: {match[0][:60]!r}: {rule['instead']}"
                for match in re.finditer(rule["pattern"], line, re.IGNORECASE)
            ]
    return found


def files(chosen: dict[str, Any]) -> list[Path]:
    left_out = {ROOT / name for name in chosen["left_out"]}
    return sorted({path for name in chosen["files"] for path in ROOT.glob(name)} - left_out)


def main() -> int:
    chosen = settings()
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in files(chosen)
        for line in findings(path.read_text(), chosen["rule"])
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
