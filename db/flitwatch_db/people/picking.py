"""Classification of the users selected by a matcher between slashes: one user, several similar names, or almost all users."""

from __future__ import annotations

import codecs
import re
from typing import Literal

from flitwatch_domain.alerts import expression_of, match_labels

Whom = Literal["the user", "others too", "everybody"]

_PARTS = re.compile(r"[^\W\d_]+|\d+|[\W_]+")


def classify_matcher(matcher: str, user: str) -> Whom | None:
    """Return which users the matcher selects in addition to a user, like the alert engine but without case; None if it does not select the user.

    "everybody": also a name in the same form with different letters and digits. "others too": also one that shares a part
    of the name, or at most half of it at either end, as `user-.*` selects all names that begin like user-ann.
    """
    expression = expression_of(matcher)
    if expression is None or not _matches_name(expression, user):
        return None
    if _matches_name(expression, _swap_letters(user)):
        return "everybody"
    return "others too" if any(_matches_name(expression, name) for name in _vary_name(user)) else "the user"


def _matches_name(expression: str, name: str) -> bool:
    labels = {"user": name}
    try:
        # First without a group, because some invalid expressions are valid within a group.
        return match_labels({"user": f"/{expression}/"}, labels) or match_labels(
            {"user": f"/(?i:{expression})/"}, labels
        )
    except ValueError:
        return False


def _vary_name(user: str) -> set[str]:
    """Return names in the user's form that share some of its letters and digits."""
    half = (len(user) + 1) // 2
    names = {user[:n] + _swap_letters(user[n:]) for n in range(1, half + 1)}
    names |= {_swap_letters(user[:-n]) + user[-n:] for n in range(1, half + 1)}
    parts = _PARTS.findall(user)
    if len(parts) > 1:
        names |= {"".join((*parts[:n], _swap_letters(part), *parts[n + 1 :])) for n, part in enumerate(parts)}
    return names - {user}


def _swap_letters(text: str) -> str:
    """Replace all letters and digits by different ones."""
    digits = str.maketrans("0123456789", "5678901234")
    turned = codecs.encode(text, "rot13").translate(digits)
    return "".join("q" if c.isalnum() and not c.isascii() else c for c in turned)
