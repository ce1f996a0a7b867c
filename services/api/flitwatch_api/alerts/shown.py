"""Alerts, rules, silences and dry runs as a caller may see them: below scope `names` nobody else is named in them."""

from __future__ import annotations

import re
from typing import Any

from flitwatch_api.names import Names
from flitwatch_domain.errors import Forbidden

Row = dict[str, Any]
#: Labels whose values are of machines; those of others may hold names.
OF_MACHINES = frozenset({"fabric", "group", "class", "job", "run", "nodes", "severity", "signal"})
HIDDEN = "..."
FAILED = "the receiver did not take it"


def _labels(held: dict[str, str], names: Names) -> dict[str, str]:
    made = dict(held)
    if "user" in made:
        made["user"] = names.user(made["user"])
    if "exe" in made:
        made["exe"] = names.path(made["exe"])
    return made


def _words(text: str, about: dict[str, str], names: Names) -> str:
    """What an operator wrote, without the name of the one whom the rule is about."""
    user = about.get("user")
    if not user or names.user(user) == user:
        return text
    return re.sub(re.escape(user), names.user(user), text, flags=re.IGNORECASE)


def _filled(template: str, labels: dict[str, str], value: float) -> str:
    for name, word in {**labels, "value": f"{value:.3g}"}.items():
        template = template.replace(f"{{{name}}}", word)
    return template


def rule(held: Row, names: Names) -> Row:
    """A rule's fields."""
    if not names.pseudonyms:
        return held
    about = held.get("where") or {}
    labels = {name: _words(word, about, names) for name, word in (held.get("labels") or {}).items()}
    texts: Row = {name: _words(held[name], about, names) for name in ("name", "summary") if name in held}
    return {**held, **texts, "labels": _labels(labels, names), "where": _labels(about, names)}


def alert(row: Row, names: Names) -> Row:
    """An alert; its text is made anew from the labels that are shown."""
    template, about = row.pop("template"), row.pop("about") or {}
    if not names.pseudonyms:
        return row
    made = {**row, "labels": _labels(row["labels"], names), "rule": _words(row["rule"], about, names)}
    if made["labels"] != row["labels"] or _labels(about, names) != about:
        made["summary"] = _filled(_words(template or "{user}: {value}", about, names), made["labels"], row["value"])
    if (made.get("evidence") or {}).get("rule"):
        made["evidence"] = {**made["evidence"], "rule": rule(made["evidence"]["rule"], names)}
    return made


def notices(rows: list[Row], operates: bool) -> list[Row]:
    """Who was told; what a receiver said, or where it is, is for who `operates` the site."""
    return rows if operates else [{**row, "error": row["error"] and FAILED} for row in rows]


def silence(row: Row, names: Names, rules: dict[str, Row]) -> Row:
    """A silence without its comment, which is free text; of matchers what names nobody. `rules`: all rules by name."""
    if not names.pseudonyms:
        return row
    made = {}
    for name, word in row["matchers"].items():
        if name in OF_MACHINES:
            made[name] = word
        elif name == "rule" and word in rules:
            made[name] = _words(word, rules[word].get("where") or {}, names)
        elif name in ("user", "exe") and word[:1] != "/":
            made.update(_labels({name: word}, names))
        else:
            made[name] = HIDDEN
    by = row["created_by"]
    return {**row, "matchers": made, "comment": None, "created_by": names.user(by)}


def check_tried(tried: Any, names: Names) -> None:
    """Refuse to try a rule about one person to a caller who sees pseudonyms: its result would tell whose pseudonym is whose.

    Raises
    ------
    Forbidden
    """
    where = tried.get("where") if isinstance(tried, dict) else None
    if not names.pseudonyms or not isinstance(where, dict):
        return
    user, exe = where.get("user"), where.get("exe")
    if (user is not None and user != names.own) or (isinstance(exe, str) and "/" in exe):
        raise Forbidden(
            "a rule about one person, or an executable with its folders, is tried with scope names",
            advice="Leave `user` out of `where`, or ask an operator.",
        )


def dry_run(row: Row, names: Names) -> Row:
    """A task `alerting.test`."""
    if not names.pseudonyms:
        return row
    tried = row["args"].get("rule") if row["args"] else None
    if not isinstance(tried, dict):
        return {**row, "args": None, "result": None, "error": None}
    seen, result = rule(tried, names), row["result"]
    if isinstance(result, dict):
        alerts = [_tried(one, seen.get("summary") or "", names) for one in result.get("alerts", [])]
        result = {**result, "rule": seen.get("name"), "alerts": alerts}
    return {**row, "args": {**row["args"], "rule": seen}, "result": result}


def _tried(one: Row, template: str, names: Names) -> Row:
    labels = _labels(one["labels"], names)
    if labels == one["labels"]:
        return one
    # A result of an older version lacks the value, so its text cannot be made anew.
    value = one.get("value")
    text = "" if value is None else _filled(template or "{user}: {value}", labels, value)
    return {**one, "labels": labels, "summary": text}
