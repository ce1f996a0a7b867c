"""Simulation spec: a named scenario or a YAML file, validated before the simulation starts. services/twin/README.md describes the keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_dragonfly, build_theta, cori_like, edison_like
from flitwatch_domain.importers.text import read_yaml
from flitwatch_twin.applications import APPLICATIONS

Seconds = Annotated[float, Field(gt=0, le=10_000_000)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class FabricSpec(_Strict):
    """Machine: a generated dragonfly of a given size, or a predefined machine."""

    kind: Literal["dragonfly", "theta", "edison", "cori"] = "dragonfly"
    groups: int = Field(4, ge=1, le=60)
    blue_routers: int = Field(12, ge=1, le=96)
    io_routers_per_group: int = Field(4, ge=0, le=48)

    def build(self, name: str) -> Fabric:
        """Return the fabric under the given name, marked as simulated."""
        from dataclasses import replace

        io = self.io_routers_per_group
        if self.kind == "dragonfly":
            return build_dragonfly(self.groups, blue_routers=self.blue_routers, io_routers_per_group=io, name=name)
        presets = {"theta": build_theta, "edison": edison_like, "cori": cori_like}[self.kind]
        return replace(presets(io_routers_per_group=io), name=name)


class UsersSpec(_Strict):
    """Ordinary users and their offered load. Sizes are in nodes, times in seconds."""

    count: int = Field(40, ge=1, le=5000)
    typical_nodes: int = Field(64, ge=1)
    most_nodes: int = Field(512, ge=1)
    median_duration_s: Seconds = 1500.0
    load: Share = 0.7
    large: Share = 0.6
    small_nodes: int = Field(4, ge=1)
    innocents: int = Field(2, ge=0)


class InstrumentedSpec(_Strict):
    """Application that measures its own steps: submitted at `first_s` and every `every_s` after, on the lowest free nodes or on any.

    `demand` multiplies its traffic. Beyond the network's capacity, the application slows itself.
    """

    application: str
    nodes: int | None = Field(None, ge=1)
    placement: Literal["lowest", "scattered"] = "lowest"
    first_s: float = Field(0.0, ge=0)
    every_s: Seconds = 600.0
    demand: float = Field(1.0, gt=0, le=20)

    @model_validator(mode="after")
    def _check_application(self) -> InstrumentedSpec:
        if self.application not in APPLICATIONS:
            raise ValueError(f"there is no application {self.application!r}; choose one of {', '.join(APPLICATIONS)}")
        return self


class InterferenceSpec(_Strict):
    """Planted user: jobs of `nodes` nodes, each `lasts_s` long, at `first_s` and every `every_s` after. A `rate` of 1 is a node's full rate.

    It sends in bursts of `burst_s` on average, during the share `duty` of its time.
    """

    mechanism: Literal["bandwidth", "io", "incast"]
    nodes: int = Field(ge=2)
    first_s: float = Field(60.0, ge=0)
    lasts_s: Seconds = 240.0
    every_s: Seconds = 480.0
    rate: float = Field(1.2, gt=0, le=5)
    duty: float = Field(0.95, gt=0, le=1)
    burst_s: Seconds = 120.0


class LdmsSpec(_Strict):
    """Settings of the samplers."""

    sets: Literal["quarter", "full"] = "quarter"
    every_s: int = Field(1, ge=1, le=3600)
    nic_every_s: int = Field(10, ge=0, le=3600)


class TwinSpec(_Strict):
    """Whole scenario."""

    name: str = Field("twin", pattern=r"^[a-z0-9][a-z0-9-]{0,40}$")
    fabric: FabricSpec = Field(default_factory=lambda: FabricSpec.model_validate({}))
    users: UsersSpec = Field(default_factory=lambda: UsersSpec.model_validate({}))
    instrumented: tuple[InstrumentedSpec, ...] = ()
    interference: tuple[InterferenceSpec, ...] = ()
    ldms: LdmsSpec = Field(default_factory=lambda: LdmsSpec.model_validate({}))
    start_hour: float = Field(10.0, ge=0, lt=168)
    warm_start_s: float = Field(7200.0, ge=0, le=1_000_000)
    node_rate_bytes_per_s: float = Field(5.0e9, gt=0)
    truth_every_s: int = Field(10, ge=0)


SCENARIOS: dict[str, dict[str, Any]] = {
    "demo": {
        "name": "demo",
        "fabric": {"groups": 4},
        "users": {"load": 0.6, "most_nodes": 192},
        "instrumented": [
            {"application": "milc-128", "first_s": 0, "every_s": 700, "placement": "scattered"},
            {"application": "amg-128", "first_s": 20, "every_s": 420},
        ],
        "interference": [{"mechanism": "bandwidth", "nodes": 320, "first_s": 45, "lasts_s": 300, "every_s": 1000, "rate": 1.4}],
        "ldms": {"every_s": 5},
    },
    "small": {
        "name": "small",
        "fabric": {"groups": 2, "io_routers_per_group": 2},
        "users": {"count": 12, "typical_nodes": 24, "most_nodes": 128},
        "instrumented": [{"application": "milc-128", "nodes": 48, "every_s": 500}],
        "interference": [{"mechanism": "bandwidth", "nodes": 128, "first_s": 40, "lasts_s": 120, "every_s": 300}],
    },
    "theta": {
        "name": "theta-twin",
        "fabric": {"kind": "theta"},
        "users": {"count": 80, "typical_nodes": 128, "most_nodes": 1024, "median_duration_s": 3600.0},
        "instrumented": [{"application": "amg-128", "every_s": 420}, {"application": "milc-512", "first_s": 60, "every_s": 900}],
        "interference": [
            {"mechanism": "bandwidth", "nodes": 640, "first_s": 90, "lasts_s": 240, "every_s": 600},
            {"mechanism": "incast", "nodes": 384, "first_s": 360, "lasts_s": 180, "every_s": 900, "rate": 1.0},
        ],
        "truth_every_s": 15,
    },
    "cori": {
        "name": "cori-twin",
        "fabric": {"kind": "cori"},
        "users": {"count": 300, "typical_nodes": 256, "most_nodes": 2048, "median_duration_s": 9000.0, "small_nodes": 16},
        "instrumented": [{"application": name, "first_s": 60 * place, "every_s": 1200} for place, name in enumerate(
            ("amg-128", "amg-512", "milc-128", "milc-512", "minivite-128", "umt-128"))],
        "interference": [
            {"mechanism": "bandwidth", "nodes": 1024, "first_s": 120, "lasts_s": 300, "every_s": 900, "rate": 1.3},
            {"mechanism": "io", "nodes": 768, "first_s": 480, "lasts_s": 300, "every_s": 1200, "rate": 1.6},
            {"mechanism": "incast", "nodes": 512, "first_s": 840, "lasts_s": 240, "every_s": 1200, "rate": 1.0},
        ],
        "ldms": {"nic_every_s": 0},
        "warm_start_s": 43200.0,
        "truth_every_s": 60,
    },
}  # fmt: skip


def load_spec(text: str) -> TwinSpec:
    """Load a spec by scenario name or from a YAML file. Raise BadInput that names the file and the key."""
    if text in SCENARIOS:
        return _check_spec(SCENARIOS[text], f"scenario {text}")
    path = Path(text)
    if not path.is_file():
        raise BadInput(
            f"there is no scenario or file named {text!r}",
            advice=f"Scenarios: {', '.join(SCENARIOS)}; or write a YAML file as services/twin/README.md describes.",
        )
    loaded = read_yaml(path)
    if not isinstance(loaded, dict):
        raise BadInput("a spec is a mapping of keys", where=str(path), advice="See services/twin/README.md.")
    return _check_spec(loaded, str(path))


def _check_spec(values: dict[str, Any], where: str) -> TwinSpec:
    try:
        return TwinSpec.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "spec"
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise BadInput(
            f"{key}: {first['msg']}{more}", where=where, advice="See services/twin/README.md for the keys."
        ) from error
