"""Jobs of Flux: output of `flux jobs --json` and answers of the service job-list, one object or several.

Sources: flux-jobs(1); Flux RFC 20 (resource set R), RFC 21 (job states), RFC 22 (idsets), RFC 29 (hostlists), RFC 19 (FLUID and its F58 form).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import IO, Any

import orjson

from flitwatch_domain import hostlist, units
from flitwatch_domain.errors import BadInput
from flitwatch_domain.jobs import Job, infer_end
from flitwatch_domain.units import EARLIEST_S, LATEST_S
from flitwatch_ingest.sources import sacct_fields as fields
from flitwatch_ingest.sources.incarnations import Found
from flitwatch_ingest.sources.json_entries import stream_entries
from flitwatch_ingest.sources.rejection import Rejection

_BASE58 = {char: value for value, char in enumerate("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")}
#: States as bits (RFC 21) and by name.
_STATES = {1: "NEW", 2: "DEPEND", 4: "PRIORITY", 8: "SCHED", 16: "RUN", 32: "CLEANUP", 64: "INACTIVE"}
_RESULTS = {1: "COMPLETED", 2: "FAILED", 4: "CANCELED", 8: "TIMEOUT"}
_AS_SLURM = {
    "NEW": "PENDING",
    "DEPEND": "PENDING",
    "PRIORITY": "PENDING",
    "SCHED": "PENDING",
    "RUN": "RUNNING",
    "CLEANUP": "COMPLETING",
    "COMPLETED": "COMPLETED",
    "FAILED": "FAILED",
    "CANCELED": "CANCELLED",
    "TIMEOUT": "TIMEOUT",
}


class FluxReader:
    """Decoder of files with Flux jobs.

    Parameters
    ----------
    cluster : str
        Name of the cluster, which Flux does not report.
    """

    def __init__(self, cluster: str = "default") -> None:
        self._cluster = cluster

    def read(self, source: IO[bytes], where: str) -> Iterator[Found | Rejection]:
        """Yield jobs and rejected entries as they are read. Raise BadInput at once if the input does not begin as JSON."""
        return self._parse_jobs(stream_entries(source, where))

    def rest(self) -> Iterator[Found | Rejection]:
        """Yield nothing: each entry is a complete job."""
        return iter(())

    def _parse_jobs(self, found: Iterator[tuple[str, Any] | Rejection]) -> Iterator[Found | Rejection]:
        for item in found:
            if isinstance(item, Rejection):
                yield item
                continue
            place, entry = item
            try:
                yield _parse_job(entry, self._cluster), True
            except BadInput as bad:
                yield Rejection(place, bad.reason, _serialize_entry(entry))


def _serialize_entry(entry: Any) -> bytes:
    try:
        return orjson.dumps(entry)[: 1 << 16]
    except (TypeError, orjson.JSONEncodeError):  # a number beyond 64 bits, half of a surrogate pair
        return repr(entry).encode("utf-8", errors="replace")[: 1 << 16]


def _parse_job(entry: Any, cluster: str) -> Job:
    if not isinstance(entry, dict) or "id" not in entry:
        raise BadInput("is not a job of Flux: it has no id")
    execution = _parse_execution(entry.get("R"))
    node_list = _node_list(entry.get("nodelist") or execution.get("nodelist"))
    state = _parse_state(entry)
    ran = entry.get("t_run")
    # A started job has an end time once its program has ended.
    end = (entry.get("t_cleanup") or entry.get("t_inactive")) if state not in ("PENDING", "RUNNING") else None
    job = Job(
        cluster,
        str(job_number(entry["id"])),
        state,
        user=_optional_text(entry.get("username")) or _optional_text(entry.get("userid")),
        account=_optional_text(entry.get("bank")) or _optional_text(entry.get("project")),
        name=_optional_text(entry.get("name")),
        partition=_optional_text(entry.get("queue")),
        exit_code=_exit_code(entry),
        submit_s=_time_s(entry.get("t_submit")),
        start_s=_time_s(ran or execution.get("starttime")) if state != "PENDING" else None,
        end_s=_time_s(end),
        nodes=_count_nodes(entry, execution, node_list),
        node_list=node_list,
        limit_s=_limit_s(entry.get("duration")),
    )
    ran_s = entry.get("runtime")
    return infer_end(
        job, ran_s if isinstance(ran_s, int | float) and not isinstance(ran_s, bool) and ran_s > 0 else None
    )


def job_number(value: Any) -> int:
    """Return a job's id as a number. Flux prints it in decimal, in F58 (ƒ2Wy) or in hexadecimal."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64:
        return value
    text = value.strip() if isinstance(value, str) else ""
    number = units.whole_or_hexadecimal(text)
    if text[:1] in ("ƒ", "f") and 1 < len(text) <= 12 and all(char in _BASE58 for char in text[1:]):
        number = 0
        for char in text[1:]:
            number = number * 58 + _BASE58[char]
    if number is None or number >= 2**64:
        raise BadInput(f"{str(value)[:40]!r} is not a job id of Flux")
    return number


def idset_size(text: str) -> int:
    """Return the number of ids in an idset such as `[0-3,7]` or `0-3` (RFC 22)."""
    inside = text.strip().removeprefix("[").removesuffix("]")
    return len(hostlist.expand_hosts(f"[{inside}]")) if inside else 0


def _parse_state(entry: Mapping[str, Any]) -> str:
    state = _name_state(entry.get("state"), _STATES, "state")
    if state == "INACTIVE":
        state = _name_state(entry.get("result"), _RESULTS, "result")
    if state not in _AS_SLURM:
        raise BadInput(f"{state[:40]!r} is not a state or result of Flux")
    return _AS_SLURM[state]


def _name_state(value: Any, names: Mapping[int, str], what: str) -> str:
    """Return a state's name; job-list writes states as numbers."""
    if isinstance(value, str):
        return value.strip().upper()
    if isinstance(value, int) and value in names:
        return names[value]
    if value is None:
        raise BadInput(f"has no {what}")
    raise BadInput(f"has no {what} that Flux knows: {str(value)[:40]!r}")


def _exit_code(entry: Mapping[str, Any]) -> str | None:
    status = entry.get("waitstatus")
    if isinstance(status, int) and not isinstance(status, bool) and 0 <= status < 1 << 16:
        return f"{status >> 8}:{status & 127}"
    code = entry.get("returncode")
    if isinstance(code, int) and not isinstance(code, bool) and 0 <= code < 256:
        return f"{code}:0"
    return None


def _parse_execution(resources: Any) -> Mapping[str, Any]:
    """Return the key `execution` of a resource set R, which may be JSON text."""
    if isinstance(resources, str):
        try:
            resources = orjson.loads(resources)
        except orjson.JSONDecodeError:
            raise BadInput("R is not JSON") from None
    if resources is None:
        return {}
    execution = resources.get("execution") if isinstance(resources, dict) else None
    if not isinstance(execution, dict):
        raise BadInput("R has no execution")
    return execution


def _node_list(value: Any) -> str | None:
    names = value if isinstance(value, list) else [value] if value else []
    if not all(isinstance(name, str) for name in names):
        raise BadInput("nodelist is not a host list")
    return fields.node_list(",".join(names)) if names else None


def _count_nodes(entry: Mapping[str, Any], execution: Mapping[str, Any], node_list: str | None) -> int | None:
    count = entry.get("nnodes")
    if isinstance(count, int) and not isinstance(count, bool) and 0 < count < 10**9:
        return count
    if node_list:
        return len(hostlist.expand_hosts(node_list))
    lite = execution.get("R_lite")
    ranks = [row.get("rank") if isinstance(row, dict) else None for row in lite] if isinstance(lite, list) else []
    ranks = ranks or [entry.get("ranks")]
    return sum(idset_size(text) for text in ranks if isinstance(text, str)) or None


def _optional_text(value: Any) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() or None if isinstance(value, str) else None


def _limit_s(value: Any) -> float | None:
    """Return seconds of a duration; 0 is no limit."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < LATEST_S else None


def _time_s(value: Any) -> float | None:
    """Return epoch seconds; None if the value is 0 or missing, which means that the event has not happened."""
    if value in (None, 0, ""):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadInput(f"{str(value)[:40]!r} is not a time")
    if not EARLIEST_S <= value <= LATEST_S:
        raise BadInput(f"time {str(value)[:40]} is outside 2000 to 2100")
    return float(value)
