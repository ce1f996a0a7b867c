"""InfiniBand devices, and names from their node descriptions."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from flitwatch_domain.fabric import NodeRole
from flitwatch_domain.hosts import shorten_hosts

if TYPE_CHECKING:
    from flitwatch_domain.importers.text import Warnings


End = tuple[str, int]


@dataclass
class Device:
    """Switch, channel adapter or router between subnets. `ports` is its number of ports, 0 unknown; `device_id` is that of its
    chip, 0 unknown; `model` is the vendor's product name.
    """

    guid: str
    is_switch: bool
    line: int
    ports: int = 0
    description: str = ""
    defined: bool = True
    device_id: int = 0
    model: str = ""
    is_router: bool = False
    port_guid: dict[int, str] = field(default_factory=dict)
    lid: dict[int, int] = field(default_factory=dict)
    lmc: dict[int, int] = field(default_factory=dict)


@dataclass
class Cable:
    """Line of a port: the peer, the speed as written, and the line number."""

    peer: End
    speed: str | None
    line: int


_SWITCH = re.compile(r"[^;]*;([^:;]+):\S*$")
#: Names that drivers, udev and openibd give to adapters: HCA-1, mlx5_0, mlx5_bond_0, ibp11s0f0, rocep1s0, hfi1_0, bnxt_re0, ...
_ADAPTER = re.compile(
    r"hca[-_ ]?[0-9]+|mlx[0-9]+_\S+|mthca[0-9]+|ib(p|P|s|o|x|[0-9])\S*|(roce|rdma|rocep|rdmap)\S*[0-9]\S*|hfi[0-9]+_[0-9]+|opa[0-9]+|qib[0-9]+|ipath[0-9]+|"
    r"bnxt_re\S*[0-9]|irdma[0-9]+|i40iw[0-9]+|efa_[0-9]+|cxi[0-9]+|hsn[0-9]+|hns_[0-9]+|qedr[0-9]+|ocrdma[0-9]+|cxgb[0-9]_[0-9]+|rxe_?\S*[0-9]|siw_?\S*[0-9]|erdma_[0-9]+|mana_[0-9]+|ehca[0-9]+",
    re.IGNORECASE,
)
#: Any other word of this form, if it is alone after a host's name: letters, then a number.
_LIKELY_ADAPTER = re.compile(r"[a-z]+[0-9]*_(\w*_)?[0-9]+|[a-z]{2,}[0-9]\S*", re.IGNORECASE)
#: Words of vendors' default descriptions, which contain a product and not a node.
_PRODUCT = re.compile(
    r"mellanox|nvidia|technologies|connect-?x\S*|connect-?ib|infinihost\S*|infiniscale\S*|mt[0-9]{4,}\S*|voltaire|qlogic|truescale|topspin|"
    r"cisco|intel|omni-?path|supermicro|hewlett|channel|adapter|bluefield\S*",
    re.IGNORECASE,
)
#: Default names of hosts.
_NO_HOST = re.compile(r"\(?none\)?|localhost\S*|linux|unknown|host|n/?a|-", re.IGNORECASE)
_GLUED = re.compile(r"(.+?)[-_/:.](mlx[0-9]+_(?:bond_)?[0-9]+|hca-[0-9]+|hfi[0-9]+_[0-9]+|qib[0-9]+)", re.IGNORECASE)
#: openibd's node descriptions: HCA-1 is the kernel's adapter 0.
_VENDOR_NUMBER = re.compile(r"HCA-([0-9]+)", re.IGNORECASE)
_KERNEL_NUMBER = re.compile(r"mlx[0-9]+_([0-9]+)", re.IGNORECASE)
#: Storage servers by customary names; all other hosts count as compute nodes.
_STORAGE = re.compile(
    r"(ai[0-9]+\w*|oss|mds|mdt|ost|nsd|gpfs|lustre|lnet|stor(age)?|ion(ode)?)[-_]?[0-9]", re.IGNORECASE
)


class AdapterName(NamedTuple):
    """A channel adapter's node, the adapter's name on it (None unknown) and the node's role."""

    node: str
    adapter: str | None
    role: NodeRole


def switch_names(devices: dict[str, Device]) -> dict[str, str]:
    """Return router names by GUID: `SLG04-16` for `MF0;SLG04-16:MQM8700/U1`; the GUID is added if names are not unique."""
    names = {}
    for guid, device in devices.items():
        if device.is_switch:
            match = _SWITCH.match(device.description)
            names[guid] = match.group(1).strip() if match else device.description.strip() or f"S-{guid}"
    uses = Counter(names.values())
    return {guid: name if uses[name] == 1 else f"{name} ({guid})" for guid, name in names.items()}


def endpoint_names(devices: dict[str, Device], warnings: Warnings | None = None) -> dict[str, AdapterName]:
    """Return node, adapter and role of every channel adapter, by GUID.

    `luna-0560 mlx5_4` is adapter mlx5_4 of node luna-0560. `luna-0560.example.org mlx5_4` is the same if no other domain has a luna-0560. A factory
    description (`MT4123 ConnectX6 Mellanox Technologies`) and `localhost mlx5_0` do not contain a node name. The GUID is used then, with a warning. A
    switch's aggregation unit and a router between subnets are service endpoints.
    """
    adapters = {guid: device for guid, device in devices.items() if not device.is_switch}
    read = {guid: _parse_description(device.description) for guid, device in adapters.items()}
    short = shorten_hosts(host for host, _ in read.values() if host)
    named: dict[str, AdapterName] = {}
    holders: dict[tuple[str, str], str] = {}
    for guid, device in adapters.items():
        host, adapter = read[guid]
        if device.is_router:
            named[guid] = AdapterName(f"router-{guid}", None, NodeRole.SERVICE)
            continue
        if "aggregation node" in device.description.lower():
            named[guid] = AdapterName(f"aggregation-{guid}", None, NodeRole.SERVICE)
            continue
        if not host:
            named[guid] = AdapterName(f"H-{guid}", adapter, NodeRole.COMPUTE)
            if warnings is not None:
                text = f'"{device.description}" does not name a node: it becomes H-{guid}, and no job is placed there'
                warnings.add("adapter that does not name a node", device.line, text)
            continue
        node = short.get(host, host)
        named[guid] = AdapterName(node, adapter, role_of(node))
        if adapter and warnings is not None and holders.setdefault((node, adapter), guid) != guid:
            text = f'two adapters are called "{node} {adapter}": counters without a GUID cannot be assigned'
            warnings.add("two adapters with the same name", device.line, text)
    return named


def is_same_adapter(known: str | None, said: str) -> bool:
    """Check whether a name of an adapter is the known one of its host."""
    if known is None:
        return False
    if known.lower() == said.lower():
        return True
    vendor, kernel = _VENDOR_NUMBER.fullmatch(known), _KERNEL_NUMBER.fullmatch(said)
    return vendor is not None and kernel is not None and int(vendor.group(1)) == int(kernel.group(1)) + 1


def role_of(node: str) -> NodeRole:
    """Return a host's role by customary names."""
    return NodeRole.IO if _STORAGE.match(node) else NodeRole.COMPUTE


def _parse_description(description: str) -> tuple[str, str | None]:
    """Return (host, adapter) of a description; the host is empty if there is none."""
    words = [word.strip("()'\",") for word in re.sub(r"\bHCA (?=[0-9])", "HCA-", description).split()]
    words = [word for word in words if word]
    if not words:
        return "", None
    adapter = next((word for word in words[1:] if _ADAPTER.fullmatch(word)), None)
    if len(words) == 1:
        if _ADAPTER.fullmatch(words[0]) and not _looks_like_a_host(words[0]):
            return "", words[0]
        glued = _GLUED.fullmatch(words[0])
        return (_host_or_empty(glued.group(1)), glued.group(2)) if glued else (_host_or_empty(words[0]), None)
    if adapter is None and _ADAPTER.fullmatch(words[0]) and len(words) == 2 and not _PRODUCT.fullmatch(words[1]):
        return _host_or_empty(words[1]), words[0]
    if any(_PRODUCT.fullmatch(word) for word in words[: 1 if adapter else None]):
        return "", adapter
    if adapter is not None:
        return _host_or_empty(words[0]), adapter
    if len(words) == 2 and _LIKELY_ADAPTER.fullmatch(words[1]):
        return _host_or_empty(words[0]), words[1]
    return "", None


def _looks_like_a_host(word: str) -> bool:
    """Return whether a word can be a host's name: without context, `ib1` may be a host or an interface, but drivers' names are not hosts."""
    return not re.fullmatch(
        r"hca-?[0-9]+|mlx[0-9]+_\S+|mthca[0-9]+|hfi[0-9]+_[0-9]+|qib[0-9]+|ib[pPs][0-9]\S*|rocep\S+",
        word,
        re.IGNORECASE,
    )


def _host_or_empty(word: str) -> str:
    return "" if _NO_HOST.fullmatch(word) or _PRODUCT.fullmatch(word) else word
