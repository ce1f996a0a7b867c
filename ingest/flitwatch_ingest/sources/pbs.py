"""Accounting logs of PBS (OpenPBS, PBS Professional, Torque): `MM/DD/YYYY HH:MM:SS;TYPE;ID;key=value key=value`.

Source: "PBS Professional Administrator's Guide", chapter Accounting. A job has several records: queued (Q), started (S), requeued (R), deleted (D),
aborted (A), ended (E). A change (a) can set a new wall time, and a suspension (z) invalidates the time limit. The other types describe
reservations, licences and moves, and are skipped. Records of a whole array (`7[].server`) are skipped too, because its tasks are jobs of their own.

The end of a job may be missing: the server was down, a file is missing, or the log is old. A started job without an end is RUNNING only if no
evidence contradicts it, else UNKNOWN without an end (`PbsReader.rest`).
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import IO
from zoneinfo import ZoneInfo

from flitwatch_domain import hostlist
from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.text import decode_text
from flitwatch_domain.jobs import Job, infer_end, pbs_job_id
from flitwatch_ingest.sources import sacct_fields as fields
from flitwatch_ingest.sources.incarnations import Found
from flitwatch_ingest.sources.rejection import Rejection

_RECORD = re.compile(
    r"([0-9][0-9]/[0-9][0-9]/[0-9]{4} [0-9][0-9]:[0-9][0-9]:[0-9][0-9]);([A-Za-z]);([^;]*);?(.*)", re.DOTALL
)
_BEGINNING = re.compile(rb"[0-9][0-9]/[0-9][0-9]/[0-9]{4} [0-9][0-9]:[0-9][0-9]:[0-9][0-9];[A-Za-z];")
#: The last attribute of a record, and attributes that must not be truncated.
_LAST_ATTRIBUTE = re.compile(rb"[; ]([A-Za-z_][\w.]*)=[^\s=;]+\s*$")
_NEVER_HALF = frozenset({b"user", b"start", b"end", b"ctime", b"qtime", b"exec_host", b"exec_vnode", b"Exit_status"})
#: Values with spaces are quoted.
_ATTRIBUTE = re.compile(r'(?:(?<=\s)|^)([A-Za-z_][\w.]*)=("[^"]*"|\S*)')
_STATUS = re.compile(r"-?[0-9]{1,9}")
#: A chunk of exec_vnode begins with a name; on a host with several vnodes the name is `host[2]`.
_VNODE = re.compile(r"([^:()+\[\]]+)(?:\[[0-9]+\])?(?::[^()+]*)?")
_TYPES = frozenset("QSRDAEaz")
#: A record of a job with 100,000 hosts has a few megabytes.
_LONGEST_LINE = 16_000_000
#: Limit of unfinished jobs in memory.
_OPEN_JOBS = 100_000
#: A file covers one day: a log whose last record is older does not describe the present.
_DAY_S = 86_400.0
#: Longest delay of an end record after the wall time, for killing the job and copying its files back.
_ENDING_S = 3600.0
#: PBS's own exit statuses (src/include/job.h): killed for memory, for wall time.
_OUT_OF_MEMORY, _OUT_OF_TIME = (-26, -27), -29
#: Exit statuses from here on are signals.
_SIGNALS = 256


@dataclass
class _Open:
    """State of a job that has not ended: the most detailed record, whether it was deleted, and its time limit (None: unknown)."""

    job: Job
    run_known: bool = False
    described: bool = False
    limit_s: float | None = None
    record: Rejection = field(default_factory=lambda: Rejection("", ""))


class PbsReader:
    """Decoder of jobs from the records of one or several log files, in order of time.

    Parameters
    ----------
    zone : ZoneInfo, optional
        Time zone of the records' timestamps (default: the machine's).
    cluster : str, optional
        Name of the cluster (default: the server's name in the job's id, without its domain).
    now_s : float, optional
        When the log is read, epoch seconds (default: now).
    """

    def __init__(self, zone: ZoneInfo | None = None, cluster: str | None = None, *, now_s: float | None = None) -> None:
        self._zone = zone
        self._cluster = cluster
        self._now_s = time.time() if now_s is None else now_s
        self._newest_s = float("-inf")
        self._open: OrderedDict[tuple[str, str], _Open] = OrderedDict()

    def read(self, lines: IO[bytes], where: str) -> Iterator[Found | Rejection]:
        """Yield the jobs that end in a file, and its rejected lines. Memory contains at most `_OPEN_JOBS` unfinished jobs. Raise BadInput if the
        file's first line is not a record; raised at once, before the first job is requested."""
        numbered = enumerate(lines, start=1)
        first = next(((number, raw) for number, raw in numbered if raw.strip()), None)
        if first is None:
            return iter(())
        if _RECORD.fullmatch(_decode_text(first[1][:200])) is None:
            raise BadInput(
                "is not a PBS accounting log",
                where=where,
                advice="Name files of PBS_HOME/server_priv/accounting, such as 20260131.",
            )
        return self._read_records(chain([first], numbered), where)

    def rest(self) -> Iterator[Found | Rejection]:
        """Yield the unfinished jobs with their last known state. Reject deletions of unknown jobs, and jobs that end before they start.

        A job is PENDING or RUNNING. It is UNKNOWN if the log's last record is more than a day old, or if the job's wall time is over without an end
        record. A missing end stays unknown.
        """
        while self._open:
            yield self._finish_job(self._open.popitem(last=False)[1])

    def _read_records(self, rows: Iterator[tuple[int, bytes]], where: str) -> Iterator[Found | Rejection]:
        waiting = deque[tuple[int, bytes]]()
        while row := waiting.popleft() if waiting else next(rows, None):
            number, raw = row
            if not raw.strip():
                continue
            place = f"{where}:{number}"
            # Quoted text may contain line feeds.
            while raw.count(b'"') % 2 and len(raw) < _LONGEST_LINE and (row := next(rows, None)):
                if _BEGINNING.match(row[1]):
                    waiting.append(row)
                    break
                raw += row[1]
            try:
                yield from self._take_record(raw, place)
            except BadInput as bad:
                yield Rejection(place, bad.reason, raw)

    def _take_record(self, raw: bytes, place: str) -> Iterator[Found | Rejection]:
        if not raw.endswith(b"\n") and not _is_complete(raw):
            raise BadInput("the line does not end and lacks part of its record: the file is incomplete")
        if len(raw) > _LONGEST_LINE:
            raise BadInput(f"the line has {len(raw)} bytes")
        match = _RECORD.fullmatch(_decode_text(raw))
        if match is None:
            raise BadInput("is not a PBS record: date;type;id;attributes")
        when, kind, identity, message = match.groups()
        self._newest_s = max(self._newest_s, self._time_s(when))
        if kind not in _TYPES or (kind == "Q" and not identity[:1].isdigit()):
            return
        cluster, job_id = self._parse_identity(identity)
        if job_id is None:
            return
        yield from self._take_event(kind, cluster, job_id, when, message, Rejection(place, "", raw))

    def _parse_identity(self, text: str) -> tuple[str, str | None]:
        """Return cluster and job id, `7_3` for task 3 of array 7; None for the id of a whole array."""
        job_id, server = pbs_job_id(text)
        return self._cluster or server or "default", job_id

    def _take_event(
        self, kind: str, cluster: str, job_id: str, when: str, message: str, record: Rejection
    ) -> Iterator[Found | Rejection]:
        at_s = self._time_s(when)
        attributes = _parse_attributes(message)
        key = cluster, job_id
        open_job = self._open.get(key)
        if kind in "az":
            _apply_change(open_job, kind, attributes)
            return
        if open_job is not None and _begins_anew(open_job.job, kind, attributes, at_s):
            # The previous run has no end record: it ended at an unknown time before this record.
            del self._open[key]
            yield self._finish_job(open_job, lost=True)
            open_job = None
        described = "user" in attributes
        job = (
            _parse_job(cluster, job_id, attributes)
            if described
            else open_job.job
            if open_job
            else Job(cluster, job_id, "PENDING")
        )
        deleted = open_job is not None and open_job.job.state == "CANCELLED"
        over = kind in "ER"
        if kind == "Q":
            job = replace(
                job, state="PENDING", submit_s=job.submit_s or at_s, partition=job.partition or attributes.get("queue")
            )
        elif kind == "S":
            job = replace(job, state="RUNNING", start_s=job.start_s or at_s, end_s=None)
        elif over:
            if not described:
                raise BadInput("the end record has neither a user nor times")
            job = replace(
                job, end_s=job.end_s or at_s, state="REQUEUED" if kind == "R" else _final_state(attributes, deleted)
            )
        else:
            aborted = "FAILED" if kind == "A" and job.start_s is not None else "CANCELLED"
            job = replace(job, state=aborted, end_s=job.end_s or at_s)
        run_known = bool(_parse_whole(attributes.get("run_count")))
        limit_s = _limit_s(attributes) if described else None if open_job is None else open_job.limit_s
        entry = _Open(
            job, run_known, described or kind in "QS" or (open_job is not None and open_job.described), limit_s, record
        )
        if over:
            self._open.pop(key, None)
            yield self._finish_job(entry)
            return
        self._open[key] = entry
        self._open.move_to_end(key)
        if len(self._open) > _OPEN_JOBS:
            yield self._finish_job(self._open.popitem(last=False)[1])

    def _finish_job(self, entry: _Open, lost: bool = False) -> Found | Rejection:
        if not entry.described:
            return replace(
                entry.record,
                reason="a job ends without an earlier record. Import the files of the days before too",
            )
        try:
            infer_end(entry.job)
        except BadInput as bad:
            return replace(entry.record, reason=bad.reason)
        if lost or (entry.job.state in ("PENDING", "RUNNING") and self._is_over(entry)):
            return replace(entry.job, state="UNKNOWN"), entry.run_known
        return entry.job, entry.run_known

    def _is_over(self, entry: _Open) -> bool:
        """Return whether a job can no longer be pending or running."""
        if self._newest_s < self._now_s - _DAY_S:
            return True
        start_s = entry.job.start_s
        return start_s is not None and entry.limit_s is not None and self._now_s > start_s + entry.limit_s + _ENDING_S

    def _time_s(self, text: str) -> float:
        try:
            moment = datetime.strptime(text, "%m/%d/%Y %H:%M:%S")
        except ValueError:
            raise BadInput(f"{text!r} is not a time") from None
        epoch_s = fields.time_s(moment.isoformat(), self._zone)
        assert epoch_s is not None, "an ISO time is a time"
        return epoch_s


def _is_complete(raw: bytes) -> bool:
    """Check whether an unfinished last line contains all required parts of a record."""
    last = _LAST_ATTRIBUTE.search(raw)
    if last is None or last.group(1) in _NEVER_HALF or raw.count(b'"') % 2:
        return False
    return b";E;" not in raw[:32] or b" Exit_status=" in raw


def _decode_text(raw: bytes) -> str:
    return decode_text(raw).rstrip("\r\n")


def _parse_attributes(message: str) -> dict[str, str]:
    """Return the first value of each name: text written by the user comes after the user's identity."""
    values: dict[str, str] = {}
    for name, value in _ATTRIBUTE.findall(message):
        values.setdefault(name, value.strip('"'))
    return values


def _apply_change(held: _Open | None, kind: str, attributes: Mapping[str, str]) -> None:
    """Apply a change of the wall time, or a suspension, which makes the limit unknown: PBS does not count suspended time."""
    if held is None:
        return
    if kind == "z":
        held.limit_s = None
    elif "Resource_List.walltime" in attributes:
        held.limit_s = _limit_s(attributes)


def _begins_anew(job: Job, kind: str, attributes: Mapping[str, str], at_s: float) -> bool:
    """Return whether a record belongs to a later run than `job`: it queues the job again, or has another start time."""
    if job.state != "RUNNING" or job.start_s is None:
        return False
    if kind == "Q":
        return True
    start_s = fields.time_s(attributes.get("start", ""), None) or at_s
    return kind == "S" and start_s > job.start_s


def _limit_s(attributes: Mapping[str, str]) -> float | None:
    """Return the time limit in seconds; None if the record has none."""
    return fields.elapsed_s(attributes.get("Resource_List.walltime", ""))


def _parse_job(cluster: str, job_id: str, attributes: Mapping[str, str]) -> Job:
    project = attributes.get("project")
    hosts = _list_hosts(attributes)
    runs = _parse_whole(attributes.get("run_count"))
    return Job(
        cluster,
        job_id,
        "PENDING",
        restart=max(runs - 1, 0) if runs else 0,
        user=attributes["user"] or None,
        account=attributes.get("account") or (project if project != "_pbs_project_default" else None) or None,
        name=attributes.get("jobname") or None,
        partition=attributes.get("queue") or None,
        exit_code=_exit_code(_parse_status(attributes)),
        submit_s=fields.time_s(attributes.get("ctime") or attributes.get("qtime") or "", None),
        start_s=fields.time_s(attributes.get("start", ""), None),
        end_s=fields.time_s(attributes.get("end", ""), None),
        nodes=len(hosts) or _parse_whole(attributes.get("Resource_List.nodect")),
        node_list=fields.node_list(hostlist.compress_hosts(hosts)) if hosts else None,
        limit_s=_limit_s(attributes),
    )


def _list_hosts(attributes: Mapping[str, str]) -> list[str]:
    """Return distinct hosts in the given order, from `n1/0*36+n2/0*36` or else from `(n1:ncpus=36)+(n2[0]:ncpus=18+n2[1]:ncpus=18)`."""
    places = attributes.get("exec_host")
    if places:
        names = [chunk.partition("/")[0].strip() for chunk in places.split("+")]
    else:
        chunks = attributes.get("exec_vnode", "").replace("(", "").replace(")", "").split("+")
        matches = [_VNODE.fullmatch(chunk) for chunk in chunks if chunk]
        if None in matches:
            raise BadInput("exec_vnode is not a list of vnodes")
        names = [match.group(1) for match in matches if match]
    if any(char in name for name in names for char in "[],"):
        raise BadInput("exec_host is not a list of hosts")
    return list(dict.fromkeys(name for name in names if name))


def _final_state(attributes: Mapping[str, str], deleted: bool) -> str:
    """Return an ended job's state in Slurm's terms."""
    status = _parse_status(attributes)
    if status == _OUT_OF_TIME or (status is not None and status >= _SIGNALS and _used_up(attributes)):
        return "TIMEOUT"
    if deleted:
        return "CANCELLED"
    if status in _OUT_OF_MEMORY:
        return "OUT_OF_MEMORY"
    return "UNKNOWN" if status is None else "FAILED" if status else "COMPLETED"


def _used_up(attributes: Mapping[str, str]) -> bool:
    """Return whether the job used its whole time limit."""
    limit = _limit_s(attributes)
    used = fields.elapsed_s(attributes.get("resources_used.walltime", ""))
    return limit is not None and used is not None and used >= limit


def _parse_status(attributes: Mapping[str, str]) -> int | None:
    text = attributes.get("Exit_status", "")
    if text and _STATUS.fullmatch(text) is None:
        raise BadInput(f"{text[:40]!r} is not an exit status")
    return int(text) if text else None


def _exit_code(status: int | None) -> str | None:
    """Return code and signal, `0:15`; None if PBS did not run the program to its end."""
    if status is None or status < 0:
        return None
    return f"0:{status - _SIGNALS}" if status >= _SIGNALS else f"{status}:0"


def _parse_whole(text: str | None) -> int | None:
    return fields.parse_count(text) if text else None
