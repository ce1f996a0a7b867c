"""Ports of records, identified by GUID, by LID, or by component or host and the adapter's name, in that order. Ports of Ethernet or Slingshot
switches are identified by their names."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from flitwatch_core.codec import Kind, Role
from flitwatch_domain.fabric import Fabric, Technology
from flitwatch_domain.fabric.endpoint_names import plain_guid
from flitwatch_domain.hosts import find_host, host_key
from flitwatch_domain.importers.ibnames import is_same_adapter
from flitwatch_ingest.schemas import RowSchema
from flitwatch_ingest.schemas.rows import (
    ADAPTERS,
    GUIDS,
    HOSTS,
    INSTANCES,
    LIDS,
    PORTS,
    PRODUCERS,
    port_suffix,
    strip_list_name,
)

_LAST_NUMBER = re.compile(r"([0-9]+)(?!.*[0-9])")
#: ca_name and port as sysclassib joins them.
_JOINED = re.compile(r"(.+)\.([0-9]{1,3})")


@dataclass(frozen=True)
class Owner:
    """Description of the port in a record.

    Attributes
    ----------
    guids : tuple of str      without 0x and leading zeros
    names : tuple of str      names of the port's device
    hosts : tuple of str      sender of the record: the port's node, unless a GUID or LID contradicts
    adapter : str             mlx5_0, cxi1, hsn0; empty: not given
    """

    guids: tuple[str, ...] = ()
    lid: int | None = None
    names: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    adapter: str = ""
    port: int | None = None

    def __str__(self) -> str:
        if self.guids:
            who = f"GUID {self.guids[0]}"
        elif self.lid is not None:
            who = f"LID {self.lid}"
        else:
            who = next(iter((*self.names, *self.hosts)), "a set without a host name")
        where = f"{self.adapter} port {self.port}" if self.adapter and self.port is not None else self.adapter
        where = where or (f"port {self.port}" if self.port is not None else "")
        return f"{who} {where}".rstrip()


def owner_of(schema: RowSchema, identity: str) -> Owner:
    """Parse a set's identity using its columns."""
    columns = [c for c in schema.columns if c.role is Role.IDENTITY]
    parts = identity.split("\x1f")[:-1]
    if len(parts) != len(columns):
        return Owner()
    texts: dict[str, list[str]] = defaultdict(list)
    for column, part in zip(columns, parts, strict=True):
        what, text = _part_of_identity(strip_list_name(column.name), column.kind), part.strip()
        if what == "guid" and column.kind is Kind.UNSIGNED:
            text = f"{int(text):x}"
        if text:
            texts[what].append(text)
    joined = next((port_suffix(c.name) for c in schema.columns if c.use and port_suffix(c.name)), "")
    if match := _JOINED.fullmatch(joined):
        texts["adapter"].append(match.group(1))
        texts["port"].append(match.group(2))
    return Owner(
        # The sampler writes 0 for an unreadable GUID.
        tuple(guid for text in texts["guid"] if (guid := plain_guid(text))),
        _first_number(texts["lid"]),
        tuple(texts["name"]),
        tuple(texts["host"]) + tuple(text.partition("/")[0] for text in texts["instance"] if "/" in text),
        next(iter(texts["adapter"]), ""),
        _first_number(texts["port"]),
    )


def _part_of_identity(name: str, kind: Kind) -> str:
    for part, names in (
        ("guid", GUIDS),
        ("lid", LIDS),
        ("port", PORTS),
        ("instance", INSTANCES),
        ("adapter", ADAPTERS),
    ):
        if name in names:
            # A port may be a text: hsn0.
            return "adapter" if part == "port" and kind is Kind.TEXT else part
    if name in PRODUCERS | (HOSTS - {"node_name"}):
        return "host"
    if name == "node_name":
        return "name"
    # Avro names begin with the list's name and an underscore.
    if name.endswith("port") and kind is Kind.UNSIGNED:
        return "port"
    return "adapter"


def _first_number(texts: list[str]) -> int | None:
    text = next(iter(texts), "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


@dataclass(frozen=True)
class ResolvedPort:
    """A switch's port or an endpoint; `reason` explains why it is neither."""

    router: int = -1
    port: int = -1
    endpoint: int = -1
    device: str = ""
    reason: str = ""


@dataclass
class FabricPorts:
    fabric: Fabric
    _endpoints_by_guid: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _ends_by_port_guid: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _routers_by_guid: dict[str, int] = field(default_factory=dict)
    _endpoint_by_lid: dict[int, int] = field(default_factory=dict)
    _router_by_lid: dict[int, int] = field(default_factory=dict)
    _by_host: dict[str, dict[str, list[int]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    _routers_by_host: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        fabric, ends = self.fabric, self.fabric.endpoints
        self._adapters: list[str | None] = self._of_endpoints("adapters", None)
        self._adapter_ports: list[int] = self._of_endpoints("adapter_ports", 0)
        lids, lmc = self._of_endpoints("lids", 0), self._of_endpoints("lmc", 0)
        self._topology_nodes: list[str | None] = self._of_endpoints("topology_nodes", None)
        owners = self._of_endpoints("adapter_guids", None)
        for e in range(len(ends)):
            # On many adapters the first port has the node's GUID, which the two lists may spell differently.
            for guid in {plain_guid(guid_text) for guid_text in (ends.guid[e], owners[e]) if guid_text is not None}:
                self._endpoints_by_guid[guid].append(e)
            if owners[e] is not None and (port_guid := plain_guid(str(ends.guid[e] or ""))) != plain_guid(owners[e]):
                self._ends_by_port_guid[port_guid].append(e)
            for lid in range(lids[e], lids[e] + (1 << min(lmc[e], 7))) if lids[e] else ():
                self._endpoint_by_lid[lid] = e
            for node in dict.fromkeys(self._names_of(e)):
                self._by_host[host_key(node)][node].append(e)
        for router, guid in enumerate(fabric.routers.guid):
            if guid:
                self._routers_by_guid[plain_guid(guid)] = router
        for router_name in fabric.router_by_name:
            self._routers_by_host[host_key(router_name)].append(router_name)
        switch_lids = fabric.attributes.get("switch_lids") or []
        self._router_by_lid = {lid: router for router, lid in enumerate(switch_lids[: len(fabric.routers)]) if lid}
        self._counted = fabric.counted_links()
        self._port_names = [
            {str(name): port for port, name in enumerate(own) if name} for own in self._of_routers("port_names")
        ] or [
            {f"a0l{link}": port for port, link in enumerate(own) if link >= 0} for own in self._of_routers("chip_ports")
        ]

    def _of_routers(self, name: str) -> list:
        values = self.fabric.attributes.get(name)
        return values if isinstance(values, list) and len(values) == len(self.fabric.routers) else []

    def _of_endpoints(self, name: str, missing: object) -> list:
        values = self.fabric.attributes.get(name)
        count = len(self.fabric.endpoints)
        return values if isinstance(values, list) and len(values) == count else [missing] * count

    def find(self, owner: Owner, at_component: list[int]) -> ResolvedPort | None:
        """Find a port; None: not in this fabric.

        Parameters
        ----------
        at_component : list of int
            The endpoints of the set's component_id.
        """
        if owner.guids:
            return self._by_guid(owner)
        if owner.lid is not None:
            return self._by_lid(owner)
        if self._port_names and (named := self._router_of(owner)) is not None:
            return self._switch_port(named, owner)
        ends = at_component or self._of_host(owner)
        if ends:
            return self._find_adapter(ends, owner)
        router = self._router_of(owner)
        return None if router is None else self._switch_port(router, owner)

    def _router_of(self, owner: Owner) -> int | None:
        routers = self.fabric.router_by_name
        for name in owner.names:
            # Names of switches vary in spelling as much as names of hosts.
            known = name if name in routers else find_host(name, self._routers_by_host.get(host_key(name), ()))
            if known is not None:
                return routers[known]
        return None

    def _by_guid(self, owner: Owner) -> ResolvedPort | None:
        for guid in owner.guids:
            if (router := self._routers_by_guid.get(guid)) is not None:
                return self._switch_port(router, owner)
        for guid in owner.guids:
            if ends := self._endpoints_by_guid.get(guid):
                # A port's own GUID needs no number. The device's GUID is that of all its ports, some of which may be on another fabric.
                chosen = ends if ends == self._ends_by_port_guid.get(guid) else self._at_port(ends, owner)
                if len(chosen) == 1:
                    return self._port_of_endpoint(chosen[0])
                if not chosen:
                    return self._uncabled_port(owner)
                return ResolvedPort(
                    device=str(owner), reason=f"{owner}: the adapter has {len(ends)} ports in {self.fabric.name}"
                )
        return None

    def _by_lid(self, owner: Owner) -> ResolvedPort | None:
        assert owner.lid is not None
        if (router := self._router_by_lid.get(owner.lid)) is not None:
            name = str(self.fabric.routers.name[router])
            return self._switch_port(router, owner) if _names_match(owner, name) else None
        endpoint = self._endpoint_by_lid.get(owner.lid)
        if endpoint is None or not any(_names_match(owner, node) for node in self._names_of(endpoint)):
            return None
        return self._port_of_endpoint(endpoint)

    def _names_of(self, endpoint: int) -> list[str]:
        """Return the name of an endpoint's node, and the one that the topology had before it was renamed."""
        nodes = (self.fabric.endpoints.node[endpoint], self._topology_nodes[endpoint])
        return [str(node).strip() for node in nodes if node is not None]

    def _of_host(self, owner: Owner) -> list[int]:
        for name in (*owner.names, *owner.hosts):
            alike = self._by_host.get(host_key(name.strip()), {})
            if (known := find_host(name.strip(), alike)) is not None:
                # One host's adapters may spell it differently.
                return [e for node, ends in alike.items() if node.lower() == known.lower() for e in ends]
        return []

    def _switch_port(self, router: int, owner: Owner) -> ResolvedPort:
        name = str(self.fabric.routers.name[router])
        port = -1 if owner.port is None else owner.port
        if self._port_names and owner.adapter:
            port_number = self._port_names[router].get(owner.adapter)
            if port_number is None or self._counted[router, port_number] < 0:
                reason = f"ports of {name} that have no cable in {self.fabric.name}"
                return ResolvedPort(device=f"{name} {owner.adapter}", reason=reason)
            return ResolvedPort(router=router, port=port_number, device=f"{name} {owner.adapter}")
        if port < 0:
            return ResolvedPort(device=name, reason=f"a set of switch {name} in {self.fabric.name} names no port")
        device = f"{name} port {port}"
        if port >= self._counted.shape[1] or self._counted[router, port] < 0:
            return ResolvedPort(device=device, reason=f"ports of {name} that have no cable in {self.fabric.name}")
        return ResolvedPort(router=router, port=port, device=device)

    def _port_of_endpoint(self, endpoint: int) -> ResolvedPort:
        node, adapter = str(self.fabric.endpoints.node[endpoint]), self._adapters[endpoint]
        return ResolvedPort(endpoint=endpoint, device=f"{node} {adapter}" if adapter else node)

    def _at_port(self, ends: list[int], owner: Owner) -> list[int]:
        """Return the endpoints that can be the record's port of their adapter."""
        return [e for e in ends if owner.port is None or self._adapter_ports[e] in (0, owner.port)]

    def _uncabled_port(self, owner: Owner) -> ResolvedPort:
        return ResolvedPort(device=str(owner), reason=f"{owner} has no cable in {self.fabric.name}")

    def _find_numbered(self, ends: list[int], owner: Owner) -> ResolvedPort:
        """Find one of a node's endpoints by its NIC: by name on Ethernet, by number on Slingshot and Aries."""
        node, fabric = str(self.fabric.endpoints.node[ends[0]]), self.fabric
        names = [self._adapters[e] or "" for e in ends]
        number = _number_of(owner.adapter)
        chosen = [e for e, name in zip(ends, names, strict=True) if name and name.lower() == owner.adapter.lower()]
        is_other = fabric.technology is Technology.ETHERNET and all(names) and owner.adapter
        if not chosen and number is None and not is_other:
            chosen = ends
        elif not chosen and fabric.technology is Technology.SLINGSHOT and all(names):
            chosen = [e for e, name in zip(ends, names, strict=True) if _number_of(name) == number]
        elif not chosen and not is_other and (len(ends) == 1 or not any(names)):
            chosen = [e for at, e in enumerate(ends) if at == number]
        if len(chosen) == 1:
            return ResolvedPort(endpoint=chosen[0], device=node)
        request = owner.adapter or "a set that names no adapter"
        return ResolvedPort(
            device=node,
            reason=f"{node} has {len(ends)} endpoints in {fabric.name}: cannot tell which of them is {request}",
        )

    def _find_adapter(self, ends: list[int], owner: Owner) -> ResolvedPort:
        """Find one of a node's endpoints: by the adapter's name in InfiniBand fabrics, whose numbers have gaps."""
        node, fabric = str(self.fabric.endpoints.node[ends[0]]), self.fabric
        if fabric.technology is not Technology.INFINIBAND:
            return self._find_numbered(ends, owner)
        names = [self._adapters[e] for e in ends]
        if not any(names):
            chosen = ends
        else:
            chosen = [e for e in ends if owner.adapter and is_same_adapter(self._adapters[e], owner.adapter)]
            chosen = chosen if owner.adapter else ends
        if chosen and not (at_port := self._at_port(chosen, owner)):
            return self._uncabled_port(owner)
        chosen = at_port if chosen else chosen
        if len(chosen) == 1:
            return self._port_of_endpoint(chosen[0])
        adapters = ", ".join(sorted({name for name in names if name})) or "adapters without names"
        request = owner.adapter or "a set that names no adapter"
        return ResolvedPort(
            device=node, reason=f"{node} has {adapters} in {fabric.name}: cannot tell which of them is {request}"
        )


def _number_of(adapter: str) -> int | None:
    match = _LAST_NUMBER.search(adapter)
    return int(match.group(1)) if match else None


def _names_match(owner: Owner, name: str) -> bool:
    """Return whether a device matches the names in a record; LIDs repeat in every subnet, names rarely."""
    return not owner.names or any(find_host(text.strip(), [name.strip()]) for text in _first_words(owner.names))


def _first_words(names: tuple[str, ...]) -> list[str]:
    """Return the first word of each name; a node map or description may append the adapter: `luna-0001 mlx5_2`."""
    return [word for name in names for word in dict.fromkeys((name, name.partition(" ")[0]))]


def unresolved_reason(fabrics: list[str], owner: Owner, component: int | None) -> str:
    """Return the reason why a port is in none of the fabrics, and a remedy."""
    who = str(owner)
    if not (owner.guids or owner.lid is not None or owner.names or owner.hosts):
        who = f"component {component}" if component is not None else "a set without component_id"
        who += "without a producer, GUID or LID in the record"
    return f"{who} is in none of {', '.join(fabrics)}"
