"""Jobs in the formats of schedulers, as each writes them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from flitwatch_ingest.sources import sacct
from flitwatch_ingest.sources.clustercockpit import ClusterCockpitReader
from flitwatch_ingest.sources.flux import FluxReader
from flitwatch_ingest.sources.pbs import PbsReader
from flitwatch_ingest.sources.rejection import Rejection
from flitwatch_ingest.sources.swf import SwfReader

UTC = ZoneInfo("UTC")

START_S, RAN_S = 1_717_747_202, 19

COLUMNS = ("JobID", "JobName", "User", "Partition", "State", "Submit", "Start", "End", "Elapsed", "NNodes", "NodeList")


def rows(*records: dict[str, str], delimiter: str = "|") -> str:
    """An output of sacct; a record's cells by column, with values for those that it does not name."""
    usual = {"JobID": "1", "JobName": "a", "User": "uma", "Partition": "p", "State": "COMPLETED", "Submit": "2024-06-07T08:00:00",
             "Start": "2024-06-07T08:00:02", "End": "2024-06-07T09:00:02", "Elapsed": "01:00:00", "NNodes": "1", "NodeList": "c01"}  # fmt: skip
    lines = [
        delimiter.join(COLUMNS),
        *(delimiter.join((usual | record)[name] for name in COLUMNS) for record in records),
    ]
    return "\n".join(lines) + "\n"


def write_sacct_text(state: str, end_s: float | None, ran_s: float | None) -> str:
    end = "Unknown" if end_s is None else str(int(end_s))
    took = "" if ran_s is None else f"00:00:{int(ran_s):02}"
    return rows({"State": state, "Start": str(START_S), "End": end, "Elapsed": took})


def write_sacct_json(state: str, end_s: float | None, ran_s: float | None) -> str:
    time = {
        "submission": START_S - 2,
        "start": START_S,
        "end": int(end_s or 0),
        **({} if ran_s is None else {"elapsed": int(ran_s)}),
    }
    return json.dumps({"jobs": [{"job_id": 1, "state": {"current": [state]}, "time": time, "nodes": "c01"}]})


def write_flux(state: str, end_s: float | None, ran_s: float | None) -> str:
    result = {"CANCELLED": "CANCELED", "TIMEOUT": "TIMEOUT", "FAILED": "FAILED"}.get(state, "COMPLETED")
    ends = {} if end_s is None else {"t_cleanup": end_s}
    ran = {} if ran_s is None else {"runtime": ran_s}
    return json.dumps(
        {
            "jobs": [
                {
                    "id": 1,
                    "state": "INACTIVE",
                    "result": result,
                    "t_submit": START_S - 2.0,
                    "t_run": float(START_S),
                    **ends,
                    **ran,
                }
            ]
        }
    )


def write_clustercockpit(state: str, end_s: float | None, ran_s: float | None) -> str:
    took = ran_s if ran_s is not None else None if end_s is None else end_s - START_S
    said = {"TIMEOUT": "timeout", "CANCELLED": "cancelled", "FAILED": "failed"}.get(state, "completed")
    return json.dumps(
        {
            "jobId": 1,
            "cluster": "c",
            "jobState": said,
            "startTime": START_S,
            **({} if took is None else {"duration": took}),
        }
    )


def write_swf(state: str, end_s: float | None, ran_s: float | None) -> str:
    took = ran_s if ran_s is not None else -1 if end_s is None else end_s - START_S
    status = {"CANCELLED": 5, "FAILED": 0}.get(state, 1)
    return f"; UnixStartTime: {START_S - 2}\n1 0 2 {int(took)} 4 -1 -1 4 -1 -1 {status} 1 1 1 1 1 -1 -1\n"


def write_pbs(state: str, end_s: float | None, ran_s: float | None) -> str:
    """The record of an end is written when the job ends, and may repeat it."""
    status = {"CANCELLED": 271, "FAILED": 1, "TIMEOUT": -29}.get(state, 0)
    at = datetime.fromtimestamp(START_S + (ran_s or 0), UTC).strftime("%m/%d/%Y %H:%M:%S")
    ends = "" if end_s is None else f" end={int(end_s)}"
    return (
        f"{at};E;1.server;user=uma group=g queue=q jobname=a ctime={START_S - 2} start={START_S} exec_host=c01/0*4{ends}"
        f" Exit_status={status} resources_used.walltime=00:00:{int(ran_s or 0):02} run_count=1\n"
    )


#: By scheduler: writes a job of a final state, and reads what was written.
SCHEDULERS: dict[str, tuple[Callable[[str, float | None, float | None], str], Callable[[], Any]]] = {
    "sacct": (write_sacct_text, lambda: sacct.SacctReader(UTC)),
    "sacct --json": (write_sacct_json, lambda: sacct.SacctReader(UTC)),
    "flux": (write_flux, FluxReader),
    "clustercockpit": (write_clustercockpit, ClusterCockpitReader),
    "swf": (write_swf, SwfReader),
    "pbs": (write_pbs, lambda: PbsReader(UTC)),
}


def read_only_job(reader: Any, text: str) -> Any:
    """The only job, or rejection, of a text."""
    found = [*reader.read(io.BytesIO(text.encode()), "f"), *reader.rest()]
    (item,) = found
    return item if isinstance(item, Rejection) else item[0]


#: By scheduler: a job on hosts, as each writes them.
ON_HOSTS: dict[str, tuple[Callable[[list[str]], str], Callable[[], Any]]] = {
    "sacct": (lambda hosts: rows({"NNodes": str(len(hosts)), "NodeList": ",".join(hosts)}), lambda: sacct.SacctReader(UTC)),
    "sacct --json": (
        lambda hosts: write_sacct_json("COMPLETED", START_S + 60.0, None).replace('"c01"', json.dumps(",".join(hosts))),
        lambda: sacct.SacctReader(UTC),
    ),
    "squeue --json": (
        lambda hosts: json.dumps({"jobs": [{"job_id": 1, "job_state": ["RUNNING"], "start_time": START_S, "nodes": ",".join(hosts)}]}),
        lambda: sacct.SacctReader(UTC),
    ),
    "flux": (
        lambda hosts: json.dumps({"jobs": [json.loads(write_flux("FAILED", None, 5))["jobs"][0] | {"nodelist": ",".join(hosts)}]}),
        FluxReader,
    ),
    "clustercockpit": (
        lambda hosts: json.dumps(
            json.loads(write_clustercockpit("FAILED", None, 5)) | {"resources": [{"hostname": host} for host in hosts]}
        ),
        ClusterCockpitReader,
    ),
    "pbs": (
        lambda hosts: write_pbs("FAILED", None, 5).replace("c01/0*4", "+".join(f"{host}/0*4" for host in hosts)),
        lambda: PbsReader(UTC),
    ),
}  # fmt: skip
