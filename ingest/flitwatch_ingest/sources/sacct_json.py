"""`sacct --json` of Slurm 22.05 (plain values, `state.current` text) and later (`{"set", "infinite", "number"}`, lists)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from flitwatch_domain import units
from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.text import decode_text
from flitwatch_domain.jobs import OVER_STATES, Job, JobStep, infer_end, infer_end_s, split_job_id
from flitwatch_ingest.sources import sacct_fields as fields
from flitwatch_ingest.sources.rejection import Rejection


def decode_json_jobs(data: bytes, where: str, cluster: str) -> tuple[list[tuple[Job, bool]], list[Rejection]]:
    """Return jobs, each with a flag for a known restart count, and rejected entries. From a truncated file, complete entries are read."""
    jobs: list[tuple[Job, bool]] = []
    rejected: list[Rejection] = []
    for place, entry, raw in _iterate_entries(data, where, rejected):
        odd_steps: list[str] = []
        try:
            jobs.append(
                _controllers_job(entry, cluster) if "job_state" in entry else _parse_job(entry, cluster, odd_steps)
            )
            rejected += [Rejection(place, reason, raw or _encode_entry(entry)) for reason in odd_steps]
        except BadInput as bad:
            rejected.append(Rejection(place, bad.reason, raw or _encode_entry(entry)))
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as odd:
            lacks = f"it has no {odd}" if isinstance(odd, KeyError) else str(odd) or type(odd).__name__
            rejected.append(
                Rejection(place, f"not a job as sacct prints it: {lacks}"[:200], raw or _encode_entry(entry))
            )
    return jobs, rejected


def _encode_entry(entry: Any) -> bytes:
    """Return an entry as JSON, also one whose numbers or texts orjson refuses."""
    try:
        return orjson.dumps(entry)
    except TypeError:
        return json.dumps(entry, ensure_ascii=False).encode(errors="replace")


def _iterate_entries(data: bytes, where: str, rejected: list[Rejection]) -> Iterator[tuple[str, Any, bytes]]:
    try:
        whole = _load_json(data)
    except ValueError as broken:
        yield from _entries_of_broken(data, where, rejected, str(broken))
        return
    jobs = whole.get("jobs") if isinstance(whole, dict) else whole
    if not isinstance(jobs, list):
        raise BadInput('has no list "jobs"', where=where, advice="Expected the output of sacct --json.")
    for number, entry in enumerate(jobs):
        yield f"{where}: jobs[{number}]", entry, b""


def _load_json(data: bytes) -> Any:
    """Return a JSON value; its texts may be in Latin-1, or contain half of a surrogate pair."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as broken:
        try:
            return json.loads(decode_text(data))
        except (ValueError, RecursionError):
            raise broken from None


def _entries_of_broken(
    data: bytes, where: str, rejected: list[Rejection], why: str
) -> Iterator[tuple[str, Any, bytes]]:
    """Yield entries up to the damage; the rest is rejected."""
    text = decode_text(data)
    opened = text.find('"jobs"')
    start = text.find("[", opened) + 1
    if opened < 0 or start == 0:
        raise BadInput(f"is not JSON: {why}", where=where, advice="Expected the output of sacct --json.")
    decoder = json.JSONDecoder()
    number = 0
    while True:
        while start < len(text) and text[start] in " \t\r\n,":
            start += 1
        try:
            entry, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            rejected.append(
                Rejection(f"{where}: jobs[{number}] at character {start}", f"is not JSON: {why}", text[start:].encode())
            )
            return
        yield f"{where}: jobs[{number}]", entry, text[start:end].encode()
        start, number = end, number + 1


def _parse_job(entry: dict[str, Any], cluster: str, odd_steps: list[str]) -> tuple[Job, bool]:
    """A job of accounting; the reasons why steps cannot be read are added to `odd_steps`."""
    time, state = entry["time"], _parse_state(entry["state"]["current"])
    # Times of a job that waits are forecasts.
    has_begun = state != "PENDING"
    restarts = entry.get("restart_cnt")
    job = Job(
        cluster=entry.get("cluster") or cluster,
        job_id=_job_id(entry),
        state=state,
        restart=int(_optional_number(restarts) or 0),
        user=_optional_text(entry.get("user")) or _optional_text(entry.get("association", {}).get("user")),
        account=_optional_text(entry.get("account")),
        name=_optional_text(entry.get("name")),
        partition=_optional_text(entry.get("partition")),
        exit_code=_exit_code(entry.get("exit_code")),
        submit_s=_parse_time_s(time.get("submission")),
        start_s=_parse_time_s(time.get("start")) if has_begun else None,
        end_s=_parse_time_s(time.get("end")) if has_begun else None,
        nodes=_parse_node_count(entry.get("allocation_nodes")),
        node_list=fields.node_list(entry.get("nodes") or ""),
        steps=tuple(_parse_steps(entry.get("steps") or (), odd_steps)),
        limit_s=_minutes(time.get("limit")),
    )
    return infer_end(job, _lasted_s(time)), bool(_optional_number(restarts))


def _controllers_job(entry: dict[str, Any], cluster: str) -> tuple[Job, bool]:
    """Return a job from slurmctld's records: `squeue --json`, `scontrol show jobs --json`, slurmrestd's /slurm/*/jobs."""
    state = _parse_state(entry["job_state"])
    waits = state == "PENDING" or entry["job_state"][0] == "PENDING"
    has_begun = not waits and state not in ("REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD")
    over = has_begun and state in OVER_STATES
    restarts = _optional_number(entry.get("restart_cnt"))
    array = {
        "job_id": _optional_number(entry.get("array_job_id")),
        "task_id": entry.get("array_task_id"),
        "task": entry.get("array_task_string"),
    }
    het = {"job_id": _optional_number(entry.get("het_job_id")), "job_offset": entry.get("het_job_offset")}
    job = Job(
        cluster=entry.get("cluster") or cluster,
        job_id=_job_id({"job_id": entry["job_id"], "array": array, "het": het}),
        state=state,
        restart=restarts or 0,
        user=_optional_text(entry.get("user_name")),
        account=_optional_text(entry.get("account")),
        name=_optional_text(entry.get("name")),
        partition=_optional_text(entry.get("partition")),
        exit_code=_exit_code(entry.get("exit_code")) if over else None,
        submit_s=_parse_time_s(entry.get("submit_time")),
        # For pending jobs this is the scheduler's forecast, for running jobs the limit.
        start_s=_parse_time_s(entry.get("start_time")) if has_begun else None,
        end_s=_parse_time_s(entry.get("end_time")) if over else None,
        nodes=_parse_node_count(entry.get("node_count")),
        node_list=fields.node_list(entry.get("nodes") or "") if has_begun else None,
        limit_s=_minutes(entry.get("time_limit")),
    )
    return infer_end(job), restarts is not None


def _job_id(entry: dict[str, Any]) -> str:
    """Return the id in sacct's form: 3_4 for an array task, 10+1 for a component of a heterogeneous job."""
    array, het = entry.get("array") or {}, entry.get("het") or {}
    task = _optional_number(array.get("task_id"))
    pending = array.get("task") or ""
    job_id = str(_parse_job_number(entry["job_id"]))
    if array.get("job_id"):
        which = str(task) if task is not None else f"[{pending}]" if pending else None
        job_id = f"{_parse_job_number(array['job_id'])}_{which}" if which is not None else job_id
    if het.get("job_id"):
        job_id = f"{_parse_job_number(het['job_id'])}+{_optional_number(het.get('job_offset')) or 0}"
    split_job_id(job_id)
    return job_id


def _parse_job_number(value: Any) -> int:
    number = units.parse_whole(value) if isinstance(value, str) else _optional_number(value)
    if number is None:
        raise BadInput(f"{str(value)[:40]!r} is not the number of a job")
    return number


def _parse_steps(steps: Iterable[dict[str, Any]], odd: list[str]) -> Iterator[JobStep]:
    for step in steps:
        try:
            yield _parse_step(step)
        except BadInput as bad:
            odd.append(bad.reason)


def _parse_step(step: dict[str, Any]) -> JobStep:
    time, nodes = step.get("time") or {}, step.get("nodes") or {}
    identity = str(step["step"]["id"])
    state, start_s = _parse_state(step["state"]) if step.get("state") else None, _parse_time_s(time.get("start"))
    end_s = _parse_time_s(time.get("end"))
    return JobStep(
        # Slurm 24.11 writes 1.batch where 22.05 writes batch.
        step=identity.rpartition(".")[2] if "." in identity else identity,
        name=_optional_text(step["step"].get("name")),
        state=state,
        start_s=start_s,
        end_s=infer_end_s(state, start_s, end_s, _lasted_s(time), "step"),
        nodes=_parse_node_count(nodes.get("count")),
        node_list=fields.node_list(nodes.get("range") or ""),
    )


def _optional_number(value: Any) -> int | None:
    """Return a number in either form; None if it is not set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    if value is None or isinstance(value, bool):
        return None
    if not isinstance(value, int):
        raise BadInput(f"{str(value)[:40]!r} is not a whole number")
    return value


def _parse_node_count(value: Any) -> int | None:
    number = _optional_number(value)
    if number is not None and not 0 <= number < 10**9:
        raise BadInput(f"{number} is not a number of nodes")
    return number


def _parse_time_s(value: Any) -> float | None:
    """Return epoch seconds; None for 0 and NO_VAL, which mean that the event has not happened yet."""
    number = _optional_number(value)
    return None if number is None else fields.time_s(str(number), None)


def _lasted_s(time: Mapping[str, Any]) -> int | None:
    """Return the seconds from start to end: those of `elapsed`, in which a job was not suspended, and of `suspended`."""
    took_s = _optional_number(time.get("elapsed"))
    return None if took_s is None else took_s + (_optional_number(time.get("suspended")) or 0)


def _minutes(value: Any) -> float | None:
    """Return seconds of a limit in minutes; None for no limit or the partition's limit."""
    number = _optional_number(value)
    return None if number is None or not 0 < number < 0xFFFFFFFE else 60.0 * number


def _optional_text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _parse_state(value: Any) -> str:
    """Return the state from a text or list. The first entry of a list is the state; PENDING with REQUEUED becomes REQUEUED, as in sacct's text."""
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) for name in names):
        raise BadInput("has no state")
    return fields.parse_state("REQUEUED" if "REQUEUED" in names else names[0])


def _exit_code(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    code = _optional_number(value.get("return_code"))
    signal = value.get("signal") or {}
    number = _optional_number(signal.get("id", signal.get("signal_id"))) if isinstance(signal, dict) else None
    return None if code is None and number is None else f"{code or 0}:{number or 0}"
