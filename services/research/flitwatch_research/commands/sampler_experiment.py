"""`flitwatch sampler experiment`: Taffet's congestion measurement on a network of namespaces."""

from __future__ import annotations

from pathlib import Path

import click

from flitwatch.console import FiniteRange, json_option, print_result


@click.command()
@click.option(
    "--speedup",
    type=FiniteRange(1, 200),
    default=20.0,
    help="Factor that multiplies rates and divides durations.",
)
@click.option(
    "--variant",
    type=click.Choice(["one-bit", "standard"]),
    default="one-bit",
    help="How packets are marked.",
)
@click.option("--downsampling", type=click.IntRange(1), default=1, help="Mark one in this many packets.")
@click.option("--seed", type=click.IntRange(0, 2**31), default=1, help="Seed of the traffic.")
@click.option("--figure", type=click.Path(path_type=Path), help="Write figure 2.15 to this file (.svg, .png).")
@click.option("--causes", is_flag=True, help="Run the three causes of congestion instead, one case each.")
@json_option
def experiment(
    speedup: float, variant: str, downsampling: int, seed: int, figure: Path | None, causes: bool, as_json: bool
) -> None:
    """Send the flows of Taffet's figure 2.15 through network namespaces and recover them from the marks. It needs root and takes 200 s / SPEEDUP."""
    from flitwatch_research.namespaces import experiment as engine

    if causes:
        print_result(engine.three_causes(speedup=speedup, variant=variant, seed=seed), as_json)
        return
    result = engine.figure_215(speedup=speedup, variant=variant, downsampling=downsampling, seed=seed)
    if figure is not None:
        from flitwatch_research.namespaces.experiment import draw_figure

        draw_figure(result, figure)
    print_result(result if as_json else {key: value for key, value in result.items() if key != "series"}, as_json)
