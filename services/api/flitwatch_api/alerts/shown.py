"""Alerts, rules, silences and dry runs as shown to a caller: below scope `names`, they name no other person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flitwatch_api.names import Names
from flitwatch_domain.alerts import Rule, read_rule
from flitwatch_domain.errors import BadInput, Forbidden

Row = dict[str, Any]
#: Labels with machine values; other labels can contain names.
OF_MACHINES = frozenset({"fabric", "group", "class", "job", "run", "nodes", "severity", "signal"})
HIDDEN = "..."
FAILED = "the receiver did not accept it"


def _mask_labels(held: dict[str, str], names: Names) -> dict[str, str]:
    shown_labels = dict(held)
    if "user" in shown_labels:
        shown_labels["user"] = names.user(shown_labels["user"])
    if "exe" in shown_labels:
        shown_labels["exe"] = names.path(shown_labels["exe"])
    return shown_labels


def _mask_text(text: str, about: dict[str, str], names: Names) -> str:
    """Return an operator's text without the name of the person whom the rule concerns."""
    user = about.get("user")
    if not user or names.user(user) == user:
        return text
    return re.sub(re.escape(user), names.user(user), text, flags=re.IGNORECASE)


def _fill_template(template: str, labels: dict[str, str], value: float) -> str:
    for name, word in {**labels, "value": f"{value:.3g}"}.items():
        template = template.replace(f"{{{name}}}", word)
    return template


def mask_rule(held: Row, names: Names) -> Row:
    """Return a rule as shown to the caller."""
    if not names.pseudonyms:
        return held
    about = held.get("where") or {}
    labels = {name: _mask_text(word, about, names) for name, word in (held.get("labels") or {}).items()}
    texts: Row = {name: _mask_text(held[name], about, names) for name in ("name", "summary") if name in held}
    return {**held, **texts, "labels": _mask_labels(labels, names), "where": _mask_labels(about, names)}


def mask_alert(row: Row, names: Names) -> Row:
    """Return an alert as shown to the caller. Its text is generated again from the visible labels."""
    template, about = row.pop("template"), row.pop("about") or {}
    if not names.pseudonyms:
        return row
    # A rule's other labels are its author's text, and one of them contains the rule's name.
    labels = {
        name: word if name in ("user", "exe") else _mask_text(word, about, names)
        for name, word in row["labels"].items()
    }
    shown_alert = {**row, "labels": _mask_labels(labels, names), "rule": _mask_text(row["rule"], about, names)}
    if shown_alert["labels"] != row["labels"] or _mask_labels(about, names) != about:
        shown_alert["summary"] = _fill_template(
            _mask_text(template or "{user}: {value}", about, names), shown_alert["labels"], row["value"]
        )
    if (shown_alert.get("evidence") or {}).get("rule"):
        shown_alert["evidence"] = {**shown_alert["evidence"], "rule": mask_rule(shown_alert["evidence"]["rule"], names)}
    return shown_alert


def mask_notices(rows: list[Row], operates: bool) -> list[Row]:
    """Return an alert's notices. Receivers' responses are hidden unless the caller `operates` the site."""
    return rows if operates else [{**row, "error": row["error"] and FAILED} for row in rows]


def mask_contact(row: Row, operates: bool) -> Row:
    """Return a contact point. Its addresses and its mail server's response are hidden unless the caller `operates` the site."""
    return row if operates else {**row, "addresses": None, "test_error": row["test_error"] and FAILED}


def mask_silence(row: Row, names: Names, rules: dict[str, Row]) -> Row:
    """Return a silence with masked matchers and without its comment, which is free text. `rules` contains all rules by name."""
    if not names.pseudonyms:
        return row
    by, shown_matchers = row["created_by"], mask_matchers(row["matchers"], names, rules)
    return {**row, "matchers": shown_matchers, "comment": None, "created_by": names.author(by)}


def mask_matchers(
    held: Mapping[str, str], names: Names, rules: dict[str, Row], *, hidden: bool = True
) -> dict[str, str]:
    """Return a silence's matchers as shown with pseudonyms. Values that may name a user are shown only if `hidden` is false."""
    shown_matchers = {}
    for name, word in held.items():
        if name in OF_MACHINES:
            shown_matchers[name] = word
        elif name == "rule" and word in rules:
            shown_matchers[name] = _mask_text(word, rules[word].get("where") or {}, names)
        elif name in ("user", "exe") and word[:1] != "/":
            shown_matchers.update(_mask_labels({name: word}, names))
        else:
            shown_matchers[name] = HIDDEN if hidden else word
    return shown_matchers


def check_written(new: Row, as_shown: Row, names: Names) -> None:
    """Refuse text that a caller below scope `names` would see altered: the alteration would reveal whom a pseudonym stands for.

    Raises
    ------
    Forbidden
    """
    if names.pseudonyms and new != as_shown:
        raise Forbidden(
            "a rule or silence that names another person, or an executable with its path, requires scope names",
            advice="Use your own name, leave the user out, or ask an operator.",
        )


def check_tried(tried: Any, names: Names) -> None:
    """Refuse to test a rule about one person for a caller who sees pseudonyms: the result would reveal whom a pseudonym stands for.

    Raises
    ------
    BadInput
        The input is not a rule.
    Forbidden
    """
    if names.pseudonyms and _about_others(read_rule(tried), names):
        raise Forbidden(
            "testing a rule about one person, or an executable with its path, requires scope names",
            advice="Leave `user` out of `where`, or ask an operator.",
        )


def _about_others(tried: Rule, names: Names) -> bool:
    user, exe = tried.where.get("user"), tried.where.get("exe")
    return (user is not None and user != names.own) or (exe is not None and "/" in exe)


def dry_run(row: Row, names: Names) -> Row:
    """Return a caller's own task `alerting.test`: their own text unchanged, and names in the result as shown to them."""
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
        result = {**result, "alerts": [_mask_dry_alert(alert, tried, names) for alert in result.get("alerts", [])]}
    return {**row, "result": result}


def _mask_dry_alert(one: Row, tried: Rule, names: Names) -> Row:
    template, series_labels = (
        tried.summary,
        {name: word for name, word in one["labels"].items() if name not in tried.labels},
    )
    labels = {**one["labels"], **_mask_labels(series_labels, names)}
    if labels == one["labels"]:
        return one
    # A result of an older version lacks the value, so its text cannot be generated again.
    value = one.get("value")
    text = "" if value is None else _fill_template(template or "{user}: {value}", labels, value)
    return {**one, "labels": labels, "summary": text}
