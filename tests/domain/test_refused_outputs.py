"""Known outputs that are not read are refused in one line that names them and says what to use instead."""

from __future__ import annotations

import io

import pytest

from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.read import detect_format
from flitwatch_ingest.sources import sacct

FABRICS = [
    ("Link Summary\n\n352 Links in Fabric:\nRate NodeGUID          Port Type Name\n100g 0x001175010163d2ee   1 FI   n1 hfi1_0\n", "opareport", "ibnetdiscover"),
    ('<?xml version="1.0" ?>\n<Report date="x"><LinkSummary/></Report>\n', "opareport", "ibnetdiscover"),
    ("NodeDesc;SystemImageGUID;PortNum;XmitDataMB\nedge1;0x1;1;1\n", "opaextractperf", "opa2"),
    ('# names\n0x0002c90300000001 "node 1"\n0x0002c90300000002 "leaf A"\n', "node-name map", "--node-name-map"),
    ("CA: n1 HCA-1:\n      0x2 1 1[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==>  2 3[  ] \"sw\" ( )\n", "iblinkinfo", "ibnetdiscover"),
    ('Switch\t : 0x0002c9 ports 36 devid 0xcb20 vendid 0x2c9 "sw"\n', "--list", "without options"),
    ("CA    1  1 0x0002c90300000001 4x QDR - SW    2  3 0x0002c90300000002 ( 'n1' - 'sw1' )\n", "--ports", "without --ports"),
]  # fmt: skip
JOBS = [
    ("JobId=12 JobName=a\n   UserId=u(1)\n", "scontrol show job", "--json"),
    ("   JobId=12 JobName=a\n", "scontrol show job", "--json"),
    ("             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n 1 p a u R 1:00 1 n1\n", "squeue", "squeue --json"),
    ("Job Id: 12.pbs01\n    Job_Name = a\n", "qstat -f", "import pbs"),
    ("Job id            Name             User              Time Use S Queue\n", "qstat", "import pbs"),
    ("       JOBID QUEUE    USER     NAME       ST NTASKS NNODES     TIME INFO\n", "flux jobs", "import flux"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "named", "instead"), FABRICS)
def test_a_topology_that_is_not_read_is_named(text: str, named: str, instead: str) -> None:
    with pytest.raises(BadInput) as refused:
        detect_format(text, "file")
    assert named in refused.value.reason and instead in (refused.value.advice or "")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["# " * 5000 + "\nx", "\n" * 65_000], ids=["comments", "lines"])
def test_what_says_nothing_is_refused_without_trying_all_its_parts(text: str) -> None:
    # Each "# " once doubled the time, and 65,000 line feeds took four minutes.
    with pytest.raises(BadInput, match="is neither"):
        detect_format(text, "file")


@pytest.mark.parametrize(("text", "named", "instead"), JOBS)
def test_accounting_that_is_not_read_is_named(text: str, named: str, instead: str) -> None:
    with pytest.raises(BadInput) as refused:
        list(sacct.stream_jobs(io.BytesIO(text.encode()), "file"))
    assert named in refused.value.reason and instead in (refused.value.advice or "")
