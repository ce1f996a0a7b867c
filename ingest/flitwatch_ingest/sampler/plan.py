"""Plan for a receiving host: the hosts that can send to it, and the links that their packets may use."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from flitwatch_core import packet_path, sampling
from flitwatch_domain.errors import BadInput, NotFound
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.sampling import MOST_LINKS, Reach, link_number

Link = Annotated[int, Field(ge=0, lt=MOST_LINKS)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlanSource(_Part):
    """Senders with the same candidate links: the nodes of one router."""

    networks: Annotated[tuple[ipaddress.IPv4Network, ...], Field(min_length=1)]
    links: Annotated[tuple[Link, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_unique(self) -> PlanSource:
        if len(set(self.links)) != len(self.links):
            raise ValueError("a source lists a link twice")
        return self


class SamplerPlan(_Part):
    """One host's plan, a JSON file (docs/contracts/files.md).

    Attributes
    ----------
    fabric : str
        Its name in the database.
    host : str
        This host's name there.
    variant : str
        Marking scheme of the whole fabric: one-bit or standard.
    g : int
        The hash's constant.
    downsampling : int
        Senders mark one in this many packets; estimates are scaled accordingly.
    addresses : tuple of IPv4Address
        This host's addresses; packets for others are not counted.
    """

    fabric: Annotated[str, Field(min_length=1, max_length=200)]
    host: Annotated[str, Field(min_length=1, max_length=200)]
    variant: Literal["one-bit", "standard"] = "one-bit"
    g: Annotated[int, Field(ge=1, lt=1 << 32)] = sampling.DEFAULT_G
    downsampling: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    addresses: Annotated[tuple[ipaddress.IPv4Address, ...], Field(min_length=1)]
    sources: Annotated[tuple[PlanSource, ...], Field(min_length=1)]
    simulated: bool = False

    @classmethod
    def read(cls, path: Path) -> SamplerPlan:
        """Read a plan's file. Raise BadInput if the file is not a valid plan; the message names the place."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as problem:
            raise BadInput(problem.strerror or str(problem), where=str(path)) from None
        except ValidationError as problem:
            first = problem.errors(include_url=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"]) or "the file"
            raise BadInput(
                f"{field}: {first['msg']}", where=str(path), advice="`flitwatch-sampler plan` writes one."
            ) from None

    def spec(self, interface: str, network_namespace: str, slice_s: float) -> packet_path.CaptureSpec:
        spec = packet_path.CaptureSpec()
        spec.interface, spec.network_namespace = interface, network_namespace
        one_bit = self.variant == "one-bit"
        spec.variant = packet_path.Variant.ONE_BIT if one_bit else packet_path.Variant.STANDARD
        spec.g, spec.slice_ns = self.g, round(slice_s * 1e9)
        spec.sets = [[link_number(link) for link in source.links] for source in self.sources]
        spec.addresses = [int(address) for address in self.addresses]
        for place, source in enumerate(self.sources):
            for network in source.networks:
                spec.add_source(int(network.network_address), network.prefixlen, place)
        return spec


def make_plan(
    fabric: Fabric,
    host: str,
    addresses: Mapping[str, str],
    *,
    variant: Literal["one-bit", "standard"] = "one-bit",
    downsampling: int = 1,
    detour: int = 0,
) -> SamplerPlan:
    """Return the plan of `host`. Candidates are the links of all paths at most `detour` hops longer than the shortest.

    Parameters
    ----------
    addresses : mapping of node to IPv4 address
        Senders, and the host itself.

    Raises
    ------
    NotFound
        A node is not in the fabric, or the host has no address.
    BadInput
        A text is not an address, or there are too many links.
    """
    endpoints: dict[str, list[int]] = defaultdict(list)
    for endpoint, node in enumerate(fabric.endpoints.node):
        endpoints[str(node)].append(endpoint)
    for node in (host, *addresses):
        if node not in endpoints:
            raise NotFound(f"fabric {fabric.name} has no node {node!r}")
    if host not in addresses:
        raise NotFound(f"the list of addresses has none of {host!r}")
    reach = Reach(fabric)
    links: dict[int, set[int]] = defaultdict(set)
    networks: dict[int, list[ipaddress.IPv4Network]] = defaultdict(list)
    for node, address in addresses.items():
        if node == host:
            continue
        for source in endpoints[node]:
            router = int(fabric.endpoints.router[source])
            for own in endpoints[host]:
                links[router].update(reach.candidates(source, own, detour).tolist())
        network = ipaddress.IPv4Network(_parse_address(address))
        networks[int(fabric.endpoints.router[endpoints[node][0]])].append(network)
    sources = tuple(PlanSource(networks=tuple(networks[r]), links=tuple(sorted(links[r]))) for r in sorted(networks))
    return SamplerPlan(
        fabric=fabric.name,
        host=host,
        variant=variant,
        downsampling=downsampling,
        sources=sources,
        simulated=fabric.simulated,
        addresses=(_parse_address(addresses[host]),),
    )


def _parse_address(text: str) -> ipaddress.IPv4Address:
    try:
        return ipaddress.IPv4Address(text)
    except ValueError as bad:
        raise BadInput(str(bad)) from None
