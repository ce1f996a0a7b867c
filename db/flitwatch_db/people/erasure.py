"""Deletion of a user's data on request."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import psycopg
from psycopg import sql

from flitwatch_domain.alerts import expression_of, match_labels
from flitwatch_domain.errors import BadRequest

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


Conn = psycopg.Connection[Any]

#: JSON columns that can contain a user's name; such a row is deleted as a whole, because it is about that user.
_JSON = {
    "estimate": ("data", "result", "score", "parameters"),
    "event": ("payload",),
    "task": ("args", "result", "error"),
    "alert": ("labels", "evidence"),
    "alert_rule": ("rule",),
    "alert_silence": ("matchers",),
    "recommendation": ("detail",),
}
#: A name is the value of one of these keys, or in its list, at any depth. The same text elsewhere (a job, a counter, a key) is not the user's name.
_NAMED = """jsonb_path_exists({}, '$.** ? (@.user[*] == $name || @.users[*] == $name || @.user_name[*] == $name || @.created_by[*] == $name)',
    jsonb_build_object('name', %(user)s::text), true)"""
#: Rules and silences can select users with an expression between slashes.
_MENTIONED = """({field} LIKE '/%%/' AND replace({field}, '\\', '') ~ ('(^|[^[:alnum:]_.-])' || %(escaped)s || '($|[^[:alnum:]_.-])'))"""
_EXPRESSIONS = {"alert_rule": sql.SQL("rule #>> '{where,user}'"), "alert_silence": sql.SQL("matchers ->> 'user'")}
_KEYS = {"alert_rule": sql.SQL("name"), "alert_silence": sql.SQL("silence_id::text")}
#: Identifier of a rule or silence, and its texts.
_TEXTS = {
    "alert_rule": {
        "name": "to_jsonb(name)",
        "where": "rule -> 'where'",
        "labels": "rule -> 'labels'",
        "summary": "rule -> 'summary'",
    },
    "alert_silence": {"matchers": "matchers", "comment": "to_jsonb(comment)"},
    "alert": {"rule": "to_jsonb(rule)", "labels": "labels", "summary": "to_jsonb(summary)"},
}
#: A text at any depth contains the name as a word, regardless of case.
_HOLDS = """EXISTS (SELECT FROM jsonb_path_query({}, '$.** ? (@.type() == "string")') AS held WHERE held #>> '{{}}' ~* %(word)s)"""
#: Events only make clients reload, so one that contains the name anywhere is deleted. In a reason, only quoted words can be names, not its own (time, node).
_EVENT_HOLDS = (
    "CASE kind WHEN 'dead_letter' THEN payload ->> 'reason' ~* %(quoted)s WHEN 'counters' THEN false ELSE "
    + _HOLDS
    + " END"
)
#: Columns with the author's name in rows about other things: the row is kept, without the name.
_MADE = {"task": "NULL", "recommendation": "NULL", "estimate": "NULL", "alert_silence": "'erased'"}
#: A refused record is stored unchanged, as JSON or as fields between bars, and may be truncated.
_REFUSED = """EXISTS (SELECT FROM unnest(%(marks)s::text[]) AS mark WHERE position(convert_to(mark, 'UTF8') IN '|'::bytea || raw || '|'::bytea) > 0)
    OR reason ~* %(quoted)s OR where_ ~* %(quoted)s"""


def erase_user(conn: Conn, user: str, *, dry_run: bool = False) -> dict[str, int]:
    """Delete a user's jobs and runs, and all stored results, blame, alerts, rules, silences, tasks and refused records that name the user as a user.

    Rules and silences that select the user with an expression are deleted too, unless it also selects users with similar names or almost all users
    (`flitwatch_db.people.picking`). All files of pending tasks are deleted, because they can be uploaded again. Refused records are deleted if the
    reason quotes the name, and events if any text contains it. The user's own tasks, estimates and silences are kept without the name. Other texts
    that contain the name (a path, a job's name) are not searched. An account with that name is kept (`flitwatch_db.people.accounts.remove_account`),
    and so are the rules, silences and alerts from `list_remaining`.

    Counters of routers do not name users and are kept. The log of records, backups and the audit log are not changed: the log has its own
    retention, and the audit log is immutable. Other users' estimates that used this user's jobs are computed again without them.
    A record of the erasure (a salted digest without the name) is kept, so that a later restore of an archive does not restore the user (`Erased`).
    `flitwatch_db.archive.policy` removes the user from an archive's files.

    Parameters
    ----------
    conn : psycopg.Connection
        With role `owner`; everything is deleted in one transaction.
    user : str
        The scheduler's name of the user.
    dry_run : bool
        Only count.

    Returns
    -------
    dict
        {table: rows}; `created_by`: rows that were kept without their author's name

    Raises
    ------
    BadRequest
        The name is empty.
    """
    if not user.strip():
        raise BadRequest("no user is named", advice="Write the name as in the scheduler.")
    parameters = _build_parameters(conn, user)
    counts: dict[str, int] = {}
    with conn.transaction(force_rollback=dry_run):
        # Files of pending tasks can contain the name in any form. They come first, so that a task that has read one cannot store the name again afterwards.
        counts["task_file"] = _delete_rows(conn, "task_file", sql.SQL("true"), parameters)
        for table, columns in _JSON.items():
            counts[table] = _delete_rows(conn, table, _build_condition(table, columns), parameters)
        counts["estimate_entry"] = _delete_rows(
            conn, "estimate_entry", sql.SQL("by_what = 'user' AND name = %(user)s"), parameters
        )
        counts["dead_letter"] = _delete_rows(conn, "dead_letter", sql.SQL(_REFUSED), parameters)
        counts["created_by"] = sum(
            conn.execute(
                sql.SQL("UPDATE {} SET created_by = {} WHERE created_by = %(user)s").format(
                    sql.Identifier(table), sql.SQL(then)
                ),
                parameters,
            ).rowcount
            for table, then in _MADE.items()
        )
        mine = sql.SQL("job_pk IN (SELECT job_pk FROM job WHERE user_name = %(user)s)")
        # Ranks, steps, forecasts and nodes are deleted with their run and job.
        counts["run"] = _delete_rows(conn, "run", mine, parameters)
        counts["job"] = _delete_rows(conn, "job", sql.SQL("user_name = %(user)s"), parameters)
        conn.execute(
            "INSERT INTO erased_user (salt, digest) SELECT salt, encode(sha256(convert_to(salt || %(user)s, 'UTF8')), 'hex')"
            " FROM (SELECT replace(gen_random_uuid()::text, '-', '') AS salt) AS s",
            parameters,
        )
    return counts


def list_remaining(conn: Conn, user: str) -> list[str]:
    """Return the rules, silences and alerts related to the user that `erase_user` keeps, with the reason, one line each."""
    parameters = _build_parameters(conn, user)
    lines = []
    for table, key in _KEYS.items():
        field_names = sql.SQL(", ").join(
            sql.SQL("CASE WHEN {} THEN {} END").format(sql.SQL(_HOLDS).format(sql.SQL(text)), sql.Literal(name))
            for name, text in _TEXTS[table].items()
        )
        query = sql.SQL("SELECT {}, {}, concat_ws(', ', {}) FROM {} WHERE ({}) IS NOT TRUE ORDER BY 1").format(
            key, _EXPRESSIONS[table], field_names, sql.Identifier(table), _build_condition(table, _JSON[table])
        )
        for name, matcher, where in conn.execute(query, parameters).fetchall():
            what = f"{table.replace('_', ' ')} {name}"
            if classify_matcher(matcher or "", user) == "others too":
                lines.append(f"{what} is kept: {matcher} matches others too")
            elif where:
                lines.append(f"{what} is kept: it is about others, but contains the name in its {where}")
    holds = sql.SQL(" OR ").join(sql.SQL(_HOLDS).format(sql.SQL(text)) for text in _TEXTS["alert"].values())
    query = sql.SQL("SELECT rule, count(*) FROM alert WHERE ({}) IS NOT TRUE AND ({}) GROUP BY 1 ORDER BY 1").format(
        _build_condition("alert", _JSON["alert"]), holds
    )
    for rule, count in conn.execute(query, parameters).fetchall():
        lines.append(f"alerts of rule {rule} are kept: {count} with the name in a text")
    mailed = "SELECT name FROM alert_contact WHERE array_to_string(addresses, ' ') ~* %(word)s ORDER BY 1"
    for (name,) in conn.execute(mailed, parameters).fetchall():
        lines.append(f"contact point {name} is kept: its mail address contains the name; remove it on the page")
    return lines


class Erased:
    """Users erased from this database, with the times; on a connection with role `owner`."""

    def __init__(self, conn: Conn) -> None:
        self._rows = conn.execute("SELECT salt, digest, erased_at FROM erased_user").fetchall()
        self._at: dict[str, datetime | None] = {}

    def holds(self, user: str | None, began: datetime) -> bool:
        """Return whether an object with that start belonged to a user who has been erased since."""
        if user is None or not self._rows:
            return False
        if user not in self._at:
            self._at[user] = max(
                (at for salt, digest, at in self._rows if hashlib.sha256((salt + user).encode()).hexdigest() == digest),
                default=None,
            )
        at = self._at[user]
        return at is not None and began <= at


def _build_parameters(conn: Conn, user: str) -> dict[str, str | list[str]]:
    quoted_names = {json.dumps(user), json.dumps(user, ensure_ascii=False)}
    name = re.escape(user)
    parameters: dict[str, str | list[str]] = {
        "user": user,
        "escaped": re.escape(user.replace("\\", "")),
        "marks": [f"|{user}|", *(f'"user":{space}{text}' for text in quoted_names for space in ("", " "))],
        "word": f"(^|[^[:alnum:]]){name}($|[^[:alnum:]])",
        "quoted": f"[\"'`(](.*[^[:alnum:]])?{name}([^[:alnum:]].*)?[\"'`)]",
    }
    for table, field in _EXPRESSIONS.items():
        query = sql.SQL("SELECT {}, {} FROM {} WHERE {} LIKE '/%/'").format(
            _KEYS[table], field, sql.Identifier(table), field
        )
        parameters[table] = [
            key for key, matcher in conn.execute(query) if classify_matcher(matcher, user) == "the user"
        ]
    return parameters


def _build_condition(table: str, columns: tuple[str, ...]) -> sql.Composable:
    """Return the condition for the rows of a table that are about the user."""
    conditions: list[sql.Composable] = [sql.SQL(_NAMED).format(sql.Identifier(column)) for column in columns]
    if table in _EXPRESSIONS:
        conditions.append(sql.SQL(_MENTIONED).format(field=_EXPRESSIONS[table]))
        conditions.append(sql.SQL("{} = ANY ({})").format(_KEYS[table], sql.Placeholder(table)))
    if table == "event":
        conditions.append(sql.SQL(_EVENT_HOLDS).format(sql.Identifier("payload")))
    if table == "recommendation":
        conditions.append(sql.SQL("user_name = %(user)s"))
    return sql.SQL(" OR ").join(conditions)


def _delete_rows(conn: Conn, table: str, condition: sql.Composable, parameters: Mapping[str, str | list[str]]) -> int:
    return conn.execute(
        sql.SQL("DELETE FROM {} WHERE {}").format(sql.Identifier(table), condition), parameters
    ).rowcount
