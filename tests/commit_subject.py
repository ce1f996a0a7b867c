"""The commit-msg hook: `python tests/commit_subject.py FILE` refuses a subject that is too long or does not begin with an imperative.

A subject is `type(part): verb ...` or `verb ...`, at most 72 characters, without a full stop. Merges, reverts and fixups pass.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LONGEST = 72
#: Words that begin subjects and are no imperative.
NOT_A_VERB = {
    "a",
    "an",
    "the",
    "this",
    "that",
    "it",
    "its",
    "no",
    "some",
    "all",
    "what",
    "who",
    "when",
    "where",
    "why",
    "how",
    "whether",
}
NOT_A_VERB |= {
    "my",
    "our",
    "now",
    "more",
    "minor",
    "new",
    "small",
    "various",
    "wip",
    "is",
    "are",
    "was",
    "were",
    "of",
    "for",
    "from",
    "with",
}
#: Imperatives with endings of other forms.
VERBS = {"bring", "embed", "feed", "need", "seed", "shed", "speed", "spring", "string", "swing", "address", "bypass", "compress", "cross", "discuss", "dismiss", "express", "focus", "guess", "miss", "pass", "press", "process", "suppress"}  # fmt: skip


def list_faults(message: str) -> list[str]:
    """What is wrong with the first line of a message; empty if nothing is."""
    subject = message.split("\n", 1)[0].rstrip()
    if re.match(r"(Merge|Revert|fixup!|squash!|amend!) ?", subject):
        return []
    match = re.fullmatch(r"(?:[a-z]+(?:\([\w./, -]+\))?!?: )?(?P<verb>\w[\w-]*)\b(?P<rest>.*)", subject)
    if match is None:
        return ["write `type(part): verb ...`"]
    verb = match["verb"].lower()
    other_form = re.search(r"(ed|ing|[^s]s)$", verb) and verb not in VERBS
    return [
        *([f"{len(subject)} characters, at most {LONGEST}"] if len(subject) > LONGEST else []),
        *([f"begin with an imperative such as Add or Fix, not {verb!r}"] if other_form or verb in NOT_A_VERB else []),
        *(["leave out the full stop"] if subject.endswith(".") else []),
    ]


if __name__ == "__main__":
    faults = list_faults(Path(sys.argv[1]).read_text())
    print(*(f"commit subject: {fault}" for fault in faults), sep="\n", end="\n" if faults else "", file=sys.stderr)
    sys.exit(bool(faults))
