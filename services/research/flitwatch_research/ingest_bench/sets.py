"""The metric sets of the load: all tiles of a Cray XC router, as one set or as the quarters sent by its four nodes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from flitwatch_domain import cray
from flitwatch_domain.fabric import Fabric
from flitwatch_stream.topics import ldms_topic
from flitwatch_twin.ldms_sets import COMMON, avro_schema

TILE_ROWS = 5
VIRTUAL_CHANNELS = 8
_PROCESSOR_TILE = (
    "INQ_PRF_INCOMING_FLIT_VC0",
    "INQ_PRF_INCOMING_FLIT_VC4",
    "INQ_PRF_INCOMING_PKT_VC0_FILTER_FLIT0_CNT",
    "INQ_PRF_INCOMING_PKT_VC4_FILTER_FLIT4_CNT",
    "INQ_PRF_REQ_ROWBUS_STALL_CNT",
    "INQ_PRF_RSP_ROWBUS_STALL_CNT",
    "INQ_PRF_ROWBUS_2X_USAGE_CNT",
    "COLBUF_PERF_STALL_RQ",
    "COLBUF_PERF_STALL_RS",
    "INQ_PRF_PKT_TO_DEAD_LINK_CNT",
)
_NETLINK = (
    "AR_NL_PRF_REQ_NIC_{nic}_TO_PTILES_FLITS",
    "AR_NL_PRF_REQ_NIC_{nic}_TO_PTILES_STALLED",
    "AR_NL_PRF_REQ_PTILES_TO_NIC_{nic}_FLITS",
)


@dataclass(frozen=True)
class MetricSet:
    """One list of metrics and its senders: 492 counters per router, or 123 for each of its four nodes.

    Attributes
    ----------
    metrics : tuple of str
        Counters after the common metrics.
    components : tuple of int
        `component_id` of each sender.
    routers : tuple of int
        The router counted by each sender.
    names : tuple of str
        Its name.
    """

    metrics: tuple[str, ...]
    components: tuple[int, ...]
    routers: tuple[int, ...]
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> str:
        """The row schema: name and first digits of its digest, as in `as_is`."""
        digest = hashlib.sha256("\n".join([*COMMON, *self.metrics]).encode()).hexdigest()
        return f"aries_rtr_mmr_{digest[:7]}"

    @cached_property
    def topic(self) -> str:
        """The topic of the set's records."""
        return ldms_topic(self.schema)

    @property
    def flits(self) -> list[int]:
        """Indices of the counters whose sum is a router's `rt_flits`."""
        return [i for i, name in enumerate(self.metrics) if "_INCOMING_FLIT_VC" in name and "_PT_" not in name]

    @property
    def stalls(self) -> list[int]:
        """Indices of the counters whose sum is a router's `rt_stall_cycles`."""
        return [i for i, name in enumerate(self.metrics) if name.endswith("_PRF_ROWBUS_STALL_CNT")]

    @property
    def port_flits(self) -> list[int]:
        """Indices of the counters whose sum is the flits of all ports."""
        return [i for i, name in enumerate(self.metrics) if "_INCOMING_FLIT_VC" in name]

    def avro_schema(self) -> str:
        """Return the schema in the form registered by `store_avro_kafka`."""
        return avro_schema(self.schema, self.metrics)


def metric_sets(fabric: Fabric, quarters: bool) -> list[MetricSet]:
    """Return the sets of a machine: one list of metrics per router, or four lists sent by four nodes of the router."""
    columns: list[range] = [range(2 * slot, 2 * slot + 2) for slot in range(cray.NODES_PER_ROUTER)]
    if not quarters:
        columns = [range(2 * cray.NODES_PER_ROUTER)]
    senders: list[list[int]] = [[] for _ in range(len(fabric.routers))]
    for router, component in zip(fabric.endpoints.router.tolist(), fabric.endpoints.component_id.tolist(), strict=True):
        senders[router].append(component)
    routers = tuple(range(len(fabric.routers)))
    names = tuple(fabric.routers.name)
    return [
        MetricSet(_list_metrics(part), tuple(senders[router][slot] for router in routers), routers, names)
        for slot, part in enumerate(columns)
    ]


def write_registry(file: Path, sets: list[MetricSet]) -> list[int]:
    """Write the schemas for a writer's `--registry`; return their ids."""
    ids = list(range(1, len(sets) + 1))
    schemas = {str(i): metric_set.avro_schema() for i, metric_set in zip(ids, sets, strict=True)}
    file.write_text(json.dumps({"subjects": {}, "schemas": schemas}))
    return ids


def _list_metrics(columns: range) -> tuple[str, ...]:
    channels = [f"INQ_PRF_INCOMING_FLIT_VC{vc}" for vc in range(VIRTUAL_CHANNELS)]
    network = [*channels, "INQ_PRF_ROWBUS_STALL_CNT", "INQ_PRF_ROWBUS_2X_USAGE_CNT"]
    named = [f"AR_RTR_{row}_{column}_{name}" for row in range(TILE_ROWS) for column in columns for name in network]
    named += [f"AR_RTR_PT_{TILE_ROWS}_{column}_{name}" for column in columns for name in _PROCESSOR_TILE]
    named += [name.format(nic=nic) for nic in sorted({column // 2 for column in columns}) for name in _NETLINK]
    return tuple(named)
