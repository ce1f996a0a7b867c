"""Roles of a record's columns from their names, and the counter columns that they add to."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from support.endless_answer import SOCKETS_BYTES, serving_endlessly

from flitwatch_core import codec
from flitwatch_core.codec import Kind, Role
from flitwatch_domain.counters import ENDPOINT_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.errors import BadInput, Unavailable
from flitwatch_domain.fabric import Technology
from flitwatch_ingest.registry import HttpRegistry
from flitwatch_ingest.schemas.charts import LANE_ARRAYS, PORT_ARRAYS, Claims, chart_arrays, require_columns
from flitwatch_ingest.schemas.rows import (
    MOST_COLUMNS,
    Column,
    RowKind,
    RowSchema,
    port_suffix,
    row_schema,
    strip_list_name,
    technology_of,
)

TIMESTAMP = Column("timestamp", Kind.REAL)

STALLS, BLUE_STALLS = "AR_RTR_0_1_INQ_PRF_ROWBUS_STALL_CNT", "AR_RTR_4_7_INQ_PRF_ROWBUS_STALL_CNT"

REQUESTS = "AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_FLITS"


def number(name: str, length: int = 0) -> Column:
    return Column(name, Kind.UNSIGNED, length)


def text(name: str, length: int = 0) -> Column:
    return Column(name, Kind.TEXT, length)


def real(name: str, length: int = 0) -> Column:
    return Column(name, Kind.REAL, length)


def schema(name: str, *columns: Column | str) -> RowSchema:
    """A schema of a timestamp and the columns; a bare name is an integer's."""
    return row_schema(name, [TIMESTAMP, *(number(c) if isinstance(c, str) else c for c in columns)])


def roles(made: RowSchema, role: Role) -> set[str]:
    return {c.name for c in made.columns if c.role is role}


def counted(made: RowSchema) -> set[str]:
    return {c.name for c in made.columns if c.use is not None}


# What a row is


@pytest.mark.parametrize(
    ("name", "columns", "kind"),
    [
        ("aries_rtr", [STALLS], RowKind.ROUTER),
        ("aries_rtr", ["AR_RTR_PT_5_0_INQ_PRF_REQ_ROWBUS_STALL_CNT"], RowKind.ROUTER),
        ("aries_rtr", [STALLS, REQUESTS], RowKind.ROUTER),
        ("aries_nic", [REQUESTS], RowKind.ENDPOINT),
        ("cxi", ["hni_sts_tx_ok_octets"], RowKind.ENDPOINT),
        ("ibnet", ["port_xmit_data", "symbol_error"], RowKind.PORT),
        # Counters that feed no column place nothing.
        ("ibnet", ["link_downed"], RowKind.OTHER),
        ("aries_nic", ["AR_NIC_ORB_PRF_RSP_BYTES_RCVD"], RowKind.OTHER),
        ("meminfo", ["MemFree"], RowKind.OTHER),
        # One port after `#` is the row's own; two are a node's side by side, which no single row can place.
        ("ib", ["ib.port_xmit_data#mlx5_0.1", "ib.port_rcv_data#mlx5_0.1"], RowKind.PORT),
        ("ib", ["ib.port_xmit_data#mlx5_0.1", "ib.port_xmit_data#mlx5_1.1"], RowKind.OTHER),
        # What is no counter names no port.
        ("ib", ["ib.port_xmit_data#mlx5_0.1", "ib.note#mlx5_1.1"], RowKind.PORT),
    ],
)
def test_where_the_rows_of_a_schema_go(name: str, columns: list[str], kind: RowKind) -> None:
    made = schema(name, *columns)
    assert made.kind is kind and made.name == name
    assert bool(counted(made)) == (kind is not RowKind.OTHER)


def test_only_running_counts_are_counters() -> None:
    """The channel that a counter watches is a setting, and the timestamp is no counter whatever its name."""
    made = schema("aries_rtr", STALLS, "AR_RTR_0_1_COLBUF_PERF_STALL_RQ:VC_PTR", "unheard_of")
    assert STALLS in counted(made) and "unheard_of" not in counted(made)
    assert roles(made, Role.TIME) == {"timestamp"}


@pytest.mark.parametrize(
    ("name", "technology"),
    [
        ("aries_rtr_mmr", Technology.CRAY_XC),
        ("ARIES", Technology.CRAY_XC),
        ("slingshot_metrics", Technology.SLINGSHOT),
        ("cxi_sampler", Technology.SLINGSHOT),
        ("opa2", Technology.OPA),
        ("ibmad_records", Technology.INFINIBAND),
        ("meminfo", None),
        ("my_aries", None),
    ],
)
def test_the_technology_that_a_name_tells(name: str, technology: Technology | None) -> None:
    assert technology_of(name) is technology


def test_omni_path_counts_by_its_own_unit() -> None:
    """The same counter's name is four bytes a count on InfiniBand and eight on Omni-Path."""
    scales = [destinations(schema(name, "port_rcv_data"))["port_rcv_data"]["scale"] for name in ("ibnet", "opa2")]
    assert scales == [4, 8]


# Refusals


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([number("MemFree")], r"no timestamp"),
        ([real("timestamp", 2)], r"the timestamp is a list, expected seconds"),
        ([text("timestamp")], r"the timestamp is a text, expected seconds"),
        ([TIMESTAMP, number("a\0b")], r"NUL"),
        ([TIMESTAMP, text(STALLS)], rf"counter {STALLS} is a text, expected an integer"),
        ([TIMESTAMP, real(STALLS)], rf"counter {STALLS} is a f64, expected an integer"),
        ([TIMESTAMP, number(STALLS, 3)], rf"counter {STALLS} is a u64 list, expected an integer"),
    ],
)
def test_a_record_that_cannot_be_a_row_is_refused(columns: list[Column], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        row_schema("aries_rtr", columns)


def test_a_real_counter_of_rows_that_go_nowhere_is_kept_as_it_came() -> None:
    assert schema("ibnet", real("link_downed")).kind is RowKind.OTHER


def test_the_most_columns_that_a_row_may_have() -> None:
    columns = [TIMESTAMP, *(number(f"m{i}") for i in range(MOST_COLUMNS - 1))]
    assert len(row_schema("wide", columns).columns) == MOST_COLUMNS == 16_384
    with pytest.raises(BadInput, match="16385 metrics, more than 16384"):
        row_schema("wide", [*columns, number("one_more")])


# What tells rows apart


@pytest.mark.parametrize("name", ["ca_name", "hca", "device", "dev", "interface", "nic", "port", "lport", "instance"])
def test_a_device_or_an_instance_tells_rows_apart(name: str) -> None:
    for column, found in ((text(name), True), (number(name), True), (real(name), False), (text(name, 2), False)):
        assert (name in roles(schema("mixed", "component_id", column), Role.IDENTITY)) is found, column


@pytest.mark.parametrize("producer", ["producer", "M_producer", "ProducerName"])
def test_the_producer_tells_rows_apart_where_no_component_does(producer: str) -> None:
    assert roles(schema("meminfo", text(producer)), Role.IDENTITY) == {producer}
    with_component = schema("meminfo", text(producer), "component_id")
    assert roles(with_component, Role.IDENTITY) == set() and roles(with_component, Role.COMPONENT) == {"component_id"}
    for component in (text("component_id"), number("component_id", 2)):
        odd = schema("meminfo", text(producer), component)
        assert roles(odd, Role.IDENTITY) == {producer} and not roles(odd, Role.COMPONENT)


OWNERS = ["guid", "node_guid", "port_guid", "lid", "port_lid", "hostname", "host", "node_name", "producer"]


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize(
    ("name", "counter", "distinguished"),
    [
        ("ibnet", "port_xmit_data", True),
        ("cxi", "hni_sts_tx_ok_octets", True),
        # A Cray's component_id says whose NIC it is.
        ("aries_nic", REQUESTS, False),
        ("aries_rtr", STALLS, False),
        ("meminfo", "MemFree", False),
    ],
)
def test_what_says_whose_port_it_is_tells_ports_apart(name: str, counter: str, distinguished: bool, owner: str) -> None:
    made = schema(name, "component_id", counter, text(owner))
    assert (owner in roles(made, Role.IDENTITY)) is distinguished
    assert counter in {c.name for c in made.columns if c.role is Role.VALUE}
    for odd in (real(owner), text(owner, 2)):
        assert owner not in roles(schema(name, "component_id", counter, odd), Role.IDENTITY)


def test_a_row_of_one_entry_of_a_list_reads_its_names_without_the_lists() -> None:
    dotted = schema("ibnet", "component_id", text("ib_nics.ca_name"), "ib_nics.port_xmit_data")
    assert dotted.kind is RowKind.PORT and roles(dotted, Role.IDENTITY) == {"ib_nics.ca_name"}
    avro = schema("ibnet", "component_id", text("nics_ca_name"), "nics_port", "nics_port_xmit_data")
    assert avro.kind is RowKind.PORT and counted(avro) == {"nics_port_xmit_data"}
    assert roles(avro, Role.IDENTITY) == {"nics_ca_name", "nics_port"}


def test_an_underscore_alone_makes_no_list() -> None:
    """`my_name` and `my_port_xmit_data` may be two metrics; from three on they are one list's."""
    two = schema("ibnet", "component_id", text("my_name"), "my_port_xmit_data")
    assert two.kind is RowKind.OTHER and roles(two, Role.IDENTITY) == set()
    three = schema("ibnet", "component_id", text("my_name"), "my_port_xmit_data", "my_port")
    assert three.kind is RowKind.PORT and roles(three, Role.IDENTITY) == {"my_name", "my_port"}


def test_a_dot_makes_a_list_from_two_metrics_on() -> None:
    alone = schema("mixed", "component_id", text("nics.name"), "MemFree")
    assert roles(alone, Role.IDENTITY) == set()
    pair = schema("mixed", "component_id", text("nics.name"), "nics.speed")
    assert roles(pair, Role.IDENTITY) == {"nics.name"}


@pytest.mark.parametrize("key", [number("nics_name"), text("nics_name", 4), text("nics_label"), text("_name")])
def test_what_is_no_name_is_no_key_of_a_list(key: Column) -> None:
    made = schema("ibnet", "component_id", key, "nics_port", "nics_port_xmit_data")
    assert made.kind is RowKind.OTHER and roles(made, Role.IDENTITY) == set()


def test_the_longest_key_of_a_list_counts() -> None:
    """`tel_list_iface_name` ends in `_name` too: the list is `tel_list_`."""
    made = schema("cxi", "component_id", text("tel_list_iface_name"), "tel_list_x", "tel_list_hni_sts_tx_ok_octets")
    assert made.kind is RowKind.ENDPOINT and counted(made) == {"tel_list_hni_sts_tx_ok_octets"}
    assert roles(made, Role.IDENTITY) == {"tel_list_iface_name"}


@pytest.mark.parametrize(
    ("name", "after", "last"),
    [
        ("ib.port_xmit_data#mlx5_0.1", "mlx5_0.1", "1"),
        ("ib_nics.ca_name", "", "ca_name"),
        ("port", "", "port"),
        ("a#b#c", "b#c", "a#b#c"),
    ],
)
def test_parts_of_a_columns_name(name: str, after: str, last: str) -> None:
    assert port_suffix(name) == after and strip_list_name(name) == last


# What a schema says of itself


def test_a_digest_tells_lists_of_metrics_apart() -> None:
    columns = [[text("a"), number("b")], [number("a"), number("b")], [text("a", 2), number("b")], [text("a")]]
    columns += [[number("b"), text("a")], [text("c"), number("b")]]
    digests = [schema("x", *given).digest for given in columns]
    assert len(set(digests)) == len(digests)
    assert all(re.fullmatch("[0-9a-f]{16}", digest) for digest in digests)
    assert schema("y", *columns[0]).digest == digests[0]


def test_the_column_that_names_a_router() -> None:
    assert schema("aries_rtr", "component_id", STALLS, text("rtr")).hint == 3
    assert schema("aries_rtr", text("rtr"), text("aries_rtr_id"), STALLS).hint == 2
    for odd in ("rtr", text("rtr", 2), text("router")):
        assert schema("aries_rtr", odd, STALLS).hint == -1


def test_columns_are_described_in_the_order_of_the_observations_arrays_with_those_that_no_catalogue_knows() -> None:
    made = schema("aries_rtr", "component_id", text("rtr"), "unheard_of", STALLS, real("load"), number("each", 4))
    assert made.described() == [
        {"name": STALLS, "kind": "u64", "length": 0},
        {"name": "rtr", "kind": "text", "length": 0},
        {"name": "unheard_of", "kind": "u64", "length": 0, "unknown": True},
        {"name": "load", "kind": "f64", "length": 0, "unknown": True},
        {"name": "each", "kind": "u64", "length": 4, "unknown": True},
    ]


# Where counters go

PARTS = {0: "flits", 1: "stall_cycles", -1: None}


def destinations(made: RowSchema) -> dict[str, dict[str, Any] | None]:
    """Each counter as passed to the core, in names; None: it feeds no column."""
    cells, cell_of, _ = chart_arrays(made, Claims())
    assert cells.dtype == "int32" and cells.shape[1] == 15
    names = [c.name for c in made.columns if c.use is not None]
    out: dict[str, dict[str, Any] | None] = {}
    for name, cell in zip(names, cell_of.tolist(), strict=True):
        if cell < 0:
            out[name] = None
            continue
        port, array, *rest = cells[cell].tolist()
        columns, (part, place, column, scale, tiles, lane, lane_array, port_scale, stall_units, bits) = (
            rest[:3],
            rest[3:],
        )
        assert columns == sorted(columns, key=lambda c: c < 0), "columns that there are come first"
        assert (place < 0) == (column < 0)
        out[name] = {
            "port": port,
            "array": PORT_ARRAYS[array] if array >= 0 else None,
            "router": tuple(ROUTER_COLUMNS[c] for c in columns if c >= 0),
            "class": PARTS[part],
            "nic": place,
            "endpoint": ENDPOINT_COLUMNS[column] if column >= 0 else None,
            "scale": scale,
            "tiles": tiles,
            "port_scale": port_scale,
            "stall_units": stall_units,
            "bits": bits,
        }
        assert (lane < 0) == (lane_array < 0)
        if lane >= 0:
            out[name] |= {"lane": lane, "lane_array": LANE_ARRAYS[lane_array]}  # type: ignore[operator]
        assert min(port, array, *rest) >= -2 and min(array, *rest) >= -1
    return out


def wanted(**given: Any) -> dict[str, Any]:
    nothing = {"port": -1, "array": None, "router": (), "class": None, "nic": -1, "endpoint": None}
    return nothing | {"scale": 1, "tiles": 0, "port_scale": 1, "stall_units": 0, "bits": 0} | given


TILE, PTILE = "AR_RTR_3_5_INQ_PRF_", "AR_RTR_PT_5_2_INQ_PRF_"


@pytest.mark.parametrize(
    ("counter", "goes_to"),
    [
        # Network tile 3_5 is port 29; flits and stalls also go to its link's class.
        (TILE + "INCOMING_FLIT_VC3", wanted(port=29, array="flits", router=("rt_flits",), **{"class": "flits"})),
        (
            TILE + "ROWBUS_STALL_CNT",
            wanted(port=29, array="stall_cycles", router=("rt_stall_cycles",), **{"class": "stall_cycles"}),
        ),
        (TILE + "INCOMING_PKT_VC1_FILTER_FLIT1_CNT", wanted(port=29, array="packets", router=("rt_packets",))),
        (TILE + "ROWBUS_2X_USAGE_CNT", wanted(port=29, router=("rt_rb_2x_cycles",))),
        (TILE + "PKT_TO_DEAD_LINK_CNT", None),
        # Tile 0_0 is port 0, not "no port".
        ("AR_RTR_0_0_INQ_PRF_ROWBUS_2X_USAGE_CNT", wanted(port=0, router=("rt_rb_2x_cycles",))),
        (
            "AR_RTR_0_0_INQ_PRF_INCOMING_FLIT_VC0",
            wanted(port=0, array="flits", router=("rt_flits",), **{"class": "flits"}),
        ),
        # Processor tile 5_2 is port 42: requests are channel 0, responses channel 4.
        (PTILE + "INCOMING_FLIT_VC0", wanted(port=42, array="flits", router=("pt_flits", "pt_vc0_flits"))),
        (PTILE + "INCOMING_FLIT_VC4", wanted(port=42, array="flits", router=("pt_flits", "pt_vc4_flits"))),
        (PTILE + "INCOMING_FLIT_VC2", wanted(port=42, array="flits", router=("pt_flits",))),
        (
            PTILE + "REQ_ROWBUS_STALL_CNT",
            wanted(port=42, array="stall_cycles", router=("pt_rq_stall_cycles",)),
        ),
        # Sums over a router name how many tiles they stand for.
        ("AR_RTR_INQ_PRF_INCOMING_FLIT_TOTAL", wanted(router=("rt_flits",), tiles=40)),
        ("AR_RTR_PT_INQ_PRF_INCOMING_FLIT_TOTAL", wanted(router=("pt_flits",), tiles=8)),
        ("AR_RTR_INQ_PRF_ROWBUS_STALL_CNT", wanted(router=("rt_stall_cycles",))),
        ("AR_RTR_PT_INQ_PRF_INCOMING_FLIT_VC4", wanted(router=("pt_vc4_flits",))),
        # NICs that a router's set counts, by number; one without a number cannot be placed there.
        ("AR_NL_PRF_REQ_NIC_0_TO_PTILES_STALLED", wanted(nic=0, endpoint="tx_wait_cycles")),
        ("AR_NL_PRF_REQ_NIC_3_TO_PTILES_FLITS", wanted(nic=3, endpoint="tx_flits")),
        ("AR_NL_PRF_RSP_PTILES_TO_NIC_1_PKTS", wanted(nic=1, endpoint="rx_packets")),
        ("AR_NL_PRF_RSP_PTILES_TO_NIC_1_STALLED", None),
        (REQUESTS, None),
    ],
)
def test_where_a_routers_counter_goes(counter: str, goes_to: dict[str, Any] | None) -> None:
    made = schema("aries_rtr", "component_id", BLUE_STALLS, counter)
    assert made.kind is RowKind.ROUTER
    assert destinations(made)[counter] == goes_to


@pytest.mark.parametrize(
    ("counter", "goes_to"),
    [
        (REQUESTS, wanted(nic=4, endpoint="rq_flits")),
        ("AR_NIC_ORB_PRF_REQ_BYTES_SENT", wanted(nic=4, endpoint="tx_bytes")),
        ("AR_NIC_ORB_PRF_NET_RSP_TRACK_2", wanted(nic=4, endpoint="latency_us_sum")),
        ("AR_NIC_ORB_PRF_RSP_BYTES_RCVD", None),
    ],
)
def test_where_a_nics_counter_goes(counter: str, goes_to: dict[str, Any] | None) -> None:
    """Place 4 is the row's own endpoint: 0 to 3 are the NICs of a router."""
    made = schema("aries_nic", "component_id", REQUESTS, counter)
    assert made.kind is RowKind.ENDPOINT and destinations(made)[counter] == goes_to


@pytest.mark.parametrize(
    ("counter", "goes_to"),
    [
        (
            "port_xmit_data",
            wanted(port=-2, array="flits", router=("rt_flits",), nic=4, endpoint="tx_bytes", scale=4, bits=32),
        ),
        ("port_rcv_data", wanted(port=-2, nic=4, endpoint="rx_bytes", scale=4, bits=32)),
        (
            "port_xmit_wait",
            wanted(port=-2, array="stall_cycles", router=("rt_stall_cycles",), nic=4, endpoint="tx_wait_cycles")
            | {"stall_units": 1, "bits": 32},
        ),
        (
            "port_xmit_packets",
            wanted(port=-2, array="packets", router=("rt_packets",), nic=4, endpoint="tx_packets", bits=32),
        ),
        ("symbol_error", wanted(port=-2, nic=4, endpoint="errors", bits=16)),
        ("link_downed", None),
        # Of a lane alone: no column, no array, no time.
        ("XmtDataSL5", wanted(port=-2, lane=5, lane_array="sl_flits", bits=32)),
        ("PortVLXmitWait15", wanted(port=-2, lane=15, lane_array="stall_cycles", stall_units=1, bits=16)),
    ],
)
def test_where_a_ports_counter_goes(counter: str, goes_to: dict[str, Any] | None) -> None:
    assert codec.OWN_PORT == -2
    made = schema("ibnet", text("guid"), "lport", "port_rcv_packets", counter)
    assert made.kind is RowKind.PORT and destinations(made)[counter] == goes_to


@pytest.mark.parametrize(
    ("columns", "times"),
    [
        # Exporters send a port's counters one by one: each port has flits, so that they alone count its time.
        (["port_xmit_data"], True),
        (["port_rcv_data"], False),
        (["port_xmit_wait"], False),
        (["port_xmit_wait", "port_rcv_data"], True),
        # A set of LDMS on Aries is whole, however few of its counters are kept.
        ([TILE + "ROWBUS_STALL_CNT"], True),
        ([TILE + "INCOMING_FLIT_VC3"], True),
    ],
)
def test_a_lone_counter_counts_its_ports_time_only_where_every_port_has_it(columns: list[str], times: bool) -> None:
    aries = columns[0].startswith(TILE)
    made = schema("aries_rtr", *columns) if aries else schema("ibnet", text("guid"), "lport", *columns)
    found = destinations(made)
    assert {goes_to["tiles"] for goes_to in found.values() if goes_to} == {0 if times else -1}


def test_counters_of_one_destination_share_a_cell() -> None:
    made = schema("aries_rtr", *(f"{TILE}INCOMING_FLIT_VC{vc}" for vc in range(8)), BLUE_STALLS)
    cells, cell_of, claims = chart_arrays(made, Claims())
    assert len(cells) == 2 and cell_of.tolist() == [0] * 8 + [1] and claims.tolist() == list(range(9))


def test_claims_number_names_once_over_all_feeds() -> None:
    claims = Claims()
    first = schema("aries_nic", REQUESTS, "AR_NIC_ORB_PRF_REQ_BYTES_SENT")
    second = schema("aries_nic", "AR_NIC_ORB_PRF_REQ_BYTES_SENT", "AR_NIC_RAT_PRF_REQ_BYTES_RCVD")
    assert chart_arrays(first, claims)[2].tolist() == [0, 1]
    assert chart_arrays(second, claims)[2].tolist() == [1, 2]


def test_a_schema_without_counters_has_empty_arrays() -> None:
    cells, cell_of, claims = chart_arrays(schema("meminfo", "MemFree"), Claims())
    assert cells.shape == (0, 15) and cell_of.size == claims.size == 0


@pytest.mark.parametrize("part", ["ROUTER_COLUMNS", "ENDPOINT_COLUMNS", "CLASS_COLUMNS", "LANES", "LANE_ARRAYS"])
def test_a_core_of_other_columns_is_refused(part: str) -> None:
    parts = ("ROUTER_COLUMNS", "ENDPOINT_COLUMNS", "CLASS_COLUMNS", "LANES", "LANE_ARRAYS")
    core = SimpleNamespace(**{name: getattr(codec, name) for name in parts})
    require_columns(core)
    for by in (-1, 1):
        setattr(core, part, getattr(codec, part) + by)
        with pytest.raises(ImportError, match="Rebuild flitwatch-core"):
            require_columns(core)


# A schema registry that answers without an end.


def test_an_endless_schema_is_refused() -> None:
    with serving_endlessly() as server, pytest.raises(Unavailable, match="more than 8 MiB"):
        HttpRegistry(server.url).text(1)
    assert server.sent_bytes <= 2 * SOCKETS_BYTES


def test_a_ports_counter_in_a_routers_row_is_unknown() -> None:
    """The row does not say which port counted, so its ticks cannot become stalls."""
    made = schema("aries", text("aries_rtr_id"), STALLS, "portXmitWait", "port_xmit_data")
    assert made.kind is RowKind.ROUTER and counted(made) == {STALLS}
    assert {c.name for c in made.columns if c.unknown} == {"portXmitWait", "port_xmit_data"}
    cells, _, _ = chart_arrays(made, Claims())
    assert len(cells) == 1
