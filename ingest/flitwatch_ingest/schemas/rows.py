"""A row schema: the columns of one kind of record and the role of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NotRequired, TypedDict

from flitwatch_core.codec import Kind, Role
from flitwatch_domain.counters import CounterUse, Scope, identify_counter
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Technology

#: Largest plausible number of columns in a metric set.
MOST_COLUMNS = 16_384

KIND_WORDS = {Kind.UNSIGNED: "u64", Kind.REAL: "f64", Kind.TEXT: "text"}

TIME = "timestamp"
COMPONENT = "component_id"
PRODUCERS = frozenset({"producer", "M_producer", "ProducerName"})
INSTANCES = frozenset({"instance", "M_instance"})
#: Names of columns that identify an adapter, or an adapter's or a switch's port, in LDMS samplers, exporters and perfquery.
ADAPTERS = frozenset({"ca_name", "hca", "device", "dev", "interface", "iface_name", "nic"})
PORTS = frozenset({"port", "port_num", "portnum", "port_number", "lport"})
#: Columns that identify the port regardless of the sender.
GUIDS = frozenset({"guid", "node_guid", "port_guid"})
LIDS = frozenset({"lid", "port_lid"})
HOSTS = frozenset({"hostname", "host", "node_name"})
_DEVICES = ADAPTERS | PORTS
#: Keys of a list's entries, longest first: the Avro name `tel_list_iface_name` also ends in `_name`.
_KEYS = ("iface_name", "ca_name", "interface", "device", "name", "hca", "nic")
#: In LDMS a dot marks a list's metric; in Avro it is an underscore, which can also be part of a name.
_LIST_ENDS = {".": 2, "_": 3}
#: Columns that LDMS puts before the metrics of each set.
_OF_LDMS = frozenset({"job_id", "app_id"})
#: Columns that name the counted router.
_ROUTER_HINTS = ("aries_rtr_id", "rtr")

_TECHNOLOGIES = (
    ("aries", Technology.CRAY_XC),
    ("slingshot", Technology.SLINGSHOT),
    ("cxi", Technology.SLINGSHOT),
    ("opa", Technology.OPA),
    ("ethernet", Technology.ETHERNET),
    ("ib", Technology.INFINIBAND),
)


class RowKind(StrEnum):
    """Destination of a schema's rows: the counter tables, or `observation` without conversion.

    A PORT belongs to an adapter or a switch; each row's GUID, LID or name decides which.
    """

    ROUTER = "router"
    ENDPOINT = "endpoint"
    PORT = "port"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Column:
    """One metric of a row; `length` is a list's length, 0 for a scalar. `use` is set if deltas are taken, `unknown` for a non-counter next to counters."""

    name: str
    kind: Kind
    length: int = 0
    role: Role = Role.VALUE
    use: CounterUse | None = None
    unknown: bool = False


class SchemaColumn(TypedDict):
    """A column in the form of table ldms_schema; `length` is the length of an array."""

    name: str
    kind: str
    length: int | None
    unknown: NotRequired[bool]


@dataclass(frozen=True)
class RowSchema:
    """Columns of the records of one topic with one list of metrics.

    Attributes
    ----------
    name : str
        The row schema's name: the topic without its prefix.
    """

    name: str
    kind: RowKind
    columns: tuple[Column, ...]

    @property
    def digest(self) -> str:
        """Digest that distinguishes lists of metrics with the same name."""
        text = "\n".join(f"{c.name}\t{KIND_WORDS[c.kind]}\t{c.length}" for c in self.columns)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def hint(self) -> int:
        """Index of the text column that names a router, or -1."""
        names = {c.name: i for i, c in enumerate(self.columns) if c.kind is Kind.TEXT and not c.length}
        return next((names[name] for name in _ROUTER_HINTS if name in names), -1)

    def described(self) -> list[SchemaColumn]:
        """Return the columns in the form of table ldms_schema, in the order of the arrays of table observation.

        Within a kind, counters precede other integers, as in the decoder.
        """
        stored = [c for c in self.columns if c.role not in (Role.TIME, Role.COMPONENT)]
        ordered = [c for c in stored if c.use is not None] + [c for c in stored if c.use is None]
        return [_describe_column(c) for c in ordered]


def _describe_column(column: Column) -> SchemaColumn:
    description = SchemaColumn(name=column.name, kind=KIND_WORDS[column.kind], length=column.length)
    return SchemaColumn(**description, unknown=True) if column.unknown else description


def technology_of(name: str) -> Technology | None:
    """Return the technology implied by a schema's name."""
    lowered = name.lower()
    return next((technology for prefix, technology in _TECHNOLOGIES if lowered.startswith(prefix)), None)


def row_schema(name: str, columns: Sequence[Column]) -> RowSchema:
    """Determine each column's role from its name. Raise BadInput if the timestamp is missing, there are more than `MOST_COLUMNS` columns, or a name
    cannot be stored."""
    if len(columns) > MOST_COLUMNS:
        raise BadInput(f"the record has {len(columns)} metrics, more than {MOST_COLUMNS}")
    if any("\0" in c.name for c in columns):
        raise BadInput("a metric's name contains NUL, which cannot be stored")
    technology = technology_of(name)
    time = next((c for c in columns if c.name == TIME), None)
    if time is None:
        raise BadInput("no timestamp")
    if time.length or time.kind is Kind.TEXT:
        raise BadInput(f"the timestamp is a {'list' if time.length else 'text'}, expected seconds")
    prefixes = _list_prefixes(columns)
    has_component = any(c.name == COMPONENT and c.kind is Kind.UNSIGNED and not c.length for c in columns)
    cast = [_with_role(c, prefixes, has_component) for c in columns]
    uses = [_identify_use(c, prefixes, technology) for c in cast]
    counters = [c.name for c, use in zip(cast, uses, strict=True) if use]
    kind = RowKind.OTHER if counts_several_ports(counters, technology) else _choose_row_kind(uses)
    modern = not any(use.kind.technology is Technology.CRAY_XC for use in uses if use)
    if kind is RowKind.PORT or (kind is RowKind.ENDPOINT and modern):
        cast = [_with_owner(c) for c in cast]
        uses = [use if c.role is Role.VALUE else None for c, use in zip(cast, uses, strict=True)]
    # A router's row does not say which port a counter of another technology belongs to.
    portless = [kind is RowKind.ROUTER and use is not None and use.kind.scope is Scope.PORT for use in uses]
    uses = [None if lacks_port else use for use, lacks_port in zip(uses, portless, strict=True)]
    if kind is not RowKind.OTHER:
        wrong = next(
            (c for c, use in zip(cast, uses, strict=True) if use and (c.kind is not Kind.UNSIGNED or c.length)), None
        )
        if wrong is not None:
            raise BadInput(
                f"counter {wrong.name} is a {KIND_WORDS[wrong.kind]}{' list' if wrong.length else ''}, expected an integer"
            )
        cast = [
            replace(c, use=use, unknown=lacks_port or _is_unknown(c, prefixes, technology))
            for c, use, lacks_port in zip(cast, uses, portless, strict=True)
        ]
    return RowSchema(name, kind, tuple(cast))


def counts_several_ports(names: Iterable[str], technology: Technology | None) -> bool:
    """Return whether columns count several ports, which are not divided: two suffixes, or one counter twice, as in `mlx5_0.port_xmit_data` and
    `mlx5_1.port_xmit_data`."""
    ports: set[str] = set()
    counters: set[tuple[str, int | None]] = set()
    for name in names:
        use = identify_counter(name, technology)
        if use is None or use.kind.technology is Technology.CRAY_XC or not use.kind.feeds:
            continue
        ports.add(port_suffix(name))
        counter = use.kind.name, use.vc
        if len(ports - {""}) > 1 or counter in counters:
            return True
        counters.add(counter)
    return False


def port_suffix(name: str) -> str:
    """Return the port suffix that sysclassib adds, `mlx5_0.1` of `ib.port_xmit_data#mlx5_0.1`; else an empty text."""
    return name.partition("#")[2]


def strip_list_name(name: str) -> str:
    """Return a column's name without its list's name: `ca_name` of `ib_nics.ca_name`."""
    return name.rpartition(".")[2]


def _choose_row_kind(uses: Sequence[CounterUse | None]) -> RowKind:
    scopes = {use.kind.scope for use in uses if use}
    if scopes & {Scope.ROUTER_TILE, Scope.PROCESSOR_TILE}:
        return RowKind.ROUTER
    feeding = [use.kind for use in uses if use and use.kind.feeds]
    if not feeding:
        return RowKind.OTHER
    return RowKind.PORT if all(kind.scope is Scope.PORT for kind in feeding) else RowKind.ENDPOINT


def _list_prefixes(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the prefixes of all lists with entries in a row: `nics.`, or `nics_` in Avro."""
    prefixes = []
    for column in columns:
        if column.kind is not Kind.TEXT or column.length:
            continue
        for key, mark in ((key, mark) for key in _KEYS for mark in _LIST_ENDS):
            prefix = column.name.removesuffix(key)
            if not column.name.endswith(mark + key) or prefix == mark:
                continue
            if sum(c.name.startswith(prefix) for c in columns) >= _LIST_ENDS[mark]:
                prefixes.append(prefix)
                break
    return tuple(prefixes)


def _strip_prefix(name: str, prefixes: Sequence[str]) -> str:
    return next((name.removeprefix(prefix) for prefix in prefixes if name.startswith(prefix)), name)


def _with_role(column: Column, prefixes: Sequence[str], has_component: bool) -> Column:
    if column.name == TIME and not column.length:
        return replace(column, role=Role.TIME)
    if column.name == COMPONENT and has_component:
        return replace(column, role=Role.COMPONENT)
    names = _DEVICES | INSTANCES | (frozenset() if has_component else PRODUCERS)
    tail = _strip_prefix(column.name, prefixes)
    entry = tail != column.name and tail in (*_KEYS, *_DEVICES)
    if not column.length and column.kind is not Kind.REAL and (column.name in names or entry):
        return replace(column, role=Role.IDENTITY)
    return column


def _with_owner(column: Column) -> Column:
    """Make a column that names a port's owner an identity column. It must distinguish ports because an unset component_id is 0 on every node."""
    says = strip_list_name(column.name) in GUIDS | LIDS | HOSTS | PRODUCERS
    if column.role is Role.VALUE and not column.length and column.kind is not Kind.REAL and says:
        return replace(column, role=Role.IDENTITY)
    return column


def _is_unknown(column: Column, prefixes: Sequence[str], technology: Technology | None) -> bool:
    """Return whether a column is a number of unknown meaning, which is not stored."""
    if column.role is not Role.VALUE or column.kind is Kind.TEXT or column.name in _OF_LDMS:
        return False
    return identify_counter(_strip_prefix(column.name, prefixes), technology) is None


def _identify_use(column: Column, prefixes: Sequence[str], technology: Technology | None) -> CounterUse | None:
    if column.role is not Role.VALUE:
        return None
    use = identify_counter(_strip_prefix(column.name, prefixes), technology)
    return use if use is not None and use.kind.cumulative else None
