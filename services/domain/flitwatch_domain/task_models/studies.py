"""Arguments of `sim.study`: the published studies by name, each with its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import Field, TypeAdapter, ValidationError, create_model

from flitwatch_domain.task_models.base import Arguments, Seed, make_refusal
from flitwatch_domain.task_models.machines import FlowPattern, FlowRouting, FlowTopology, RoutesTopology, Semantics
from flitwatch_domain.task_models.simulations import PacketBytes, Threads

Label = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00]*$")]
Ratio = Annotated[float, Field(ge=0, lt=1)]
Ratios = Annotated[list[Ratio], Field(min_length=1, max_length=1000)]
Sides = Annotated[list[Annotated[int, Field(ge=1, le=1_000_000)]], Field(min_length=1, max_length=1000)]
Repeats = Annotated[int, Field(ge=1, le=10_000)]
LargestBytes = Annotated[int, Field(ge=128, le=1 << 24)]


class NoParameters(Arguments):
    """A study of tables. It has no random draws, and therefore neither runs nor a seed."""

    threads: Threads | None = None


class SeededStudy(Arguments):
    """Common arguments of all studies with random draws."""

    seed: Seed = 1
    threads: Threads = 1


class Flow(SeededStudy):
    """A sweep of collectives at flow level (Hoefler 2009)."""

    runs: int = Field(default=1000, ge=2, le=10_000_000)
    semantics: Semantics | Annotated[list[Semantics], Field(min_length=1, max_length=2)] | None = None
    pattern: FlowPattern = "binomial-bcast"
    routing: FlowRouting | None = None


class Machine(Arguments):
    """A machine compared with the substitutes of figure 11."""

    name: Label
    spec: FlowTopology


class Fig11(Flow):
    ratios: Ratios | None = None
    fabrics: list[Machine] = Field(default=[], max_length=100)
    stand_ins: bool = True


class Fig13(Flow):
    ratio: Ratio = 0.5
    topologies: FlowTopology | Annotated[list[FlowTopology], Field(min_length=1, max_length=100)] | None = None


class Fig15(Flow):
    ratios: Ratios | None = None
    topologies: Annotated[dict[Label, FlowTopology], Field(min_length=1, max_length=100)] | None = None


class Fig16(Flow):
    ratio: Ratio = 0.5
    k_2d: Sides | None = None
    k_3d: Sides | None = None


class Bisection(SeededStudy):
    """Random bisections of one topology, or of figure 11's stand-ins."""

    runs: int = Field(default=1000, ge=2, le=1_000_000)
    topology: FlowTopology | None = None
    routing: FlowRouting | None = None


class Bisections(SeededStudy):
    topology: RoutesTopology = "quartz1"
    mbytes: float = Field(default=10, ge=0.1, le=100)
    packet_bytes: PacketBytes = 4096


class Stencil(SeededStudy):
    """Large and small messages; routes are optimised first."""

    topology: RoutesTopology = "quartz1"
    mbytes: float = Field(default=0.25, ge=0.01, le=2)
    optimise_s: float = Field(default=30, ge=0.1, le=3600)
    reconstruct_s: float = Field(
        default=60,
        ge=1,
        le=3600,
        description="Time limit for reconstructing the matrix for which routes are optimised.",
    )


class Formulations(Arguments):
    """Routes from integer programs, on a tree that HiGHS can solve."""

    threads: Threads = 1
    topology: RoutesTopology | None = None
    limit_s: float = Field(default=90, ge=1, le=3600, description="Time limit of each formulation.")
    formulations: list[Literal["basic", "partitioned", "combined"]] | None = Field(
        default=None, min_length=1, max_length=3
    )


class LaneSchemes(Arguments):
    """Reconstructions of one application's traffic, by method of assigning lanes."""

    threads: Threads = 1
    topology: RoutesTopology = "quartz1"
    application: Literal[
        "lulesh-512", "partisn-168", "amg-1728", "boxlib-mg-1024", "multigrid-1000", "nekbone-1024", "boxlib-cns-1024"
    ] = "partisn-168"
    lanes: (
        list[Literal["1 VL", "2 VL", "4 SL 2 VL", "2 VL random", "2 SL 4 VL", "5 VL", "5 VL random", "5 VL Galois"]]
        | None
    ) = Field(default=None, min_length=1, max_length=8)
    limit_s: float = Field(default=60, ge=1, le=3600, description="Time limit of each reconstruction.")


class Ghost(SeededStudy):
    """miniGhost on a tree of 32 nodes per leaf."""

    topology: RoutesTopology | None = None
    kbytes: float = Field(default=2000, ge=10, le=1e5)
    variables: int = Field(default=5, ge=1, le=40)
    compute: float = Field(
        default=45, ge=0, le=1000, description="Computation divided by the time of a node's bytes on its link."
    )
    imbalance: float = Field(default=0.05, ge=0, le=1, description="Variation of the computation between nodes.")


CongestedAfter = Annotated[
    float,
    Field(
        ge=0,
        le=1e9,
        description="A link is congested if a packet waits longer than this, ns; 0: if its queue exceeds its credits.",
    ),
]


class MiniGhost(Ghost):
    congested_after_ns: CongestedAfter = 0.0


class Sampling(Ghost):
    """Bernoulli's congestion on a tree of its own size, and that of miniGhost's simulation."""

    kbytes: float = Field(default=10_000, ge=10, le=1e5)
    mpackets: float = Field(default=4, ge=0.05, le=1000)
    leaves: int = Field(default=16, ge=2, le=256)
    nodes: int = Field(default=32, ge=2, le=256)
    spines: int = Field(default=16, ge=2, le=256)
    congested: float = Field(default=0.42, ge=0, le=1)


class Pf3d(SeededStudy):
    topology: RoutesTopology | None = None
    mbytes: float = Field(default=4, ge=0.1, le=100)
    compute_ms: float = Field(default=8.3, ge=0, le=1000, description="Computation at the end of the round.")
    congested_after_ns: CongestedAfter = 0.0


WangApplications = Annotated[list[Literal["crystal-router", "fill-boundary", "amg"]], Field(max_length=3)]


class WangPatterns(SeededStudy):
    seed: int = Field(default=1, ge=0, le=2**62)
    topology: RoutesTopology = "theta"
    packet_bytes: int = Field(default=2048, ge=256, le=8192)
    load: float = Field(default=1.0, ge=0.001, le=100, description="Factor on the sizes of all messages.")
    applications: WangApplications | None = None
    ranks: int = Field(default=0, ge=0, le=1_000_000, description="0: the paper's value.")


class Wang(WangPatterns):
    runs: int = Field(default=5, ge=1, le=1000, description="Random draws per placement.")


class WangBursts(Arguments):
    threads: Threads = 1
    topology: RoutesTopology = "theta"
    applications: WangApplications | None = None


class WangBackground(Wang):
    load_gib_per_s: float = Field(default=1.0, ge=0.001, le=16)
    exchanges: int = Field(
        default=1, ge=1, le=10_000, description="Number of repetitions of the application's messages."
    )


class DeSensi(SeededStudy):
    runs: Repeats | None = None
    load_gib_per_s: float = Field(default=1.0, ge=0, le=16)
    topology: RoutesTopology = "dragonfly:4,6,16,24"


class Fig3(DeSensi):
    repeats: Repeats | None = None


class DetourArguments(Arguments):
    """OS noise of the hosts: one detour per interval."""

    detour_interval_us: float = Field(default=0, ge=0, le=1e9, description="0: none.")
    detour_us: float = Field(default=0, ge=0, le=1e9, description="Mean length; 0: a hundredth of the interval.")


ByteSizes = Annotated[list[Annotated[int, Field(ge=64, le=100_000_000)]], Field(min_length=1, max_length=1000)]


class NodeSizes(SeededStudy):
    """An all-to-all inside one node."""

    runs: Annotated[int, Field(ge=4, le=10_000)] | None = None
    repeats: Annotated[int, Field(ge=4, le=10_000)] | None = None
    sizes: list[Annotated[int, Field(ge=1, le=1 << 24)]] | None = Field(default=None, min_length=1, max_length=1000)
    topology: RoutesTopology = "dragonfly:4,6,16,24"
    detour_interval_us: float = Field(default=5, ge=0, le=1e9, description="0: none.")
    detour_us: float = Field(default=1, ge=0, le=1e9, description="Mean length.")


class Sizes(Fig3):
    largest_bytes: LargestBytes = 1 << 20


class DetourSizes(Sizes):
    detour_interval_us: float = Field(default=5, ge=0, le=1e9, description="0: no OS noise.")
    detour_us: float = Field(default=1, ge=0, le=1e9, description="Mean length.")


class Fig7(Fig3):
    size_bytes: int = Field(default=1 << 20, ge=64, le=1 << 24)


class Model(DeSensi):
    runs: int | None = Field(
        default=None, ge=3, le=1000, description="Number of allocations; a correlation needs three."
    )
    allocations: int | None = Field(default=None, ge=3, le=1000)
    sizes: list[Annotated[int, Field(ge=1, le=1 << 24)]] | None = Field(default=None, min_length=1, max_length=1000)


class Calibration(Fig3):
    """Pairs of runs to which lambda and sigma are fitted."""

    ranks: int = Field(default=32, ge=2, le=100_000)
    sizes: ByteSizes = Field(default=[4096, 32768])
    patterns: list[Literal["allreduce", "alltoall", "broadcast", "halo3d", "sweep3d"]] | None = Field(
        default=None, max_length=5
    )


class Allocations(Fig3, DetourArguments):
    ranks: int = Field(default=64, ge=2, le=100_000)
    iterations: int = Field(default=4, ge=1, le=1000)
    latency_factor: float = Field(default=0.8, ge=0.01, le=100, description="Lambda of the routing choice.")
    stall_factor: float = Field(default=1.5, ge=0.01, le=100, description="Sigma of the routing choice.")


class Collectives(Allocations):
    sizes: ByteSizes = Field(default=[1024, 16384, 131072])
    patterns: list[Literal["allreduce", "alltoall", "barrier", "broadcast", "halo3d", "sweep3d"]] | None = Field(
        default=None, max_length=6
    )


class ApplicationsOnAllocations(Allocations):
    sizes: ByteSizes = Field(default=[8192, 32768])
    applications: list[Literal["fft", "milc", "halo3d", "hpcg", "sweep", "amg"]] | None = Field(
        default=None, max_length=6
    )


class Study(Arguments):
    """A published study by one of its names, with its parameters."""

    study: str
    parameters: Arguments


#: Parameters and names of each study, by the name of its model.
_STUDIES: dict[str, tuple[type[Arguments], tuple[str, ...]]] = {
    "Tables": (NoParameters, ("hoefler-table1", "hoefler-example", "table1", "example")),
    "HoeflerFig11": (Fig11, ("hoefler-fig11", "fig11")),
    "HoeflerFig13": (Fig13, ("hoefler-fig13", "fig13")),
    "HoeflerFig15": (Fig15, ("hoefler-fig15", "fig15")),
    "HoeflerFig16": (Fig16, ("hoefler-fig16", "fig16")),
    "HoeflerBisection": (Bisection, ("hoefler-ebb", "ebb")),
    "TaffetTable21": (Sampling, ("taffet-table2.1",)),
    "TaffetFig34": (Formulations, ("taffet-fig3.4",)),
    "TaffetTable43": (LaneSchemes, ("taffet-table4.3",)),
    "TaffetTable51": (Bisections, ("taffet-table5.1",)),
    "TaffetTable52": (Stencil, ("taffet-table5.2",)),
    "TaffetPf3d": (Pf3d, ("taffet-pf3d",)),
    "TaffetMiniGhost": (MiniGhost, ("taffet-minighost",)),
    "WangFig2": (WangPatterns, ("wang-fig2",)),
    "WangTable2": (WangBursts, ("wang-table2",)),
    "WangLoads": (Wang, ("wang-fig3", "wang-fig7")),
    "WangFig8": (WangBackground, ("wang-fig8-10",)),
    "DeSensiFig3": (Fig3, ("desensi-fig3",)),
    "DeSensiFig4": (NodeSizes, ("desensi-fig4",)),
    "DeSensiFig5": (DetourSizes, ("desensi-fig5",)),
    "DeSensiSizes": (Sizes, ("desensi-fig8",)),
    "DeSensiCalibration": (Calibration, ("desensi-calibration",)),
    "DeSensiFig7": (Fig7, ("desensi-fig7",)),
    "DeSensiModel": (Model, ("desensi-model",)),
    "DeSensiCollectives": (Collectives, ("desensi-fig8-collectives",)),
    "DeSensiApplications": (ApplicationsOnAllocations, ("desensi-fig10",)),
}
#: One model a study, so that its names select its parameters.
_MODELS = tuple(
    create_model(name, __base__=Study, study=Literal[names], parameters=(parameters, parameters()))  # type: ignore[call-overload]
    for name, (parameters, names) in _STUDIES.items()
)
if TYPE_CHECKING:
    AnyStudy = Study
else:
    AnyStudy = Annotated[Union[_MODELS], Field(discriminator="study")]  # noqa: UP007
_READER: TypeAdapter[Study] = TypeAdapter(AnyStudy)


def read_study(args: Any) -> Study:
    """Parse the arguments of `sim.study` from plain data. Raise BadInput; the message names the argument."""
    try:
        return _READER.validate_python(args)
    except ValidationError as problem:
        raise make_refusal(problem) from None
