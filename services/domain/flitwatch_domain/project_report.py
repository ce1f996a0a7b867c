"""Node-hours that a project lost to network congestion in a month, by job and by cause; as a page, a table and a PDF."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from flitwatch_domain.explanation.words import format_count
from flitwatch_domain.incidents import IncidentHead, LostTime, SlowedJob, node_hours
from flitwatch_domain.table_file import render_table

_WIDTH, _HEIGHT, _MARGIN = 595, 842, 50
_SIZE, _LEAD = 9, 13
_LINES = (_HEIGHT - 2 * _MARGIN) // _LEAD


def render_pdf(title: str, lines: Sequence[str]) -> bytes:
    """Render a document in Courier, so that columns stay aligned; characters beyond Latin-1 become question marks."""
    pages = [lines[at : at + _LINES - 2] for at in range(0, len(lines), _LINES - 2)] or [[]]
    count = len(pages)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{' '.join(f'{5 + 2 * number} 0 R' for number in range(count))}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
        b"<< /Title " + _write_text(title) + b" /Creator (Flitwatch) >>",
    ]
    for number, page in enumerate(pages):
        shown = [title, "", *page] if number == 0 else [f"{title} ({number + 1})", "", *page]
        drawn = b"".join(_write_text(line) + b" Tj T*\n" for line in shown)
        stream = f"BT /F1 {_SIZE} Tf {_LEAD} TL {_MARGIN} {_HEIGHT - _MARGIN} Td\n".encode() + drawn + b"ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {_WIDTH} {_HEIGHT}] /Resources << /Font << /F1 3 0 R >> >> /Contents {6 + 2 * number} 0 R >>".encode()
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n".encode() + stream + b"\nendstream")
    file, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(file))
        file += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = len(file)
    file += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    file += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    file += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info 4 0 R >>\nstartxref\n{table}\n%%EOF\n".encode()
    return bytes(file)


def _write_text(text: str) -> bytes:
    plain = text.encode("cp1252", "replace")
    return b"(" + plain.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)") + b")"


_STYLE = "body{font:14px/1.5 system-ui,sans-serif;max-width:900px;margin:24px auto;padding:0 16px}table{border-collapse:collapse}:is(td,th){padding:3px 12px 3px 0;text-align:left;border-bottom:1px solid #e4e4df}td.n{text-align:right}"
COLUMNS = ("job_id", "user", "name", "nodes", "since", "factor", "node_hours", "node_hours_low", "node_hours_high", "slowed_by", "incident_id", "simulated")  # fmt: skip


_Hours = Annotated[float | None, Field(description="Null: the number of nodes of a job is unknown.")]
_Low = Annotated[float | None, Field(description="95 % interval.")]


class ProjectLoss(TypedDict):
    """A job of the project that an incident slowed."""

    job_id: str
    user: str | None
    name: str | None
    nodes: int | None
    since: Annotated[datetime, Field(description="When it became slow.")]
    factor: Annotated[float, Field(description="Its time divided by the usual time.")]
    node_hours: _Hours
    node_hours_low: _Low
    node_hours_high: float | None
    slowed_by: Annotated[
        list[str], Field(description="Jobs that are named as causes, with their users as the caller may see them.")
    ]
    incident_id: int
    simulated: bool


class ProjectCause(TypedDict):
    """A user whose jobs slowed jobs of the project."""

    user: str
    jobs: int
    node_hours: Annotated[
        float | None,
        Field(
            description="The node-hours of a job with several causes are divided evenly; null: the number of nodes of a job is unknown."
        ),
    ]


class ProjectReport(TypedDict):
    """Losses of a project to network congestion in a month."""

    account: str
    month: str
    jobs: Annotated[list[ProjectLoss], Field(description="The job that lost most comes first.")]
    causes: Annotated[list[ProjectCause], Field(description="The user that cost most comes first.")]
    node_hours: _Hours
    node_hours_low: _Low
    node_hours_high: float | None


def find_month(month: str) -> tuple[float, float]:
    """Return the start of a month such as 2026-10 and of the next one, in epoch seconds (UTC); ValueError if it is not a month."""
    first = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
    after = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
    return first.timestamp(), after.timestamp()


def build_report(
    account: str, month: str, incidents: Iterable[tuple[IncidentHead, Sequence[SlowedJob]]]
) -> ProjectReport:
    """Add up the losses of the account's jobs that became slow in that month."""
    first_s, after_s = find_month(month)
    losses: list[ProjectLoss] = []
    shares: dict[str, list[float | None]] = {}
    times: list[LostTime] = []
    for head, slowed in incidents:
        users = {cause["job_id"]: cause["user"] or "unknown user" for cause in head["causes"]}
        for job in slowed:
            if job["account"] != account or not first_s <= job["since"].timestamp() < after_s:
                continue
            lost = LostTime(job["lost_s"], job["lost_low_s"], job["lost_high_s"], job["nodes"])
            times.append(lost)
            hours, low, high = node_hours([lost]) or (None, None, None)
            named = [one for one in job["named"] if one in users]
            for one in named:
                shares.setdefault(users[one], []).append(None if hours is None else hours / len(named))
            losses.append({
                "job_id": job["job_id"], "user": job["user"], "name": job["name"], "nodes": job["nodes"], "since": job["since"], "factor": job["factor"],
                "node_hours": hours, "node_hours_low": low, "node_hours_high": high, "slowed_by": [f"{one} ({users[one]})" for one in named],
                "incident_id": head["incident_id"], "simulated": job["simulated"],
            })  # fmt: skip
    losses.sort(key=_sort_by_hours)
    causes: list[ProjectCause] = [
        {"user": user, "jobs": len(some), "node_hours": _add_hours(some)} for user, some in shares.items()
    ]
    total, low, high = node_hours(times) or (None, None, None)
    return {
        "account": account, "month": month, "jobs": losses, "causes": sorted(causes, key=_sort_by_hours),
        "node_hours": total, "node_hours_low": low, "node_hours_high": high,
    }  # fmt: skip


def _sort_by_hours(row: ProjectLoss | ProjectCause) -> float:
    """Return the key of the order by node-hours, the largest first and the unknown last."""
    return math.inf if row["node_hours"] is None else -row["node_hours"]


def _add_hours(some: Sequence[float | None]) -> float | None:
    each = [hours for hours in some if hours is not None]
    return sum(each) if len(each) == len(some) else None


def format_hours(hours: float | None) -> str:
    """Format node-hours with one decimal place."""
    return "unknown" if hours is None else f"{hours:.1f}"


def describe_report(report: ProjectReport) -> str:
    """Describe the report in a sentence."""
    if not report["jobs"]:
        return "In this month, no incident slowed a job of a project with this name."
    jobs = format_count(len(report["jobs"]), "slow job")
    if report["node_hours"] is None:
        return f"{jobs} lost an unknown number of node-hours, because the number of nodes of a job is unknown."
    low, high = format_hours(report["node_hours_low"]), format_hours(report["node_hours_high"])
    return f"{jobs} lost {format_hours(report['node_hours'])} node-hours (95 % interval {low} to {high})."


def render_csv(report: ProjectReport) -> str:
    """Render the jobs as a table (CSV)."""
    return render_table(COLUMNS, ({**loss, "slowed_by": " ".join(loss["slowed_by"])} for loss in report["jobs"]))


def render_page(report: ProjectReport) -> str:
    """Render the report as an HTML page that loads nothing."""
    title = escape(f"{report['account']}, {report['month']}: time lost to network congestion")
    causes = "".join(
        f"<tr><td>{escape(cause['user'])}</td><td class=n>{cause['jobs']}</td><td class=n>{format_hours(cause['node_hours'])}</td></tr>"
        for cause in report["causes"]
    )
    jobs = "".join(
        f"<tr><td>{escape(loss['job_id'])}{' (simulated)' if loss['simulated'] else ''}</td><td>{escape(loss['user'] or 'unknown')}</td><td>{loss['since']:%Y-%m-%d %H:%M}</td>"
        f"<td class=n>{loss['factor']:.2f}</td><td class=n>{format_hours(loss['node_hours'])}</td><td>{escape(', '.join(loss['slowed_by']) or 'cannot tell')}</td></tr>"
        for loss in report["jobs"]
    )
    tables = (
        f"<h2>Slowed by</h2><table><tr><th>User<th>Jobs<th>Node-hours</tr>{causes}</table>"
        f"<h2>Slow jobs</h2><table><tr><th>Job<th>User<th>Since (UTC)<th>Time ÷ usual<th>Node-hours<th>Slowed by</tr>{jobs}</table>"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>'
        f"<p>{escape(describe_report(report))}</p>{tables if report['jobs'] else ''}"
        "<p>Each named job shared links on which the slow job waited. This does not prove that it caused the slowdown.</p></body></html>\n"
    )


def render_document(report: ProjectReport) -> bytes:
    """Render the report as a PDF."""
    lines = [describe_report(report), ""]
    if report["causes"]:
        lines += ["Slowed by", f"{'user':<24} {'jobs':>6} {'node-hours':>12}"]
        lines += [
            f"{cause['user'][:24]:<24} {cause['jobs']:>6} {format_hours(cause['node_hours']):>12}"
            for cause in report["causes"]
        ]
        lines.append("")
    if report["jobs"]:
        lines.append(f"{'job':<14} {'user':<12} {'since (UTC)':<16} {'times':>6} {'node-hours':>11}  slowed by")
        lines += [
            f"{loss['job_id'][:14]:<14} {(loss['user'] or 'unknown')[:12]:<12} {loss['since']:%Y-%m-%d %H:%M} {loss['factor']:>6.2f} {format_hours(loss['node_hours']):>11}  {', '.join(loss['slowed_by'])[:30] or 'cannot tell'}"
            for loss in report["jobs"]
        ]
    return render_pdf(f"{report['account']}, {report['month']}: time lost to network congestion", lines)
