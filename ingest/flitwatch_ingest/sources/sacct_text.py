"""`sacct --parsable2`: a header, then one record per job or step; fields in any order, any delimiter.

A name or comment may contain the delimiter. Such a line has too many cells. It is accepted only if exactly one assignment of cells gives every
other column a valid value, and rejected otherwise.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, combinations_with_replacement, islice
from operator import getitem
from typing import Any
from zoneinfo import ZoneInfo

from flitwatch_domain import hostlist, units
from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.text import decode_text
from flitwatch_domain.jobs import Job, JobStep, infer_end_s, split_job_id
from flitwatch_ingest.sources import sacct_fields as fields
from flitwatch_ingest.sources.rejection import Rejection

#: Possible delimiters of a text without a header; a header may use others.
DELIMITERS = ("\x1f", "|", "\t", "^", ";", ",")
#: Other programs write cells with these in quotes.
_CSV = frozenset({"\t", ";", ","})
#: Columns with text written by users, which may contain the delimiter.
_FREE_TEXT = frozenset(
    {"jobname", "comment", "admincomment", "systemcomment", "workdir", "submitline", "wckey", "extra"}
)
#: Limit of surplus cells: with more, there are too many possible assignments.
_MOST_SURPLUS = 12
_LONGEST_LINE = 1_000_000
#: Limit of lines in a text with line feeds.
_MOST_LINES = 20
#: A usual id of a job or step.
_USUAL_ID = re.compile(r"[0-9]{1,20}(?:\.[a-z0-9]{1,38})?")
#: A column's name in lower case.
_COLUMN = re.compile(r"[a-z_][a-z0-9_]*")
#: The first column of a header, with its width, and the delimiter after it.
_FIRST_COLUMN = re.compile(r" *[A-Za-z]+(?:%-?[0-9]+)?( *[^A-Za-z0-9 \r\n][^A-Za-z0-9\r\n]*)")
#: What sacct's --format writes behind a column to set its width.
_WIDTH = re.compile(r"%-?[0-9]+$")

#: Runs of characters that no cell but a user's text holds: what may stand between the cells of a text without a header.
_BETWEEN_CELLS = re.compile(r"[^\w\s.:+/\[\](),%-]+")

#: They are looked for in the beginning of the first line; so many are tried.
_FIRST_CELLS, _MOST_OTHERS = 2000, 10

#: Known unsupported outputs: their first words, a description, and the alternative.
_NOT_READ = (
    (b"JobId=", "scontrol show job", "Use scontrol show jobs --json, or sacct --parsable2."),
    (b"JOBID PARTITION NAME", "squeue", "Use squeue --json, or sacct --allusers --parsable2."),
    (b"Job Id:", "qstat -f", "Give PBS's accounting logs: flitwatch import pbs."),
    (b"Job id Name", "qstat", "Give PBS's accounting logs: flitwatch import pbs."),
    (b"JOBID QUEUE USER", "flux jobs", "Use flux jobs -A -a --json, and flitwatch import flux."),
)

#: The header of sacct's own table, filled with blanks.
_FIXED_WIDTHS = re.compile(rb" *JobID(?:Raw)? {2,}[A-Za-z]")

_Checks = dict[str, Callable[[str], Any]]

#: Cells repeat: a step has the times and nodes of its job. Number of cached values per column, and length limit of cached cells.
_KEPT_CELLS, _KEPT_CELL_LENGTH = 4096, 200

#: Steps are joined to one of this many last jobs; sacct prints them right after their job.
_OPEN_JOBS = 10_000
#: sacct's default columns, the columns of `flitwatch collect sacct`, and those that Open XDMoD's shredder requests and logs
#: (its class Shredder\Slurm). Without a header they are detected from their cells.
_LAYOUTS = (
    ("jobid", "jobname", "partition", "account", "alloccpus", "state", "exitcode"),
    ("jobid", "jobidraw", "cluster", "user", "account", "jobname", "partition", "state", "exitcode", "submit", "start", "end", "elapsedraw", "nnodes", "nodelist"),
    ("jobid", "jobidraw", "cluster", "user", "account", "jobname", "partition", "state", "exitcode", "submit", "start", "end", "nnodes", "nodelist"),
    ("jobid", "jobidraw", "cluster", "partition", "qos", "account", "group", "gid", "user", "uid", "submit", "eligible", "start", "end", "elapsed",
     "exitcode", "state", "nnodes", "ncpus", "reqcpus", "reqmem", "reqtres", "alloctres", "timelimit", "nodelist", "jobname"),
)  # fmt: skip


def read_text_jobs(
    lines: Iterable[bytes], where: str, zone: ZoneInfo | None, cluster: str, columns: Sequence[str] | None = None
) -> Iterator[tuple[Job, bool] | Rejection]:
    """Yield jobs, each with a flag for a known restart count, and rejected lines. Memory contains the last `_OPEN_JOBS` jobs.

    Parameters
    ----------
    lines : iterable of bytes
        Lines with their line ends.
    columns : sequence of str, optional
        The columns of an output without a header.

    Raises
    ------
    BadInput
        The text has no header with a JobID, and the columns are neither given nor known; raised at once, before the first job is requested.
    """
    numbered = enumerate(lines, start=1)
    first = next(((number, raw) for number, raw in numbered if raw.strip()), None)
    if first is None:
        raise BadInput("is empty", where=where, advice="Expected the output of sacct --parsable2 or --json.")
    for beginning, what, advice in _NOT_READ:
        if first[1].split()[: len(beginning.split())] == beginning.split() or (
            beginning.endswith(b"=") and first[1].lstrip().startswith(beginning)
        ):
            raise BadInput(f"is the text of {what}", where=where, advice=advice)
    if _FIXED_WIDTHS.match(first[1]):
        raise BadInput(
            "has columns of fixed width, which cut texts off", where=where, advice="Use sacct --parsable2 or --json."
        )
    delimiter, names, headed = _detect_columns(first[1], f"{where}:{first[0]}", zone, columns)
    header = first[1].rstrip(b"\r\n") if headed else None
    rows = numbered if headed else chain([first], numbered)
    return _read_rows(rows, header, _Reader(names, delimiter, zone, cluster), where)


def _read_rows(
    rows: Iterable[tuple[int, bytes]], header: bytes | None, reader: _Reader, where: str
) -> Iterator[tuple[Job, bool] | Rejection]:
    lines = deque[tuple[int, bytes]]()
    rows = iter(rows)
    while True:
        line = lines.popleft() if lines else next(rows, None)
        if line is None:
            break
        number, raw = line
        if not raw.strip() or raw.rstrip(b"\r\n") == header:
            continue
        try:
            # Text may contain line feeds: a record continues until it has as many fields as the header.
            record, joined_lines = raw, 0
            while reader.is_short(record) and joined_lines < _MOST_LINES and len(record) < _LONGEST_LINE:
                if joined_lines == len(lines):
                    following = next(rows, None)
                    if following is None:
                        break
                    lines.append(following)
                record += lines[joined_lines][1]
                joined_lines += 1
            if joined_lines and reader.is_whole(record):
                for _ in range(joined_lines):
                    lines.popleft()
                raw = record
            if not raw.endswith(b"\n") and reader.lacks_nodes(raw):
                raise BadInput(
                    "the last line does not end and lists fewer nodes than it counts: the file is incomplete"
                )
            yield from reader.take(raw)
        except BadInput as bad:
            yield Rejection(f"{where}:{number}", bad.reason, raw)
    yield from reader.rest()


def _detect_columns(
    raw: bytes, here: str, zone: ZoneInfo | None, named: Sequence[str] | None
) -> tuple[str, list[str], bool]:
    """Return the delimiter, the columns, and whether the line is a header."""
    try:
        return (*_parse_header(raw, here), True)
    except BadInput:
        if raw.lower().replace(b"|", b" ").split()[:1] in ([b"jobid"], [b"jobidraw"]):
            raise
        text = decode_text(raw).rstrip("\r\n")
        layouts = [tuple(name.strip().lower() for name in named)] if named else _LAYOUTS
        others = dict.fromkeys(_BETWEEN_CELLS.findall(text[:_FIRST_CELLS]))
        for delimiter in dict.fromkeys((*DELIMITERS, *islice(others, _MOST_OTHERS))):
            for layout in layouts:
                if _fits_layout(layout, text, delimiter, zone):
                    return delimiter, list(layout), False
        if named:
            raise BadInput(f"the first line does not fit the columns {','.join(named)}", where=here) from None
        raise


def _fits_layout(layout: Sequence[str], text: str, delimiter: str, zone: ZoneInfo | None) -> bool:
    if not {"jobid", "jobidraw"} & set(layout) or delimiter not in text:
        return False
    try:
        values = _Reader(list(layout), delimiter, zone, "").values(text)
    except BadInput:
        return False
    return bool(values.get("jobid") or values.get("jobidraw")) and ("." in text or "state" in values)


def _parse_header(raw: bytes, here: str) -> tuple[str, list[str]]:
    text = decode_text(raw).lstrip("\ufeff").strip("\r\n")
    between = _FIRST_COLUMN.match(text)
    for delimiter in (*DELIMITERS, *((between.group(1),) if between else ())):
        columns = [_WIDTH.sub("", _strip_quotes(name)).lower() for name in text.split(delimiter)]
        named = all(_COLUMN.fullmatch(name) for name in columns[:-1]) and _COLUMN.fullmatch(columns[-1] or "_")
        if named and {"jobid", "jobidraw"} & set(columns) and (len(columns) > 1 or delimiter == DELIMITERS[-1]):
            if columns[-1] == "" and len(columns) > 1:
                # --parsable (without the 2) ends every line with the delimiter.
                columns[-1] = "_end"
            if len(set(columns)) != len(columns):
                raise BadInput("names a column twice", where=here)
            return delimiter, columns
    raise BadInput(
        "has no header with a JobID",
        where=here,
        advice="Use sacct --parsable2, without --noheader or with the names of its columns (--columns), with "
        "--delimiter=$'\\x1f' if names contain '|', or --json.",
    )


def _strip_quotes(cell: str) -> str:
    cell = cell.strip()
    return cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def _split_outside_brackets(text: str, delimiter: str) -> list[str]:
    """Cut a text at the delimiters outside of brackets."""
    cells = [""]
    for cell in text.split(delimiter):
        if cells[-1].count("[") > cells[-1].count("]"):
            cells[-1] += delimiter + cell
        else:
            cells.append(cell)
    return cells[1:]


class _Reader:
    """Decoder from lines to jobs. A step is joined to the last job with its id."""

    def __init__(self, columns: list[str], delimiter: str, zone: ZoneInfo | None, cluster: str) -> None:
        self._columns = columns
        self._delimiter, self._separator = delimiter, delimiter.encode()
        self._cluster = cluster
        free = _FREE_TEXT | {"nodelist"} if delimiter == "," else _FREE_TEXT
        self._free = [at for at, name in enumerate(columns) if name in free]
        self._checks: _Checks = {
            "jobid": _job_or_step,
            "state": fields.parse_state,
            "exitcode": fields.exit_code,
            "nnodes": fields.parse_count,
            "allocnodes": fields.parse_count,
            "nodelist": fields.node_list,
            "restarts": fields.parse_count,
            "jobidraw": _job_or_step,
            "uid": _check_whole,
            "ncpus": _check_whole,
            "elapsedraw": _parse_seconds,
            "timelimit": fields.limit_s,
            "timelimitraw": lambda text: None if (limit := fields.elapsed_s(text)) is None else 60 * limit,
            "elapsed": fields.elapsed_s,
            "suspended": fields.elapsed_s,
            "_end": _check_empty,
        }
        self._zone, self._hour = zone, lru_cache(_KEPT_CELLS)(lambda text: fields.hour_s(text, zone))
        #: Local times that occur twice.
        self._twice: set[str] = set()
        for name in ("submit", "start", "end", "eligible"):
            self._checks[name] = self._read_time
        self._values = [_Values(name, self._checks.get(name, fields.optional_text)) for name in columns]
        self._start, self._end = (columns.index(name) if name in columns else None for name in ("start", "end"))
        self._number = 0
        # In reading order, each with a flag for a known restart count and its steps.
        self._open: OrderedDict[int, _OpenJob] = OrderedDict()
        self._latest: dict[tuple[str, str], int] = {}

    def is_short(self, raw: bytes) -> bool:
        """Check whether a text has several fields, and fewer than the header, or a quote that it does not close."""
        if 0 < raw.count(self._separator) < len(self._columns) - 1:
            return True
        return self._delimiter in _CSV and raw.count(b'"') % 2 == 1 and not self.is_whole(raw)

    def is_whole(self, raw: bytes) -> bool:
        """Check whether a text has as many fields as the header, each valid for its column, with line feeds only in free-text fields."""
        text = decode_text(raw).rstrip("\r\n")
        for cells in (text.split(self._delimiter), *(self._other_cells(text) if self._delimiter in _CSV else ())):
            if len(cells) == len(self._columns) and not any(
                "\n" in cell and name in self._checks for name, cell in zip(self._columns, cells, strict=True)
            ):
                with contextlib.suppress(BadInput):
                    self._check_cells(cells)
                    return True
        return False

    def _other_cells(self, text: str) -> Iterator[list[str]]:
        """Cut a record with one of `_CSV` as other programs write it, with cells in quotes, or at commas outside of brackets."""
        if '"' in text:
            with contextlib.suppress(csv.Error):
                yield next(csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter, strict=True))
        if "[" in text and self._delimiter == ",":
            yield _split_outside_brackets(text, self._delimiter)

    def lacks_nodes(self, raw: bytes) -> bool:
        """Check whether a record lists fewer nodes than it counts; BadInput if it is not a record."""
        values = self.values(decode_text(raw))
        nodes, listed = values.get("nnodes") or values.get("allocnodes"), values.get("nodelist")
        return nodes is not None and listed is not None and len(hostlist.expand_hosts(listed)) < nodes

    def values(self, text: str) -> dict[str, Any]:
        """Return a line's values by column; raise BadInput if they are invalid."""
        if self._delimiter in _CSV:
            for cells in self._other_cells(text):
                with contextlib.suppress(BadInput):
                    return self._parse_cells(cells)
        return self._parse_cells(text.split(self._delimiter))

    def take(self, raw: bytes) -> Iterator[tuple[Job, bool]]:
        """Read one line, and yield the job that can no longer get steps; raise BadInput with the reason."""
        if len(raw) > _LONGEST_LINE:
            raise BadInput(f"the line has {len(raw)} bytes")
        values = self.values(decode_text(raw).rstrip("\r\n"))
        job_id, _, step = _split_step(values.get("jobid") or values.get("jobidraw") or "")
        cluster = values.get("cluster") or self._cluster
        if step:
            self._add_step(cluster, job_id, step, values)
            return
        if "state" not in values:
            raise BadInput("the output has no State column", advice="Add State to sacct's --format.")
        if values["state"] == "PENDING":
            # These are forecasts.
            values["start"] = values["end"] = None
        values["end"] = _infer_end_s(values, "job")
        self._number += 1
        self._latest[cluster, job_id] = self._number
        self._open[self._number] = cluster, job_id, values, []
        if len(self._open) > _OPEN_JOBS:
            oldest, job = self._open.popitem(last=False)
            if self._latest.get(job[:2]) == oldest:
                del self._latest[job[:2]]
            yield _build_job(*job)

    def rest(self) -> Iterator[tuple[Job, bool]]:
        """Yield the jobs that are still open."""
        return (_build_job(*job) for job in self._open.values())

    def _add_step(self, cluster: str, job_id: str, step: str, values: dict[str, Any]) -> None:
        at = self._latest.get((cluster, job_id))
        if at is None:
            raise BadInput(f"step {step[:40]!r} of job {job_id[:40]!r}, which was not read before")
        self._open[at][3].append(_build_step(step, values))

    def _parse_cells(self, cells: list[str]) -> dict[str, Any]:
        surplus = len(cells) - len(self._columns)
        if surplus < 0:
            raise BadInput(f"has {len(cells)} fields, the header {len(self._columns)}")
        if surplus == 0:
            return self._check_cells(cells)
        if not self._free or surplus > _MOST_SURPLUS:
            raise BadInput(f"has {len(cells)} fields, the header {len(self._columns)}: a text contains the delimiter")
        ways = []
        for shares in combinations_with_replacement(range(len(self._free)), surplus):
            try:
                ways.append(self._check_cells(self._join_cells(cells, shares)))
            except BadInput:
                continue
        if len(ways) != 1:
            raise BadInput(
                f"has {len(cells)} fields, the header {len(self._columns)}: a field contains the delimiter, and it is unclear which one",
                advice="Use sacct --delimiter=$'\\x1f' or --json.",
            )
        return ways[0]

    def _join_cells(self, cells: list[str], shares: tuple[int, ...]) -> list[str]:
        """Return the cells after joining surplus cells to free-text columns; `shares` lists a column once per surplus cell."""
        out: list[str] = []
        rest = iter(cells)
        extra = {column: shares.count(which) for which, column in enumerate(self._free)}
        for column in range(len(self._columns)):
            out.append(self._delimiter.join(next(rest) for _ in range(1 + extra.get(column, 0))))
        return out

    def _check_cells(self, cells: list[str]) -> dict[str, Any]:
        values = dict(zip(self._columns, map(getitem, self._values, cells), strict=True))
        if self._twice and self._start is not None:
            start, end = cells[self._start], "" if self._end is None else cells[self._end]
            if start in self._twice or end in self._twice:
                by_column = dict(zip(self._columns, cells, strict=True))
                self._resolve_fold(values, by_column, self._read_times(start), self._read_times(end))
        return values

    def _read_time(self, text: str) -> float | None:
        times = self._read_times(text)
        if len(times) > 1:
            self._twice.add(text)
        return times[0] if times else None

    def _read_times(self, text: str) -> tuple[float, ...]:
        """Return the result of `fields.times_s`, computed with the calendar once per hour."""
        if len(text) == 19 and text[13] == text[16] == ":" and text.isascii():
            minute, second = text[14:16], text[17:]
            if minute.isdigit() and second.isdigit() and minute < "60" > second:
                hour_s = self._hour(text[:14])
                if hour_s is not None:
                    return (hour_s + 60 * int(minute) + int(second),)
        return fields.times_s(text, self._zone)

    def _resolve_fold(
        self,
        values: dict[str, Any],
        cells: dict[str, str],
        starts: Sequence[float],
        ends: Sequence[float],
    ) -> None:
        """Choose the first instance of a repeated hour (end of summer time) that agrees with Elapsed, and in which the job is submitted before it starts,
        and starts before it ends."""
        took_s, submits = _lasted_s(values), self._read_times(cells.get("submit", ""))
        ways: list[tuple[float, float | None]] = [
            (start, end) for start in starts for end in ends or (None,) if end is None or start <= end
        ]
        agreeing = [(start, end) for start, end in ways if end is None or end - start == took_s] or ways
        possible = [way for way in agreeing if not submits or submits[0] <= way[0]] or agreeing
        if possible:
            values["start"], values["end"] = possible[0]


class _Values(dict[str, Any]):
    """Cache of a column's last values by cell, since cells repeat."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self._name, self._read = name, read
        self._repeats = name not in ("jobid", "jobidraw")

    def __missing__(self, text: str) -> Any:
        try:
            value = self._read(text)
        except BadInput as bad:
            raise BadInput(f"{self._name}: {bad.reason}") from bad
        if self._repeats and len(text) <= _KEPT_CELL_LENGTH:
            if len(self) >= _KEPT_CELLS:
                self.clear()
            self[text] = value
        return value


#: A job whose steps may follow: its cluster, id, values by column, and steps.
_OpenJob = tuple[str, str, dict[str, Any], list[JobStep]]


def _build_job(cluster: str, job_id: str, values: dict[str, Any], steps: list[JobStep]) -> tuple[Job, bool]:
    """Return the job, and whether its restart is known."""
    nodes, restart = values.get("nnodes"), values.get("restarts")
    job = Job(
        cluster=cluster,
        job_id=job_id,
        state=values["state"],
        restart=restart or 0,
        user=values.get("user"),
        account=values.get("account"),
        name=values.get("jobname"),
        partition=values.get("partition"),
        exit_code=values.get("exitcode"),
        submit_s=values.get("submit"),
        start_s=values.get("start"),
        end_s=values["end"],
        nodes=nodes if nodes is not None else values.get("allocnodes"),
        node_list=values.get("nodelist"),
        steps=tuple(steps),
        limit_s=values.get("timelimit") or values.get("timelimitraw"),
    )
    return job, restart is not None


def _infer_end_s(values: dict[str, Any], what: str) -> float | None:
    """Infer the end of a job or step from its values; raises as `infer_end_s`."""
    return infer_end_s(values.get("state"), values.get("start"), values.get("end"), _lasted_s(values), what)


def _lasted_s(values: dict[str, Any]) -> float | None:
    """Return the seconds from start to end: those of Elapsed, in which a job was not suspended, and of Suspended."""
    raw_s = values.get("elapsedraw")
    took_s = values.get("elapsed") if raw_s is None else raw_s
    return None if took_s is None else took_s + (values.get("suspended") or 0.0)


def _build_step(step: str, values: dict[str, Any]) -> JobStep:
    return JobStep(
        step=step,
        name=values.get("jobname"),
        state=values.get("state"),
        start_s=values.get("start"),
        end_s=_infer_end_s(values, "step"),
        nodes=values.get("nnodes"),
        node_list=values.get("nodelist"),
    )


def _split_step(text: str) -> tuple[str, str, str]:
    """Cut an id at the dot before its step; those of 77_[1,3,...], an array that Slurm does not print whole, are no such dot."""
    if "]" not in text:
        return text.partition(".")
    array, bracket, rest = text.rpartition("]")
    job, dot, step = rest.partition(".")
    return array + bracket + job, dot, step


def _job_or_step(text: str) -> str:
    if _USUAL_ID.fullmatch(text):
        return text
    job, dot, step = _split_step(text.strip())
    split_job_id(job)
    if dot and not (step and step.replace("+", "").replace("_", "").isalnum() and len(step) < 40):
        raise BadInput(f"{text[:40]!r} is not a job step")
    return text.strip()


def _check_whole(text: str) -> None:
    if not fields.is_nothing(text) and units.parse_whole(text.strip()) is None:
        raise BadInput(f"{text[:40]!r} is not a whole number")


def _parse_seconds(text: str) -> float | None:
    _check_whole(text)
    return fields.elapsed_s(text)


def _check_empty(text: str) -> None:
    if text.strip():
        raise BadInput("text after the last delimiter")
