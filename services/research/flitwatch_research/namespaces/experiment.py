"""The experiment of section 2.7 (figures 2.14 and 2.15) with real packets, and the three causes of section 2.3.4 on the same machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_core.packet_path import Variant
from flitwatch_domain.diagnosis import CongestionMap, diagnose_congestion
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Endpoints, Fabric, FabricKind, LinkClass, Routers, Technology
from flitwatch_domain.fabric.arrays import both_directions
from flitwatch_domain.sampling import clip_estimates
from flitwatch_research.namespaces.lab import Lab
from flitwatch_research.namespaces.observe import Cancelled, Flow, Observation, observe_flows

#: Times in the paper, in seconds: end of the observed flows (not stated there), start of the second flow, and background.
END_S, GREEN_S, BACKGROUND_S = 200.0, 20.0, (50.0, 175.0)
#: Packets per second of the observed flows; iperf's default UDP rate (1.05 Mb/s) with default datagrams. The observed packets' size is not stated.
OBSERVED_PPS, OBSERVED_BYTES = 30.0, 1000
IPERF_BYTES = 1512
IPERF_PPS = 1.05e6 / (8 * 1470)
SLICES = 40

_VARIANTS = {"one-bit": Variant.ONE_BIT, "standard": Variant.STANDARD}

Report = Callable[[int, int, str], None]

#: The paper's rates; the links to s4 have half the rate of the others.
FULL_BPS, HALF_BPS = 1e6, 512e3


def figure_214(speedup: float = 1.0) -> Fabric:
    """Return switches s1 to s4 in a ring s1, s4, s2, s3; hosts h1 and h11 on s1, h2 and h22 on s2, h3 on s3. Rates are the paper's times `speedup`."""
    switches = ["s1", "s2", "s3", "s4"]
    hosts = {"h1": 0, "h11": 0, "h2": 1, "h22": 1, "h3": 2}
    cables = [(0, 3, HALF_BPS), (3, 1, HALF_BPS), (0, 2, FULL_BPS), (2, 1, FULL_BPS)]
    cables += [(len(switches) + host, router, FULL_BPS) for host, router in enumerate(hosts.values())]
    a, b, rates = (np.array(column) for column in zip(*cables, strict=True))
    to_host = a >= len(switches)
    port = np.arange(len(cables))
    return Fabric(
        name="figure-2.14",
        kind=FabricKind.GRAPH,
        technology=Technology.GENERIC,
        routers=Routers(switches),
        endpoints=Endpoints(list(hosts.values()), port=port[to_host], node=list(hosts)),
        links=both_directions(
            a,
            b,
            np.where(to_host, 0, port),
            port,
            to_host.astype(int),
            to_host.astype(int),
            rates * speedup,
            [LinkClass.LINK, LinkClass.HOST],
        ),
        simulated=True,
        source=f"figure 2.14 of Taffet 2021 on network namespaces, rates x {speedup:g}",
    )


class LinkEstimate(TypedDict):
    """Arrived and estimated packets of a link, with the standard deviation from the variance formulas; `true_congested` is None if packets were lost."""

    link: str
    true: int
    estimate: float
    deviation: float
    true_congested: int | None
    congested: float
    congested_deviation: float
    dropped: int


class EstimateSeries(TypedDict):
    """Cumulative estimates by slice and link, as in figure 2.15."""

    slice_s: float
    traffic: list[list[float]]
    congested: list[list[float]]


class LabEstimates(TypedDict):
    """Estimates and arrived packets, errors, and the number of samples lost in ring buffers."""

    links: list[LinkEstimate]
    packets: int
    overruns: int
    rms_deviations: float
    relative_rms_error: float
    series: EstimateSeries


class PacketRoot(TypedDict):
    """Place where congestion begins, from sampled packets, and its cause."""

    vertex: str
    cause: str
    evidence: Any


class LabStudy(LabEstimates):
    """The estimates with the study's settings and its diagnosis."""

    study: str
    speedup: float
    variant: str
    downsampling: int
    seed: int
    simulated: bool
    diagnosis: list[PacketRoot]


def figure_215(
    *,
    speedup: float = 20.0,
    variant: str = "one-bit",
    downsampling: int = 1,
    seed: int = 1,
    report: Report = lambda done, total, message: None,
    cancelled: Cancelled = lambda: False,
) -> LabStudy:
    """Run figure 2.15: flows h1 -> h2 and h3 -> h2 are sampled; h11 -> h22 is another user's, from 50 to 175 s.

    Parameters
    ----------
    speedup : float
        Factor on the paper's rates and divisor of its times, so that the number of packets is constant.
    variant : str
        one-bit or standard.

    Returns
    -------
    LabStudy
        `diagnosis` covers the time with background traffic.
    """
    if not 1 <= speedup <= 200:
        raise BadRequest("speedup must be between 1 and 200")
    if variant not in _VARIANTS:
        raise BadRequest(f"variant must be one of {', '.join(_VARIANTS)}")
    flows = [
        Flow("h1", "h2", OBSERVED_PPS * speedup, OBSERVED_BYTES, 0.0, END_S / speedup),
        Flow("h3", "h2", OBSERVED_PPS * speedup, OBSERVED_BYTES, GREEN_S / speedup, END_S / speedup),
        Flow("h11", "h22", IPERF_PPS * speedup, IPERF_BYTES, BACKGROUND_S[0] / speedup, BACKGROUND_S[1] / speedup),
    ]
    slice_s = END_S / speedup / SLICES
    report(0, 1, f"sending for {END_S / speedup:.0f} s")
    with Lab(
        figure_214(speedup),
        variant=_VARIANTS[variant],
        sampling_hosts=["h1", "h2", "h3"],
        downsampling=downsampling,
        seed=seed,
    ) as lab:
        observation = observe_flows(lab, flows, ["h2"], slice_s, cancelled)
        answer = _estimate_links(lab, observation)
        begin, end = (int(at / END_S * SLICES) for at in BACKGROUND_S)
        diagnosis = _diagnose_slices(lab, observation, slice(begin + 1, end))
    report(1, 1, "done")
    return {
        "study": "taffet-fig2.15",
        "speedup": speedup,
        "variant": variant,
        "downsampling": downsampling,
        "seed": seed,
        "simulated": True,
        **answer,
        "diagnosis": diagnosis,
    }


def three_causes(
    *,
    speedup: float = 10.0,
    seconds: float = 2.0,
    variant: str = "one-bit",
    seed: int = 1,
    cancelled: Cancelled = lambda: False,
) -> dict[str, list[PacketRoot]]:
    """Run one case per cause: two senders to one host, a job's own traffic on a slow link, another user's traffic there. Return {case: diagnosis}."""
    end, rate = seconds, speedup / (8 * OBSERVED_BYTES)
    cases: dict[str, tuple[list[Flow], list[str]]] = {
        # Bits per second before the speed-up, over links of 512 and 1000 kb/s.
        "communication-pattern": (
            [_make_flow("h3", "h2", 700e3 * rate, end), _make_flow("h22", "h2", 700e3 * rate, end)],
            ["h2"],
        ),
        "mapping-or-bandwidth": (
            [_make_flow("h1", "h2", 400e3 * rate, end), _make_flow("h11", "h22", 400e3 * rate, end)],
            ["h2", "h22"],
        ),
        "background-traffic": (
            [_make_flow("h1", "h2", 200e3 * rate, end), _make_flow("h11", "h22", 900e3 * rate, end)],
            ["h2"],
        ),
    }
    diagnoses: dict[str, list[PacketRoot]] = {}
    for cause, (flows, receivers) in cases.items():
        others = {"h11"} if cause == "background-traffic" else set()
        hosts = [flow.sender for flow in flows if flow.sender not in others]
        with Lab(figure_214(speedup), variant=_VARIANTS[variant], sampling_hosts=hosts, seed=seed) as lab:
            observation = observe_flows(lab, flows, receivers, end, cancelled)
            diagnoses[cause] = _diagnose_slices(lab, observation, slice(None), duration_s=end)
    return diagnoses


def _make_flow(sender: str, receiver: str, packets_per_s: float, end_s: float) -> Flow:
    return Flow(sender, receiver, packets_per_s, OBSERVED_BYTES, 0.0, end_s)


def _estimate_links(lab: Lab, found: Observation) -> LabEstimates:
    fabric = lab.fabric
    true, estimate = found.true_traffic(lab), found.traffic.sum(axis=0)
    deviation = np.sqrt(found.traffic_variance.sum(axis=0))
    congested = found.congested.sum(axis=0)
    congested_deviation = np.sqrt(found.congested_variance.sum(axis=0))
    links: list[LinkEstimate] = []
    for link, exact in sorted(found.exact.items()):
        # A switch's counts are the truth for arrivals only if none of its packets was lost later.
        whole = exact["marked"] == round(true[link])
        links.append(
            {
                "link": f"{fabric.vertex_name(int(fabric.links.src[link]))} -> {fabric.vertex_name(int(fabric.links.dst[link]))}",
                "true": round(true[link]),
                "estimate": float(estimate[link]),
                "deviation": float(deviation[link]),
                "true_congested": exact["congested"] if whole else None,
                "congested": float(congested[link]),
                "congested_deviation": float(congested_deviation[link]),
                "dropped": exact["dropped"],
            }
        )
    used = true > 0
    return {
        "links": links,
        "packets": sum(int(count.sum()) for count in found.received.values()),
        "overruns": found.overruns,
        "rms_deviations": float(np.sqrt(np.mean(((estimate - true)[deviation > 0] / deviation[deviation > 0]) ** 2))),
        "relative_rms_error": float(np.sqrt(np.mean((estimate[used] / true[used] - 1) ** 2))),
        "series": {
            "slice_s": found.slice_s,
            "traffic": np.cumsum(found.traffic, axis=0).tolist(),
            "congested": np.cumsum(found.congested, axis=0).tolist(),
        },
    }


def _diagnose_slices(lab: Lab, found: Observation, slices: slice, duration_s: float | None = None) -> list[PacketRoot]:
    """Return the roots in the sampled map of some slices."""
    congestion = sampled_map(lab, found, slices, duration_s)
    return [
        {"vertex": root.vertex, "cause": root.cause, "evidence": root.evidence}
        for root in diagnose_congestion(congestion)
    ]


def sampled_map(lab: Lab, found: Observation, slices: slice, duration_s: float | None = None) -> CongestionMap:
    """Return the congested fraction and the observed job's own use of each link, only from samples; unknown without sampled traffic."""
    one_bit = lab.variant == Variant.ONE_BIT

    def shown(name: str) -> NDArray[np.float64]:
        return clip_estimates(
            getattr(found, name)[slices].sum(axis=0), getattr(found, f"{name}_variance")[slices].sum(axis=0), one_bit
        )

    traffic = shown("traffic")
    congested = np.minimum(shown("congested"), traffic)
    fraction = np.full(traffic.shape, np.nan)
    np.divide(congested, traffic, out=fraction, where=traffic > 0)
    packets = sum(int(count.sum()) for count in found.received.values())
    mean_bits = 8 * found.bytes / max(packets, 1)
    length_s = duration_s or found.traffic[slices].shape[0] * found.slice_s
    use = traffic * mean_bits / (np.asarray(lab.fabric.links.bandwidth_bps) * length_s)
    return CongestionMap(lab.fabric, fraction, use)


def draw_figure(answer: LabStudy, path: Path) -> None:
    """Draw cumulative traffic (solid) and congested packets (dashed) of links with sampled traffic, over the paper's seconds."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    series = answer["series"]
    traffic, congested = np.array(series["traffic"]), np.array(series["congested"])
    seconds = (np.arange(len(traffic)) + 1) * series["slice_s"] * answer["speedup"]
    for link, row in enumerate(answer["links"]):
        if not row["true"]:
            continue
        (line,) = axes.plot(seconds, traffic[:, link], label=row["link"])
        if row["congested"] > 5 * row["congested_deviation"]:
            axes.plot(seconds, congested[:, link], "--", color=line.get_color(), label=f"{row['link']} (C)")
    axes.set_xlabel(f"seconds of the paper's experiment (run {answer['speedup']:g} times as fast)")
    axes.set_ylabel("packets, estimated from samples")
    axes.set_title("Figure 2.15 on network namespaces: traffic, and congested (C)")
    axes.legend(fontsize=8)
    figure.savefig(path)
