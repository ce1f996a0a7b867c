"""`flitwatch noise`: the network noise of two sets of runs, as far as they may be compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flitwatch.console import Moment, emit, json_option
from flitwatch.rest import api_options, asking, needed

if TYPE_CHECKING:
    from flitwatch_client import models

SETS = "runs=1,2,3 or jobs=41,42 or application=NAME[,since=TIME][,until=TIME]"


class RunSet(click.ParamType):
    """Runs or jobs by their numbers, or an application's newest runs."""

    name = "set"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        """The set as the API takes it."""
        kind, equals, rest = str(value).partition("=")
        parts = [part.strip() for part in rest.split(",") if part.strip()]
        if not equals or not parts:
            self.fail(f"{value!r} is no set; write {SETS}", param, ctx)
        if kind == "jobs":
            return {"jobs": parts}
        if kind == "runs":
            if not all(part.isascii() and part.isdigit() for part in parts):
                self.fail(f"{rest!r} are no numbers of runs", param, ctx)
            return {"runs": [int(part) for part in parts]}
        if kind != "application":
            self.fail(f"{kind!r} is no kind of set; write {SETS}", param, ctx)
        made: dict[str, Any] = {"application": parts[0]}
        for part in parts[1:]:
            name, _, text = part.partition("=")
            if name not in ("since", "until"):
                self.fail(f"{part!r} is neither since=TIME nor until=TIME", param, ctx)
            made[name] = str(Moment().convert(text, param, ctx))
        return made


@click.command()
@click.option("--first", type=RunSet(), required=True, metavar="SET", help=f"{SETS}.")
@click.option("--second", type=RunSet(), required=True, metavar="SET", help="The set that stands beside it.")
@click.option(
    "--message-bytes",
    type=click.IntRange(1),
    default=65_536,
    show_default=True,
    help="The message whose modelled time is compared.",
)
@api_options
@json_option
def noise(
    first: dict[str, Any],
    second: dict[str, Any],
    message_bytes: int,
    api_url: str | None,
    token_file: Path | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Compare the network noise of two sets of runs by their network cards' counters, as published guidelines allow.

    Without --url and profile it asks the platform that runs here.
    """
    with asking(needed(api_url, token_file, profile)) as fw:
        found = fw.api.compare_network_noise({"first": first, "second": second, "message_bytes": message_bytes})
    if as_json:
        emit(found, True)
        return
    for line in lines(found):
        click.echo(line)


def lines(found: models.NoiseComparison) -> list[str]:
    """A comparison for a person."""
    told = [f"{found['verdict']}{' (simulated)' if found['simulated'] else ''}: {found['why']}"]
    for one in found["figures"]:
        if one["ratio"] is not None:
            told.append(
                f"{one['key']}: {one['first']:.4g} and {one['second']:.4g} {one['unit']}, {one['ratio']:.3g} times"
                f" ({one['low']:.3g} to {one['high']:.3g}): {one['verdict']}"
            )
    for rule in found["guidelines"]:
        state = {True: "holds", False: "does not hold", None: "not looked at"}[rule["holds"]]
        told.append(f"guideline {rule['number']} {state}: {rule['text']}")
    for name, side in (("first", found["first"]), ("second", found["second"])):
        spread = side["dispersion"]
        if spread["network"] is not None:
            measured = "not timed" if spread["measured"] is None else f"{spread['measured']:.3g} measured"
            told.append(f"{name} set: dispersion {measured}, {spread['network']:.3g} by the counters")
        told += [f"{name} set without {one['number']}: {one['why']}" for one in side["left_out"]]
    return told
