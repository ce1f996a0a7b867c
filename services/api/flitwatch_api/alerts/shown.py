"""Alerts, rules, silences and dry runs as a caller may see them: below scope `names` nobody else is named in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flitwatch_api.names import Names
from flitwatch_domain.alerts import Rule, read_rule
from flitwatch_domain.errors import BadInput, Forbidden

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
    # A rule's further labels are words of whoever wrote it, and its name stands in one.
    labels = {
        name: word if name in ("user", "exe") else _words(word, about, names) for name, word in row["labels"].items()
    }
    made = {**row, "labels": _labels(labels, names), "rule": _words(row["rule"], about, names)}
    if made["labels"] != row["labels"] or _labels(about, names) != about:
        made["summary"] = _filled(_words(template or "{user}: {value}", about, names), made["labels"], row["value"])
    if (made.get("evidence") or {}).get("rule"):
        made["evidence"] = {**made["evidence"], "rule": rule(made["evidence"]["rule"], names)}
    return made


def notices(rows: list[Row], operates: bool) -> list[Row]:
    """Whom it was sent to; what a receiver said, or where it is, is for who `operates` the site."""
    return rows if operates else [{**row, "error": row["error"] and FAILED} for row in rows]


def contact(row: Row, operates: bool) -> Row:
    """A contact point; its addresses, and what its mail server said, are for who `operates` the site."""
    return row if operates else {**row, "addresses": None, "test_error": row["test_error"] and FAILED}


def silence(row: Row, names: Names, rules: dict[str, Row]) -> Row:
    """A silence without its comment, which is free text; of matchers what names nobody. `rules`: all rules by name."""
    if not names.pseudonyms:
        return row
    by, made = row["created_by"], matchers(row["matchers"], names, rules)
    return {**row, "matchers": made, "comment": None, "created_by": names.author(by)}


def matchers(held: Mapping[str, str], names: Names, rules: dict[str, Row], *, hidden: bool = True) -> dict[str, str]:
    """Matchers of a silence as who sees pseudonyms reads them; those of which nobody knows whether they name somebody only with `hidden` false."""
    made = {}
    for name, word in held.items():
        if name in OF_MACHINES:
            made[name] = word
        elif name == "rule" and word in rules:
            made[name] = _words(word, rules[word].get("where") or {}, names)
        elif name in ("user", "exe") and word[:1] != "/":
            made.update(_labels({name: word}, names))
        else:
            made[name] = HIDDEN if hidden else word
    return made


def check_written(new: Row, as_shown: Row, names: Names) -> None:
    """Refuse what a caller below scope `names` would be shown otherwise than they wrote it: shown so, it would tell whose pseudonym is whose.

    Raises
    ------
    Forbidden
    """
    if names.pseudonyms and new != as_shown:
        raise Forbidden(
            "a rule or silence that names another person, or an executable with its folders, takes scope names",
            advice="Name yourself or nobody, or ask an operator.",
        )


def check_tried(tried: Any, names: Names) -> None:
    """Refuse to try a rule about one person to a caller who sees pseudonyms: its result would tell whose pseudonym is whose.

    Raises
    ------
    BadInput
        It is no rule.
    Forbidden
    """
    if names.pseudonyms and _about_others(read_rule(tried), names):
        raise Forbidden(
            "a rule about one person, or an executable with its folders, is tried with scope names",
            advice="Leave `user` out of `where`, or ask an operator.",
        )


def _about_others(tried: Rule, names: Names) -> bool:
    user, exe = tried.where.get("user"), tried.where.get("exe")
    return (user is not None and user != names.own) or (exe is not None and "/" in exe)


def dry_run(row: Row, names: Names) -> Row:
    """A caller's own task `alerting.test`: what they wrote as they wrote it, and names that the rule found as they may see them."""
    if not names.pseudonyms:
        return row
    try:
        tried = read_rule((row["args"] or {}).get("rule"))
    except BadInput:
        return {**row, "result": None}
    if _about_others(tried, names):
        return {**row, "args": None, "result": None, "error": None}
    result = row["result"]
    if isinstance(result, dict):
        result = {**result, "alerts": [_tried(one, tried, names) for one in result.get("alerts", [])]}
    return {**row, "result": result}


def _tried(one: Row, tried: Rule, names: Names) -> Row:
    template, found = tried.summary, {name: word for name, word in one["labels"].items() if name not in tried.labels}
    labels = {**one["labels"], **_labels(found, names)}
    if labels == one["labels"]:
        return one
    # A result of an older version lacks the value, so its text cannot be made anew.
    value = one.get("value")
    text = "" if value is None else _filled(template or "{user}: {value}", labels, value)
    return {**one, "labels": labels, "summary": text}
