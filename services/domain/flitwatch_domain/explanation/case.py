"""The evidence of a job that a user can be shown: one self-contained HTML page made from its explanation, with pictures, figures, method and limits."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

from flitwatch_domain.errors import BadInput
from flitwatch_domain.explanation.chain import LEAST_SHARE
from flitwatch_domain.explanation.pictures import Line, picture
from flitwatch_domain.explanation.result import Explanation

_PARTS = {"steps": "How slow", "links": "What carries it", "jobs": "Who feeds it", "since": "Since when"}
_PARTS |= {"certainty": "How sure", "help": "What would help"}
_METHOD = (
    "Each step's time is divided by the median of the same step over earlier runs of the application on as many nodes. One elevated stretch is looked for;"
    " it counts from 10 % and 6 standard errors on. The interval of its onset holds every first step whose likelihood is within 1.92 of the best (95 %);"
    " counters of the job's own routers narrow it where their stalls rise within it.",
    "What it waits for is divided by flow. From the routes of the machine follows which links the traffic of each job takes. On each link of the slow job's way, the stall cycles"
    " a flit beyond those of a quiet minute are divided among the jobs by how much the load of each rose there since that minute; the job's own part is the square of its share of"
    " what rose. Jobs are named that ran before it was slow, have a fifth or more of the whole, and one half of it or several three fifths, each more than twice the next one's.",
    "Where that is not known, for want of network cards' counters or routes, every job beside it gets a score: whether it started or began to send more within that interval, its share of the bytes a second that were added where"
    " the two meet, weighted by how much the stalls at its own routers rose against the machine's mean, the share of the slow stretch that it ran, and what blame found of its user in earlier runs. A job is named only where its score is 0.6"
    " or more and twice the next one's, and where the stalls on the slow job's routers, or on those that its links lead to, rose by a fifth or more.",
)
_LIMITS = (
    "Being named is traffic and time. It does not prove that the named job caused the slowness.",
    "What is not counted is not seen: routers, links and network cards without counters, and jobs that the scheduler did not report.",
    "A change of the application's own work (input, checkpoint, file system) can look the same where its earlier runs did something else.",
    "Minutes saved are what the steps to come would take longer at the present pace; whoever else runs by then is not known.",
)
_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; color: #1a1c1f; max-width: 900px; margin: 24px auto; padding: 0 16px; }
h1 { font-size: 22px; margin-bottom: 4px; } h2 { font-size: 16px; margin: 24px 0 6px; } p { margin: 4px 0; }
table { border-collapse: collapse; } :is(td, th) { padding: 3px 12px 3px 0; text-align: left; border-bottom: 1px solid #e4e4df; }
dt { font-weight: 600; } dd { margin: 0 0 6px; } .muted, footer { color: #52565d; } .tag { border: 1px solid #c8c8c1; border-radius: 4px; padding: 0 5px; }
svg { max-width: 100%; height: auto; } code { overflow-wrap: anywhere; } section { break-inside: avoid; }
"""


_HASH, _NO_HASH = '<code id="hash">{}</code>', "0" * 64
_HELD = re.compile(r'<code id="hash">([0-9a-f]{64})</code>')


@dataclass(frozen=True)
class Evidence:
    """What a case is made from: an explanation, the lines of its step times (none without steps), and those of its counters."""

    made: Explanation
    steps: Sequence[Line]
    counters: Sequence[tuple[str, Line]]


def html(evidence: Evidence, address: str | None, at: datetime) -> str:
    """The page; `address` is where it was asked from, `at` when. It loads nothing, runs no script, and ends with its own hash."""
    body = _main(evidence, address, at)
    title = escape(f"Job {evidence.made['job_id']}: {evidence.made['title']}")
    page = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n{body}\n"
        f"<footer><p>SHA-256 of this file with zeros in the place of the hash: {_HASH.format(_NO_HASH)}. <code>flitwatch evidence FILE</code> checks it."
        " It shows whether the file was changed since, not who wrote it.</p></footer></body></html>\n"
    )
    return page.replace(_HASH.format(_NO_HASH), _HASH.format(content_hash(page)))


def content_hash(page: str) -> str:
    """SHA-256 of a page in hexadecimal, with zeros in the place of the hash that it holds."""
    return hashlib.sha256(_HELD.sub(_HASH.format(_NO_HASH), page).encode()).hexdigest()


def stored_hash(page: str) -> str:
    """The hash that a page holds.

    Raises
    ------
    BadInput
        It holds none, or several.
    """
    held = _HELD.findall(page)
    if len(held) != 1:
        raise BadInput(
            "it is no evidence page: it holds no hash of its own", advice="Write one: flitwatch job ID --evidence FILE."
        )
    return str(held[0])


def _main(evidence: Evidence, address: str | None, at: datetime) -> str:
    made = evidence.made
    marks = _marks(made)
    who = " · ".join(
        escape(str(one))
        for one in (
            made["name"],
            made["user"] and f"user {made['user']}",
            made["nodes"] and f"{made['nodes']} nodes",
            made["cluster"],
        )
        if one
    )
    pictures = [picture(evidence.steps, "Step time, s", marks)] if evidence.steps else []
    pictures += [picture([line], label, marks, height=120) for label, line in evidence.counters]
    simulated = ' <span class="tag">simulated data</span>' if made["simulated"] else ""
    parts = [
        f"<h1>Job {escape(made['job_id'])}: {escape(made['title'])}{simulated}</h1>",
        f'<p class="muted">{who}</p><p>{escape(made["detail"])}</p>',
        _section("The causal chain", _chain(made)) if made["chain"] else "",
        _section("Pictures", "".join(f"<figure>{one}</figure>" for one in pictures)) if pictures else "",
        _section("Figures", _figures(made)),
        _section("Method", "".join(f"<p>{escape(one)}</p>" for one in _METHOD)),
        _section("What this does not prove", "<ul>" + "".join(f"<li>{escape(one)}</li>" for one in _LIMITS) + "</ul>"),
        _section(
            "Where it comes from",
            (f'<p>Address: <a href="{escape(address)}">{escape(address)}</a></p>' if address else "")
            + f"<p>Machine {escape(made['cluster'])}; {_window(made)}.</p>"
            + f"<p>As of {_moment(made['as_of'])}; made {_moment(at)}. All times are UTC.</p>",
        ),
    ]
    return "<main>\n" + "\n".join(one for one in parts if one) + "\n</main>"


def _window(made: Explanation) -> str:
    if made["start"] is None:
        return "the job has not begun"
    return f"window {_moment(made['start'])} to {_moment(made['end'] or made['as_of'])}"


def _section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>"


def _chain(made: Explanation) -> str:
    told = ""
    before = None
    for one in made["chain"]:
        told += f"<dt>{_PARTS[one['part']]}</dt>" if one["part"] != before else ""
        told += f"<dd>{escape(one['text'])}</dd>"
        before = one["part"]
    return f"<dl>{told}</dl>"


def _marks(made: Explanation) -> list[tuple[float, str]]:
    """Moments that the pictures name: the onset, and the start of who is named."""
    slow = made["slowdown"]
    if slow is None or slow["from_start"]:
        return []
    named = next((one for one in made["candidates"] if one["named"]), None)
    if named is not None:
        did = "sends more" if named["change"] == "sends more" else "started"
        return [((named["changed"] or named["start"]).timestamp(), f"job {named['job_id']} {did}")]
    return [(slow["since"].timestamp(), "slower from here on")]


def _figures(made: Explanation) -> str:
    slow, tables = made["slowdown"], ""
    if slow is not None:
        rows = [
            ("Time over usual time", f"{slow['factor']:.2f}"),
            ("Lost", f"{slow['lost_s']:.0f} s"),
            ("Earlier runs", str(slow["earlier_runs"])),
            ("Began between", f"{_moment(slow['since_low'])} and {_moment(slow['since_high'])} (95 %)"),
        ]
        tables += _table(("Figure", "Value"), rows)
    if made["links"]:
        links = [
            (
                f"{one['from_name']} to {one['to_name']}",
                one["link_class"],
                _ratio(one["stall_ratio_before"]),
                _ratio(one["stall_ratio_after"]),
            )
            for one in made["links"]
        ]
        tables += _table(("Link", "Class", "Stall ratio before", "after"), links)
    return tables + _jobs(made) or "<p>There are no figures: the job was not found to be slow.</p>"


def _jobs(made: Explanation) -> str:
    """The likely jobs; a person stands only beside the job that is named, since whoever reads this takes a name for a finding."""
    likely = [one for one in made["candidates"] if one["score"] >= LEAST_SHARE]
    if not likely:
        return ""
    rows = [
        (
            one["job_id"],
            str(one["nodes"] or "unknown"),
            _moment(one["start"]),
            f"{one['score']:.2f}",
            f"yes, user {one['user'] or 'unknown'}" if one["named"] else "no",
        )
        for one in likely
    ]
    nobody = "" if made["named"] is not None else "<p>None of these jobs is named: their shares do not suffice.</p>"
    return nobody + _table(("Job", "Nodes", "Started", "Share", "Named"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    columns = "".join(f'<th scope="col">{escape(one)}</th>' for one in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>"


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _ratio(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2g}"
