"""Evidence about a job for its user: one self-contained HTML page made from its explanation, with pictures, values, method and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

from flitwatch_domain.explanation.chain import LEAST_SHARE
from flitwatch_domain.explanation.pictures import Line, draw_picture
from flitwatch_domain.explanation.result import Explanation

_PARTS = {"steps": "Slowdown", "links": "Affected links", "jobs": "Jobs that send most", "since": "Since when"}
_PARTS |= {"certainty": "Confidence", "help": "What would help"}
_METHOD = (
    "Each step's time is divided by the median of the same step over earlier runs of the application on as many nodes. The "
    "method looks for one slow period, which counts if it is at least 10 % and 6 standard errors slower. The interval of the "
    "onset contains every first step whose log-likelihood is within 1.92 of the best (95 %). If stalls on the job's own routers "
    "rise within the interval, their counters narrow it.",
    "The waiting is divided by flow. The routes of the machine determine the links that each job uses. On each link of the slow "
    "job's path, the stall cycles per flit beyond those of a quiet minute are divided among the jobs in proportion to the rise "
    "of their load since that minute. The job's own share is the square of its share of the rise. A job can be named if it ran "
    "before the slowdown and has at least a fifth of the waiting. One job is named with at least half of it, or several with "
    "three fifths, if each has more than twice the share of the next job. If later jobs hide the first one, the minutes in "
    "which they have less than a fifth count alone. There it needs a tenth of the whole waiting.",
    "If counters of network cards or routes are missing, every job alongside gets a score. It combines whether the job started "
    "or began to send more within that interval, its share of the added traffic where the two jobs meet, weighted with the rise "
    "of stalls at its own routers, its share of the slow period, and blame's verdict on its user. A job is named only if its "
    "score is at least 0.6 and twice the next one, and if the stalls on the slow job's routers, or on their neighbours, rose by "
    "at least a fifth.",
)
_LIMITS = (
    "A name is based on traffic and timing. It does not prove that the job caused the slowdown.",
    "Routers, links and network cards without counters are not visible, and neither are jobs that the scheduler did not report.",
    "A change in the application's own work (input, checkpoint, file system) can look the same if its earlier runs worked differently.",
    "The time saved is the extra time of the remaining steps at the present speed. Other jobs that may run by then are unknown.",
)
_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; color: #1a1c1f; max-width: 900px; margin: 24px auto; padding: 0 16px; }
h1 { font-size: 22px; margin-bottom: 4px; } h2 { font-size: 16px; margin: 24px 0 6px; } p { margin: 4px 0; }
table { border-collapse: collapse; } :is(td, th) { padding: 3px 12px 3px 0; text-align: left; border-bottom: 1px solid #e4e4df; }
dt { font-weight: 600; } dd { margin: 0 0 6px; } .muted { color: #52565d; } .tag { border: 1px solid #c8c8c1; border-radius: 4px; padding: 0 5px; }
svg { max-width: 100%; height: auto; } code { overflow-wrap: anywhere; } section { break-inside: avoid; }
"""


@dataclass(frozen=True)
class Evidence:
    """Content of an evidence page: an explanation, the lines of its step times (empty without steps), and the lines of its counters."""

    made: Explanation
    steps: Sequence[Line]
    counters: Sequence[tuple[str, Line]]


def render_page(evidence: Evidence, address: str | None, at: datetime) -> str:
    """Return the page; `address` is the requested address and `at` the time. The page loads nothing and runs no script."""
    body = _render_body(evidence, address, at)
    title = escape(f"Job {evidence.made['job_id']}: {evidence.made['title']}")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _render_body(evidence: Evidence, address: str | None, at: datetime) -> str:
    explanation = evidence.made
    marks = _list_marks(explanation)
    who = " · ".join(
        escape(str(text))
        for text in (
            explanation["name"],
            explanation["user"] and f"user {explanation['user']}",
            explanation["nodes"] and f"{explanation['nodes']} nodes",
            explanation["cluster"],
        )
        if text
    )
    pictures = [draw_picture(evidence.steps, "Step time, s", marks)] if evidence.steps else []
    pictures += [draw_picture([line], label, marks, height=120) for label, line in evidence.counters]
    simulated = ' <span class="tag">simulated data</span>' if explanation["simulated"] else ""
    parts = [
        f"<h1>Job {escape(explanation['job_id'])}: {escape(explanation['title'])}{simulated}</h1>",
        f'<p class="muted">{who}</p><p>{escape(explanation["detail"])}</p>',
        _render_section("The causal chain", _render_chain(explanation)) if explanation["chain"] else "",
        _render_section("Pictures", "".join(f"<figure>{text}</figure>" for text in pictures)) if pictures else "",
        _render_section("Figures", _render_figures(explanation)),
        _render_section("Method", "".join(f"<p>{escape(text)}</p>" for text in _METHOD)),
        _render_section(
            "What this does not prove", "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in _LIMITS) + "</ul>"
        ),
        _render_section(
            "Origin",
            (f'<p>Address: <a href="{escape(address)}">{escape(address)}</a></p>' if address else "")
            + f"<p>Machine {escape(explanation['cluster'])}; {_describe_window(explanation)}.</p>"
            + f"<p>As of {_format_moment(explanation['as_of'])}; made {_format_moment(at)}. All times are UTC.</p>",
        ),
    ]
    return "<main>\n" + "\n".join(text for text in parts if text) + "\n</main>"


def _describe_window(made: Explanation) -> str:
    if made["start"] is None:
        return "the job has not started"
    return f"window {_format_moment(made['start'])} to {_format_moment(made['end'] or made['as_of'])}"


def _render_section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>"


def _render_chain(made: Explanation) -> str:
    items = ""
    before = None
    for sentence in made["chain"]:
        items += f"<dt>{_PARTS[sentence['part']]}</dt>" if sentence["part"] != before else ""
        items += f"<dd>{escape(sentence['text'])}</dd>"
        before = sentence["part"]
    return f"<dl>{items}</dl>"


def _list_marks(made: Explanation) -> list[tuple[float, str]]:
    """Return moments to mark in the pictures: the onset, and the start of the named job."""
    slow = made["slowdown"]
    if slow is None or slow["from_start"]:
        return []
    named = next((candidate for candidate in made["candidates"] if candidate["named"]), None)
    if named is not None:
        did = "sends more" if named["change"] == "sends more" else "started"
        return [((named["changed"] or named["start"]).timestamp(), f"job {named['job_id']} {did}")]
    return [(slow["since"].timestamp(), "slower from here on")]


def _render_figures(made: Explanation) -> str:
    slow, tables = made["slowdown"], ""
    if slow is not None:
        rows = [
            ("Time divided by usual time", f"{slow['factor']:.2f}"),
            ("Lost", f"{slow['lost_s']:.0f} s"),
            ("Earlier runs", str(slow["earlier_runs"])),
            ("Began between", f"{_format_moment(slow['since_low'])} and {_format_moment(slow['since_high'])} (95 %)"),
        ]
        tables += _render_table(("Figure", "Value"), rows)
    if made["links"]:
        links = [
            (
                f"{link['from_name']} to {link['to_name']}",
                link["link_class"],
                _format_ratio(link["stall_ratio_before"]),
                _format_ratio(link["stall_ratio_after"]),
            )
            for link in made["links"]
        ]
        tables += _render_table(("Link", "Class", "Stall ratio before", "after"), links)
    return tables + _render_jobs(made) or "<p>There are no figures, because the job was not slow.</p>"


def _render_jobs(made: Explanation) -> str:
    """Render the likely jobs. A user appears only next to the named job, because readers take a name for a finding."""
    likely = [candidate for candidate in made["candidates"] if candidate["score"] >= LEAST_SHARE]
    if not likely:
        return ""
    rows = [
        (
            candidate["job_id"],
            str(candidate["nodes"] or "unknown"),
            _format_moment(candidate["start"]),
            f"{candidate['score']:.2f}",
            f"yes, user {candidate['user'] or 'unknown'}" if candidate["named"] else "no",
        )
        for candidate in likely
    ]
    nobody = (
        "" if made["named"] is not None else "<p>None of these jobs is named, because their shares are too small.</p>"
    )
    return nobody + _render_table(("Job", "Nodes", "Started", "Share", "Named"), rows)


def _render_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    columns = "".join(f'<th scope="col">{escape(label)}</th>' for label in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>"


def _format_moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _format_ratio(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2g}"
