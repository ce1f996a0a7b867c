"""Accounting records of PBS, Flux, ClusterCockpit and the Standard Workload Format."""

from __future__ import annotations


def record(kind: str, job: str, rest: str = "", at: str = "02/03/2026 10:00:00") -> str:
    return f"{at};{kind};{job};{rest}\n"


WHO = 'user=eve group=chem account="turbulence team" project=_pbs_project_default jobname=lammps queue=large ctime=1770109000 qtime=1770109000'
RAN = f"{WHO} start=1770110000 exec_host=x1000c0s0b0n0/0*64+x1000c0s0b0n1/0*64 exec_vnode=(x1000c0s0b0n0:ncpus=64)+(x1000c0s0b0n1:ncpus=64)"
ENDED = (
    f"{RAN} Resource_List.walltime=01:00:00 end=1770113600 Exit_status=0 resources_used.walltime=00:59:00 run_count=1"
)
FLUX = {
    "id": 6134598795264, "userid": 1000, "username": "eve", "state": "INACTIVE", "result": "COMPLETED", "name": "lammps", "queue": "batch",
    "bank": "chem", "ntasks": 8, "nnodes": 4, "ranks": "[0-3]", "nodelist": "tuolumne[1001-1004]", "t_submit": 1770109000.25,
    "t_depend": 1770109000.3, "t_run": 1770110000.5, "t_cleanup": 1770113600.75, "t_inactive": 1770113601.0, "expiration": 1770120000.0,
    "waitstatus": 0, "returncode": 0, "success": True, "exception": {"occurred": False},
}  # fmt: skip
RPC = {
    "id": 2**63 + 5, "userid": 1000, "state": 64, "result": 4, "name": "x", "t_submit": 1770109000.25, "t_run": 1770110000.5,
    "t_cleanup": 1770113600.75, "t_inactive": 1770113601.0, "waitstatus": 15,
    "R": {"version": 1, "execution": {"R_lite": [{"rank": "0-1,5", "children": {"core": "0-3"}}], "nodelist": ["n[1-2]", "m7"],
                                      "starttime": 1770110000.0, "expiration": 0.0}},
}  # fmt: skip
SWF = """; Version: 2.2
; Computer: a machine
; UnixStartTime: 1770100000
; MaxNodes: 64
; MaxProcs: 64
;
1 0 100 3600 32 -1 -1 32 7200 -1 1 3 1 12 2 -1 -1 -1
2 10 50 0 -1 -1 -1 4 -1 -1 5 4 1 -1 -1 -1 -1 -1
3 20 5 60.5 8 -1 -1 8 60 -1 0 -1 -1 -1 -1 -1 -1 -1
3 20 5 30 8 -1 -1 8 60 -1 2 -1 -1 -1 -1 -1 -1 -1
"""
META = {
    "jobId": 398764, "user": "eve", "project": "chem", "cluster": "fritz", "subCluster": "main", "partition": "multinode", "arrayJobId": 0,
    "numNodes": 2, "numHwthreads": 144, "startTime": 1770110000, "duration": 3600, "walltime": 86400, "jobState": "completed",
    "resources": [{"hostname": "f0720"}, {"hostname": "f0721"}], "metaData": {"jobName": "lammps", "jobScript": "#!/bin/sh"},
    "statistics": {},
}  # fmt: skip
