"""`flitwatch noise`: compare the network noise of two sets of runs, within the limits of published guidelines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

from flitwatch.console import Moment, json_option, print_result
from flitwatch.rest import ApiOptions, api_options, open_client

if TYPE_CHECKING:
    from flitwatch_client import models

SETS = "runs=1,2,3 or jobs=41,42 or application=NAME[,since=TIME][,until=TIME]"


class RunSet(click.ParamType):
    """Set of runs or jobs by number, or an application's newest runs."""

    name = "set"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        """Return the set in the API's format."""
        kind, equals, rest = str(value).partition("=")
        parts = [part.strip() for part in rest.split(",") if part.strip()]
        if not equals or not parts:
            self.fail(f"{value!r} is not a set; write {SETS}", param, ctx)
        if kind == "jobs":
            return {"jobs": parts}
        if kind == "runs":
            if not all(part.isascii() and part.isdigit() for part in parts):
                self.fail(f"{rest!r} are not numbers of runs", param, ctx)
            return {"runs": [int(part) for part in parts]}
        if kind != "application":
            self.fail(f"{kind!r} is not a kind of set; write {SETS}", param, ctx)
        run_set: dict[str, Any] = {"application": parts[0]}
        for part in parts[1:]:
            name, _, text = part.partition("=")
            if name not in ("since", "until"):
                self.fail(f"{part!r} is neither since=TIME nor until=TIME", param, ctx)
            run_set[name] = str(Moment().convert(text, param, ctx))
        return run_set


@click.command()
@click.option("--first", type=RunSet(), required=True, metavar="SET", help=f"{SETS}.")
@click.option("--second", type=RunSet(), required=True, metavar="SET", help="The second set, in the same form.")
@click.option(
    "--message-bytes",
    type=click.IntRange(1),
    default=65_536,
    help="Size of the message whose modelled time is compared.",
)
@api_options
@json_option
def noise(first: dict[str, Any], second: dict[str, Any], message_bytes: int, api: ApiOptions, as_json: bool) -> None:
    """Compare the network noise of two sets of runs from the counters of their network cards, following published guidelines.

    Without --url or a profile, the command asks the platform of this checkout.
    """
    with open_client(api.require()) as fw:
        question = {"first": first, "second": second, "message_bytes": message_bytes}
        comparison = fw.api.compare_network_noise(cast("models.NoiseQuestion", question))
    if as_json:
        print_result(comparison, True)
        return
    for line in format_comparison(comparison):
        click.echo(line)


def format_comparison(found: models.NoiseComparison) -> list[str]:
    texts = [f"{found['verdict']}{' (simulated)' if found['simulated'] else ''}: {found['why']}"]
    for item in found["figures"]:
        if item["ratio"] is not None:
            texts.append(
                f"{item['key']}: {item['first']:.4g} and {item['second']:.4g} {item['unit']}, {item['ratio']:.3g} times"
                f" ({item['low']:.3g} to {item['high']:.3g}): {item['verdict']}"
            )
    for rule in found["guidelines"]:
        state = {True: "holds", False: "does not hold", None: "not looked at"}[rule["holds"]]
        texts.append(f"guideline {rule['number']} {state}: {rule['text']}")
    for name, side in (("first", found["first"]), ("second", found["second"])):
        spread = side["dispersion"]
        if spread["network"] is not None:
            measured = "not timed" if spread["measured"] is None else f"{spread['measured']:.3g} measured"
            texts.append(f"{name} set: dispersion {measured}, {spread['network']:.3g} by the counters")
        texts += [f"{name} set without {item['number']}: {item['why']}" for item in side["left_out"]]
    return texts
