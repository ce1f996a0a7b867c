"""`flitwatch alerts`: firing alerts, and the alerts that a rule would have raised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from flitwatch.console import Database, Group, Moment, database_options, exit_with_error, json_option, print_result
from flitwatch.rest import ApiOptions, api_options, open_client

MOST_LISTED = 1000


@click.group(cls=Group)
def alerts() -> None:
    """List alerts and test rules."""


@alerts.command("list")
@api_options
@database_options
@json_option
def list_(api: ApiOptions, database: Database, as_json: bool) -> None:
    """List the alerts that are firing.

    With --url or a profile, the command asks the API. Otherwise it reads the database.
    """
    at_api = api.choose()
    rows: Sequence[Mapping[str, Any]]
    if at_api is not None:
        with open_client(at_api) as fw:
            rows = fw.api.alerts(phase="firing", limit=MOST_LISTED)["items"]
    else:
        from flitwatch_db.alerts.store import list_firing_alerts

        with database.connect(role="reader") as conn:
            rows = list_firing_alerts(conn)
    print_result(
        {
            "firing": [
                {key: row[key] for key in ("alert_id", "rule", "severity", "summary", "labels", "value")}
                for row in rows
            ]
        },
        as_json,
    )


@alerts.command("test", context_settings={"ignore_unknown_options": True})
@click.argument("rule")
@click.option("--from", "from_s", type=Moment(), default="-7d", help="Start of the period.")
@click.option("--to", "to_s", type=Moment(), default="now", help="End of the period.")
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="File that has the rule.")
@database_options
@json_option
def test(rule: str, from_s: float, to_s: float, config: Path | None, database: Database, as_json: bool) -> None:
    """Evaluate RULE (a name, or a YAML file with one rule) over history. No notification is sent."""
    from flitwatch_alerting.evaluate import dry_run
    from flitwatch_domain.alerts import LONGEST_S

    if not 0 < to_s - from_s <= LONGEST_S:
        exit_with_error("the period must end after its start and be at most 31 days long", code=2)
    with database.connect(role="reader") as conn:
        result = dry_run(conn, _find_rule(conn, rule, config), from_s, to_s)
    print_result(result, as_json)
    if not as_json:
        print(f"would have fired {result['fired']} times in {(to_s - from_s) / 86400:.1f} days")


def _find_rule(conn: Any, name: str, config: Path | None) -> Any:
    from flitwatch_alerting.config import read_config
    from flitwatch_db.alerts.store import load_rules
    from flitwatch_domain.alerts import read_rule
    from flitwatch_domain.importers.text import read_yaml

    if Path(name).suffix in (".yaml", ".yml"):
        return read_rule(read_yaml(name), name)
    rules_by_name = {rule.name: rule for rule in read_config(config).rules}
    if config is None:
        rules_by_name |= {rule.name: rule for rule, _ in load_rules(conn)}
    if name not in rules_by_name:
        exit_with_error(f"there is no rule {name!r}; rules: {', '.join(sorted(rules_by_name))}", code=2)
    return rules_by_name[name]
