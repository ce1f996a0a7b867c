"""The counter catalogue."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from flitwatch_domain.counters import (
    CATALOGUE,
    ENDPOINT_COLUMNS,
    LINK_CLASS_COLUMNS,
    ROUTER_COLUMNS,
    TABLE_II,
    Scope,
    identify_counter,
)
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Technology
from flitwatch_domain.jobs import Job, kept_job_id, split_job_id
from flitwatch_domain.runs import RunStep
from flitwatch_domain.task_models.base import NAMED_NODES, nodes_of
from flitwatch_domain.topology_spec import MACHINES, fabric_of
from flitwatch_domain.units import infiniband_bandwidth_bps

TABLES = Path(__file__).resolve().parents[2] / "docs" / "contracts" / "tables.md"


def test_names_are_unique_and_entries_complete() -> None:
    assert max(Counter((entry.technology, entry.name) for entry in CATALOGUE).values()) == 1
    for entry in CATALOGUE:
        assert entry.description.endswith(".")
        assert entry.unit
        assert entry.router_column is None or entry.router_column in ROUTER_COLUMNS
        assert entry.endpoint_column is None or entry.endpoint_column in ENDPOINT_COLUMNS
        assert entry.port_array in (None, "flits", "stall_cycles", "packets")


def test_every_catalogue_name_identifies_itself() -> None:
    numbers = {
        "row": "3",
        "col": "6",
        "vc": "4",
        "nic": "2",
        "tile": "5",
        "tc": "7",
        "vl": "11",
        "sl": "15",
        "queue": "9",
    }
    for entry in CATALOGUE:
        row = "5" if entry.scope is Scope.PROCESSOR_TILE else numbers["row"]
        name = entry.name.format(**numbers | {"row": row})
        use = identify_counter(name, entry.technology)
        assert use is not None and use.kind is entry, name


@pytest.mark.parametrize(
    ("name", "port", "nic", "vc", "columns"),
    [
        ("AR_RTR_1_3_INQ_PRF_INCOMING_FLIT_VC4", 11, None, 4, ("rt_flits",)),
        ("AR_RTR_4_7_INQ_PRF_ROWBUS_STALL_CNT", 39, None, None, ("rt_stall_cycles",)),
        ("AR_RTR_PT_5_3_INQ_PRF_INCOMING_FLIT_VC4", 43, 1, 4, ("pt_flits", "pt_vc4_flits")),
        ("AR_RTR_PT_5_3_INQ_PRF_INCOMING_FLIT_VC1", 43, 1, 1, ("pt_flits",)),
        ("AR_RTR_PT_5_7_INQ_PRF_REQ_ROWBUS_STALL_CNT", 47, 3, None, ("pt_rq_stall_cycles",)),
        ("AR_NL_PRF_REQ_PTILES_TO_NIC_3_FLITS", None, 3, None, ()),
        ("cray_npu:::AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_FLITS", None, None, None, ()),
        ("AR_RTR_PT_INQ_PRF_INCOMING_FLIT_VC0", None, None, 0, ("pt_vc0_flits",)),
    ],
)
def test_aries_names(name: str, port: int | None, nic: int | None, vc: int | None, columns: tuple[str, ...]) -> None:
    use = identify_counter(name)
    assert use is not None
    assert (use.port, use.nic, use.vc, use.router_columns) == (port, nic, vc, columns)


@pytest.mark.parametrize(
    "name",
    [
        "AR_RTR_5_3_INQ_PRF_INCOMING_FLIT_VC4",
        "AR_RTR_0_8_INQ_PRF_INCOMING_FLIT_VC0",
        "AR_RTR_PT_4_3_INQ_PRF_INCOMING_FLIT_VC0",
        "AR_RTR_1_3_INQ_PRF_INCOMING_FLIT_VC8",
        "AR_RTR_1_3_INQ_PRF_INCOMING_PKT_VC4_FILTER_FLIT3_CNT",
        "AR_NL_PRF_REQ_PTILES_TO_NIC_4_FLITS",
        "AR_RTR_BOGUS_NOT_THERE",
        "MemFree",
        "",
        "port_xmit_data.rate",
    ],
)
def test_names_of_nothing(name: str) -> None:
    assert identify_counter(name) is None


@pytest.mark.parametrize(
    "name", ["port_xmit_data", "PortXmitData", "ib_nics.port_xmit_data", "ib.port_xmit_data#mlx5_0.1"]
)
def test_infiniband_data_counts_words(name: str) -> None:
    use = identify_counter(name)
    assert use is not None
    assert (use.kind.technology, use.kind.endpoint_column, use.kind.endpoint_scale) == (
        Technology.INFINIBAND,
        "tx_bytes",
        4,
    )


def test_omni_path_data_counts_flits_of_8_bytes() -> None:
    use = identify_counter("PortXmitData", Technology.OPA)
    assert use is not None
    assert (use.kind.endpoint_column, use.kind.endpoint_scale) == ("tx_bytes", 8)


def test_slingshot_traffic_classes() -> None:
    use = identify_counter("nics.hni_pkts_sent_by_tc_3")
    assert use is not None
    assert (use.kind.technology, use.vc, use.kind.endpoint_column) == (Technology.SLINGSHOT, 3, "tx_packets")


def test_table_ii_has_its_13_counters_each_with_a_column_of_its_own() -> None:
    assert len(TABLE_II) == 13
    assert len({counter.column for counter in TABLE_II}) == 13
    for counter in TABLE_II:
        use = identify_counter(counter.vendor)
        assert use is not None and counter.column in use.router_columns
    remarked = {counter.abbreviation for counter in TABLE_II if counter.remark}
    assert remarked == {"RT_PKT_TOT", "PT_PKT_TOT"}


def test_columns_are_those_of_the_contract_in_its_order() -> None:
    text = TABLES.read_text()
    for columns in (ROUTER_COLUMNS, ENDPOINT_COLUMNS):
        places = [text.index(name, text.index(columns[0])) for name in columns]
        assert places == sorted(places)
    for flits, stalls in LINK_CLASS_COLUMNS.values():
        assert flits in ROUTER_COLUMNS and stalls in ROUTER_COLUMNS


@pytest.mark.shared
def test_every_aries_counter_of_the_captures_is_known(shared: Path) -> None:
    seen = 0
    for capture in sorted((shared / "samples" / "ldms" / "kafka").glob("ldms.aries_*_mmr_*.jsonl")):
        for name in json.loads(capture.read_text().split("\n")[1]):
            if name.startswith("AR_"):
                assert identify_counter(name) is not None, name
                seen += 1
    assert seen > 30


def test_every_counter_of_the_ldmsd_example_is_known_and_lies_in_its_share() -> None:
    example = TABLES.parents[2] / "ingest" / "examples" / "ldmsd" / "tiles-node0.txt"
    names = [name for name in example.read_text().split("\n") if name.startswith("AR_")]
    assert len(names) > 150
    for name in names:
        use = identify_counter(name)
        assert use is not None, name
        assert use.port is None or use.port % 8 in (0, 1)
        assert use.nic in (None, 0)


@pytest.mark.parametrize(
    ("name", "lane", "column", "array", "lane_array"),
    [
        ("SAI_PORT_STAT_IF_OUT_OCTETS", None, "rt_flits", "flits", None),
        ("out-octets", None, "rt_flits", "flits", None),
        ("SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US", 3, "rt_stall_cycles", "stall_cycles", "stall_cycles"),
        ("EST_PORT_STAT_PFC_7_RX_PAUSE_DURATION_US", 7, "rt_stall_cycles", "stall_cycles", "stall_cycles"),
        ("SAI_PORT_STAT_PFC_3_RX_PKTS", 3, None, None, None),
        ("SAI_QUEUE_STAT_BYTES_15", 15, None, None, "sl_flits"),
        ("transmit-pkts-0", 0, None, None, "packets"),
    ],
)
def test_names_of_ethernet(
    name: str, lane: int | None, column: str | None, array: str | None, lane_array: str | None
) -> None:
    use = identify_counter(name, Technology.ETHERNET)
    assert use is not None and use.vc == lane
    assert (use.kind.router_column, use.kind.port_array, use.kind.lane_array) == (column, array, lane_array)


@pytest.mark.parametrize(
    "name", ["SAI_PORT_STAT_PFC_8_RX_PKTS", "SAI_QUEUE_STAT_BYTES_16", "SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION"]
)
def test_what_no_ethernet_port_counts_in_a_known_unit(name: str) -> None:
    assert identify_counter(name, Technology.ETHERNET) is None


# Job ids, runs and units.


@pytest.mark.parametrize(
    ("job_id", "task", "offset"),
    [("42", None, None), ("3_4", 4, None), ("10+1", None, 1), ("3_[5-9%2]", None, None), ("7_2+3", 2, 3)],
)
def test_job_ids(job_id: str, task: int | None, offset: int | None) -> None:
    job = Job("c", job_id, "RUNNING")
    assert (job.array_task, job.het_offset) == (task, offset)


@pytest.mark.parametrize("text", ["", "x", "3_", "3+", "-1", "3_4_5", "4.batch", " 4"])
def test_what_is_no_job_id(text: str) -> None:
    with pytest.raises(BadInput):
        split_job_id(text)


@pytest.mark.parametrize(
    ("text", "kept", "server"),
    [
        ("13.srv", "13", "srv"),
        ("13.pbs01.example.org", "13", "pbs01"),
        ("7[3].srv", "7_3", "srv"),
        ("7[04].srv", "7_4", "srv"),
        # An array as a whole is no job that is kept.
        ("7[].srv", "7[].srv", "srv"),
        ("13", "13", None),
        ("3_4", "3_4", None),
        ("10+1", "10+1", None),
        ("3_[5-9%2]", "3_[5-9%2]", None),
        ("x.srv", "x.srv", None),
        ("13.", "13.", None),
    ],
)
def test_a_job_id_of_pbs_means_the_number_that_is_kept(text: str, kept: str, server: str | None) -> None:
    assert kept_job_id(text) == (kept, server)


def test_a_step_takes_as_long_as_its_slowest_rank() -> None:
    assert RunStep(0, np.array([1_500_000_000, 2_000_000_000])).time_s == 2.0


@pytest.mark.parametrize(
    ("text", "gbps"),
    [("4xHDR", 200), ("2xHDR", 100), ("4xEDR", 100), ("4xQDR", 32), ("4xFDR10", 40), ("1xSDR", 2), ("4xNDR", 400)],
)
def test_infiniband_rates(text: str, gbps: float) -> None:
    assert infiniband_bandwidth_bps(text) == pytest.approx(gbps * 1e9)


@pytest.mark.parametrize("text", ["", "4x", "HDR", "4xABC", "3xHDR", "4 x HDR"])
def test_unknown_rates_are_refused(text: str) -> None:
    with pytest.raises(BadInput):
        infiniband_bandwidth_bps(text)


# Sizes of machines by which requests are held to limits are those of the machines.


def test_every_named_machine_has_its_size() -> None:
    assert {name: len(made().endpoints) for name, made in MACHINES.items()} == NAMED_NODES


@pytest.mark.parametrize("spec", ["xgft:2;4,8;1,4", "dragonfly:4,2,4"])
def test_a_generated_machine_has_its_size(spec: str) -> None:
    assert nodes_of(spec) == len(fabric_of(spec).endpoints)
